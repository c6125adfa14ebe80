//! The two methods of the paper's figures, on the plain series of a class.

use tollgate_forecast::expert::{ArmaModel, ArmaOrder, trends};

/// Number of past values to which an ARMA model is fitted.
const MAX_HISTORY: usize = 100;
/// Number of jobs after which it is fitted again.
const REFIT_EVERY: usize = 10;
/// The orders of Figure 6, and those without shocks for series to which these do not fit.
const ORDERS: [ArmaOrder; 2] = [ArmaOrder { ar: 4, ma: 4 }, ArmaOrder { ar: 4, ma: 0 }];
/// Number of latest values on which a fitted model must be better than the mean of the series.
const CHECKED: usize = 30;
/// The longest forecast in seconds: a hundred years.
const MAX_SECS: f64 = 3.2e9;

/// The latest run times of a class, with the models fitted to them. Unlike the forecaster, it knows
/// neither modes nor anomalies.
#[derive(Clone, Debug, Default)]
pub struct UnivariateSeries {
    /// In seconds.
    secs: Vec<f64>,
    /// As logarithms.
    lns: Vec<f64>,
    of_lns: Option<ArmaModel>,
    of_secs: Option<ArmaModel>,
    age: usize,
}

impl UnivariateSeries {
    /// Learns the run time of the next job that ended.
    pub fn learn(&mut self, ln_run: f64) {
        if self.lns.len() == MAX_HISTORY {
            self.lns.remove(0);
            self.secs.remove(0);
        }
        self.lns.push(ln_run);
        self.secs.push(ln_run.exp());
        self.age += 1;
        if self.age >= REFIT_EVERY || self.of_lns.is_none() {
            self.of_lns = fit(&self.lns);
            self.of_secs = fit(&self.secs);
            self.age = 0;
        }
    }

    /// Returns ln of the cubic trend of the last ten run times.
    pub fn cubic(&self) -> Option<f64> {
        trends(&self.secs).map(|trend| ln_of(trend[3]))
    }

    /// Returns the forecast of the ARMA model of logarithms, at most as far beyond the latest values
    /// as a factor of e; the last value if no model fits.
    pub fn arma(&self) -> Option<f64> {
        let last = self.lns.last().copied()?;
        let longest = self.lns.iter().copied().fold(last, f64::max);
        let ahead = self
            .of_lns
            .as_ref()
            .and_then(|model| model.forecast(&self.lns));
        Some(ahead.map_or(last, |ahead| ahead.clamp(0.0, longest + 1.0)))
    }

    /// Returns ln of the forecast of the ARMA model of seconds, with the same limits.
    pub fn arma_seconds(&self) -> Option<f64> {
        let last = self.lns.last().copied()?;
        let longest = self.lns.iter().copied().fold(last, f64::max);
        let ahead = self
            .of_secs
            .as_ref()
            .and_then(|model| model.forecast(&self.secs));
        Some(ahead.map_or(last, |ahead| ln_of(ahead).min(longest + 1.0)))
    }
}

/// Returns the first model that forecasts the latest values, to which it was fitted, better than their
/// mean. The paper selected the order by hand; a model whose shocks grow without limit fits nothing.
fn fit(values: &[f64]) -> Option<ArmaModel> {
    let first = values.len().saturating_sub(CHECKED);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let usual: f64 = values[first..]
        .iter()
        .map(|value| (value - mean).abs())
        .sum();
    let is_better = |model: &ArmaModel| {
        let shocks = model.shocks(values);
        let unforecast = values.len() - shocks.len();
        let errors = (first..values.len()).map(|at| {
            let shock = at.checked_sub(unforecast).map(|at| shocks[at]);
            let shock = shock.filter(|shock| shock.is_finite());
            shock.unwrap_or(values[at] - mean).abs()
        });
        errors.sum::<f64>() < usual
    };
    let mut models = ORDERS
        .iter()
        .filter_map(|order| ArmaModel::fit(values, *order));
    models.find(is_better)
}

/// Returns the logarithm of seconds; a forecast is at least one second.
fn ln_of(secs: f64) -> f64 {
    secs.clamp(1.0, MAX_SECS).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_series_is_forecast_exactly() {
        let mut series = UnivariateSeries::default();
        assert_eq!(series.arma(), None);
        for _ in 0..50 {
            series.learn(5.0);
        }
        for forecast in [series.cubic(), series.arma(), series.arma_seconds()] {
            assert!((forecast.unwrap() - 5.0).abs() < 1e-6);
        }
    }
}
