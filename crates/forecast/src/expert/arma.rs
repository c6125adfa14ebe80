//! Autoregression and moving averages, fitted by the method of Hannan and Rissanen.

use serde::{Deserialize, Serialize};

use crate::linear::{MAX_COLUMNS, least_squares};

/// Minimum number of values to which a model is fitted.
pub const MIN_POINTS: usize = 40;

/// An ARMA model around the mean of its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmaModel {
    mean: f64,
    ar: Vec<f64>,
    ma: Vec<f64>,
}

/// The numbers of past values and past shocks in a model. Together at most 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmaOrder {
    /// Past values (p).
    pub ar: usize,
    /// Past shocks (q).
    pub ma: usize,
}

impl ArmaModel {
    /// Fits a model to `values` (Hannan & Rissanen 1982, without the third, bias-correcting step):
    /// a long autoregression by Yule-Walker gives the shocks, then values are regressed on past
    /// values and past shocks. The long order is floor(ln² n) (Gómez & Maravall 2001). None
    /// for fewer than [`MIN_POINTS`] values, or if they leave the regression singular.
    pub fn fit(values: &[f64], order: ArmaOrder) -> Option<Self> {
        let n = values.len();
        let columns = order.ar + order.ma;
        if n < MIN_POINTS || columns == 0 || columns > MAX_COLUMNS {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let (shocks, first) = if order.ma == 0 {
            (Vec::new(), order.ar)
        } else {
            let long = ((n as f64).ln().powi(2) as usize).min(n / 4);
            (long_shocks(&centred, long)?, long + order.ma)
        };
        let rows = (first..n).map(|t| {
            let mut row = [0.0; MAX_COLUMNS];
            for lag in 1..=order.ar {
                row[lag - 1] = centred[t - lag];
            }
            for lag in 1..=order.ma {
                row[order.ar + lag - 1] = shocks[t - lag];
            }
            (row, centred[t])
        });
        let coefficients = least_squares(rows, columns)?;
        let (ar, ma) = coefficients[..columns].split_at(order.ar);
        Some(Self {
            mean,
            ar: ar.to_vec(),
            ma: ma.to_vec(),
        })
    }

    /// Fits a model to the differences of `values`: an ARIMA model of orders p, 1, q (Box & Jenkins
    /// 1976). None where [`Self::fit`] gives none.
    pub fn fit_differences(values: &[f64], order: ArmaOrder) -> Option<Self> {
        Self::fit(&differences(values), order)
    }

    /// Returns the coefficients of past values, latest first.
    pub fn ar(&self) -> &[f64] {
        &self.ar
    }

    /// Returns the coefficients of past shocks, latest first.
    pub fn ma(&self) -> &[f64] {
        &self.ma
    }

    /// Forecasts one step ahead of `values`, with the shocks before the first p values taken as
    /// zero. None for fewer than p values, or if the shocks of a non-invertible model diverge.
    pub fn forecast(&self, values: &[f64]) -> Option<f64> {
        if values.len() < self.ar.len() {
            return None;
        }
        let recent = self.filter(values, |_| {});
        let ahead = self.forecast_next(values, &recent);
        ahead.is_finite().then_some(ahead)
    }

    /// Returns the one-step errors of the model on `values`, without the first p.
    pub(crate) fn shocks(&self, values: &[f64]) -> Vec<f64> {
        let mut shocks = Vec::with_capacity(values.len());
        self.filter(values, |shock| shocks.push(shock));
        shocks
    }

    /// Passes each shock to `each`, and returns the last ones, latest first.
    fn filter(&self, values: &[f64], mut each: impl FnMut(f64)) -> [f64; MAX_COLUMNS] {
        let mut shocks = [0.0; MAX_COLUMNS];
        for t in self.ar.len()..values.len() {
            let shock = values[t] - self.forecast_next(&values[..t], &shocks);
            shocks.rotate_right(1);
            shocks[0] = shock;
            each(shock);
        }
        shocks
    }

    /// Forecasts one step ahead of `values` with a model of their differences; None where
    /// [`Self::forecast`] gives None.
    pub fn forecast_integrated(&self, values: &[f64]) -> Option<f64> {
        Some(values.last()? + self.forecast(&differences(values))?)
    }

    /// Forecasts one step ahead, with the latest of `shocks` first.
    fn forecast_next(&self, values: &[f64], shocks: &[f64; MAX_COLUMNS]) -> f64 {
        let past = values.iter().rev().map(|value| value - self.mean);
        let regression: f64 = self.ar().iter().zip(past).map(|(c, x)| c * x).sum();
        let average: f64 = self.ma().iter().zip(shocks).map(|(c, e)| c * e).sum();
        self.mean + regression + average
    }
}

fn differences(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the shocks of an autoregression of `order` by Yule-Walker; zero for the first `order`.
fn long_shocks(centred: &[f64], order: usize) -> Option<Vec<f64>> {
    let coefficients = yule_walker(centred, order)?;
    let mut shocks = vec![0.0; centred.len()];
    for t in order..centred.len() {
        let past = centred[t - order..t].iter().rev();
        let expected: f64 = coefficients.iter().zip(past).map(|(c, x)| c * x).sum();
        shocks[t] = centred[t] - expected;
    }
    Some(shocks)
}

/// Computes autoregressive coefficients by the Levinson-Durbin recursion. None for a constant
/// series.
fn yule_walker(centred: &[f64], order: usize) -> Option<Vec<f64>> {
    let n = centred.len();
    let covariance: Vec<f64> = (0..=order)
        .map(|lag| {
            let pairs = centred[lag..].iter().zip(centred);
            pairs.map(|(a, b)| a * b).sum::<f64>() / n as f64
        })
        .collect();
    let mut error = covariance[0];
    let mut coefficients = Vec::with_capacity(order);
    for k in 0..order {
        if error <= covariance[0] * f64::EPSILON {
            return None;
        }
        let explained: f64 = (0..k).map(|j| coefficients[j] * covariance[k - j]).sum();
        let reflection = (covariance[k + 1] - explained) / error;
        let mirrored: Vec<f64> = coefficients.iter().rev().copied().collect();
        for (coefficient, mirror) in coefficients.iter_mut().zip(mirrored) {
            *coefficient -= reflection * mirror;
        }
        coefficients.push(reflection);
        error *= 1.0 - reflection * reflection;
    }
    Some(coefficients)
}
