//! An ARIMA model whose orders are chosen from the series.

use tollgate_forecast::expert::{ArmaModel, ArmaOrder, MIN_POINTS};

use crate::kpss::kpss;

/// Maximum number of past values, and of past shocks, in a model.
const MAX_ORDER: usize = 2;
/// A series with a statistic above this is differenced (5 %; Kwiatkowski et al. 1992, table 1).
const KPSS_CRITICAL_VALUE: f64 = 0.463;

/// An automatic ARIMA model after Hyndman & Khandakar (2008): differenced once if a KPSS test
/// rejects stationarity, then with the orders p, q <= 2 of the least AICc. Unlike in the paper all
/// nine pairs are tried, and fitted by [`ArmaModel::fit`] instead of maximum likelihood, which is
/// too slow for every job of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoArima {
    differenced: bool,
    mean: f64,
    /// None for orders 0 and 0.
    model: Option<ArmaModel>,
}

impl AutoArima {
    /// Chooses a model for `values`; None for fewer than [`MIN_POINTS`] + 1.
    pub fn choose(values: &[f64]) -> Option<Self> {
        if values.len() <= MIN_POINTS {
            return None;
        }
        let differenced = kpss(values) > KPSS_CRITICAL_VALUE;
        let series = if differenced {
            differences(values)
        } else {
            values.to_vec()
        };
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let flat = (criterion(series.iter().map(|value| value - mean), 0), None);
        let n_differences =
            (0..=MAX_ORDER).flat_map(|ar| (0..=MAX_ORDER).map(move |ma| ArmaOrder { ar, ma }));
        let fitted = n_differences.filter_map(|order| {
            let model = ArmaModel::fit(&series, order)?;
            let shocks = model.shocks(&series);
            Some((
                criterion(shocks.into_iter(), order.ar + order.ma),
                Some(model),
            ))
        });
        let best = fitted.fold(flat, |best, next| if next.0 < best.0 { next } else { best });
        Some(Self {
            differenced,
            mean,
            model: best.1,
        })
    }

    /// Forecasts one step ahead of `values`; None for too few values.
    pub fn forecast(&self, values: &[f64]) -> Option<f64> {
        match (&self.model, self.differenced) {
            (None, false) => Some(self.mean),
            (None, true) => Some(values.last()? + self.mean),
            (Some(model), false) => model.forecast(values),
            (Some(model), true) => model.forecast_integrated(values),
        }
    }
}

/// Returns Akaike's criterion, corrected for small samples (Hurvich & Tsai 1989), of a model with a
/// mean, a variance and `n_coefficients` that leaves these shocks.
fn criterion(shocks: impl Iterator<Item = f64>, n_coefficients: usize) -> f64 {
    let (n, squares) = shocks.fold((0.0, 0.0), |(n, sum), shock| (n + 1.0, sum + shock * shock));
    corrected_aic(n, squares, n_coefficients + 2)
}

/// Returns the AICc of a Gaussian model with `n_parameters` that leaves this sum of squares over
/// `n` values.
pub(crate) fn corrected_aic(n: f64, squares: f64, n_parameters: usize) -> f64 {
    let k = n_parameters as f64;
    if n <= k + 1.0 || !squares.is_finite() {
        return f64::INFINITY;
    }
    // No model is better than one that explains the series completely.
    let variance = (squares / n).max(f64::MIN_POSITIVE);
    n * ((2.0 * std::f64::consts::PI * variance).ln() + 1.0) + 2.0 * k * n / (n - k - 1.0)
}

fn differences(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
