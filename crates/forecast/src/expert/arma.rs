//! Autoregression and moving averages, fitted by the method of Hannan and Rissanen.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use super::yule_walker::long_shocks;
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

/// A series with the parts of a fit that models of every order share.
#[derive(Debug)]
pub(crate) struct CentredSeries {
    mean: f64,
    centred: Vec<f64>,
    /// The long order, and the shocks of the long autoregression; None for a constant series.
    long: OnceCell<Option<(usize, Vec<f64>)>>,
}

impl CentredSeries {
    /// Prepares `values`; None for fewer than [`MIN_POINTS`].
    pub(crate) fn new(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n < MIN_POINTS {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        Some(Self {
            mean,
            centred: values.iter().map(|value| value - mean).collect(),
            long: OnceCell::new(),
        })
    }

    /// Prepares the differences of `values`; None if there are fewer than [`MIN_POINTS`].
    pub(crate) fn of_differences(values: &[f64]) -> Option<Self> {
        Self::new(&differences(values))
    }

    /// Fits a model as [`ArmaModel::fit`] does.
    pub(crate) fn fit<'a>(&'a self, order: ArmaOrder) -> Option<ArmaModel> {
        let columns = order.ar + order.ma;
        if columns == 0 || columns > MAX_COLUMNS {
            return None;
        }
        let (shocks, first): (&'a [f64], usize) = if order.ma == 0 {
            (&[], order.ar)
        } else {
            let (long, shocks) = self.long.get_or_init(|| self.long_shocks()).as_ref()?;
            (shocks, long + order.ma)
        };
        let lagged = |(series, lag): (&'a [f64], usize)| &series[first - lag..series.len() - lag];
        let past = (1..=order.ar).map(|lag| (self.centred.as_slice(), lag));
        let regressors = past
            .chain((1..=order.ma).map(|lag| (shocks, lag)))
            .map(lagged);
        let mut lags: [&[f64]; MAX_COLUMNS] = [&[]; MAX_COLUMNS];
        for (column, regressor) in lags.iter_mut().zip(regressors) {
            *column = regressor;
        }
        let coefficients = least_squares(&lags[..columns], &self.centred[first..])?;
        let (ar, ma) = coefficients[..columns].split_at(order.ar);
        Some(ArmaModel {
            mean: self.mean,
            ar: ar.to_vec(),
            ma: ma.to_vec(),
        })
    }

    fn long_shocks(&self) -> Option<(usize, Vec<f64>)> {
        let n = self.centred.len();
        let long = ((n as f64).ln().powi(2) as usize).min(n / 4);
        Some((long, long_shocks(&self.centred, long)?))
    }
}

impl ArmaModel {
    /// Fits a model to `values` (Hannan & Rissanen 1982, without the third, bias-correcting step). A long
    /// autoregression by Yule-Walker gives the shocks, then values are regressed on past values and past
    /// shocks. The long order is floor(ln² n) (Gómez & Maravall 2001). None for fewer than [`MIN_POINTS`]
    /// values, or if they leave the regression singular.
    pub fn fit(values: &[f64], order: ArmaOrder) -> Option<Self> {
        CentredSeries::new(values)?.fit(order)
    }

    /// Fits a model to the differences of `values`: an ARIMA model of orders p, 1, q (Box & Jenkins
    /// 1976). None where [`Self::fit`] gives none.
    pub fn fit_differences(values: &[f64], order: ArmaOrder) -> Option<Self> {
        CentredSeries::of_differences(values)?.fit(order)
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
        // Without a moving average no forecast needs the shocks.
        let recent = if self.ma.is_empty() {
            [0.0; MAX_COLUMNS]
        } else {
            self.filter(values, |_| {})
        };
        let ahead = self.forecast_next(values, &recent);
        ahead.is_finite().then_some(ahead)
    }

    /// Returns the errors of [`Self::forecast`] one step ahead, of all `values` but the first p. They are not
    /// finite from the first value on that has no forecast.
    pub fn shocks(&self, values: &[f64]) -> Vec<f64> {
        let mut shocks = Vec::with_capacity(values.len());
        self.filter(values, |shock| shocks.push(shock));
        shocks
    }

    /// Passes each shock to `each`, and returns the last q, latest first.
    fn filter(&self, values: &[f64], each: impl FnMut(f64)) -> [f64; MAX_COLUMNS] {
        // The loops over the coefficients of common models are unrolled.
        match (self.ar.as_slice(), self.ma.as_slice()) {
            (&[], &[a, b]) => filter(self.mean, &[], &[a, b], values, each),
            (&[a], &[b]) => filter(self.mean, &[a], &[b], values, each),
            (ar, ma) => filter(self.mean, ar, ma, values, each),
        }
    }

    /// Forecasts one step ahead of `values` with a model of their differences; None where
    /// [`Self::forecast`] gives None.
    pub fn forecast_integrated(&self, values: &[f64]) -> Option<f64> {
        Some(values.last()? + self.forecast(&differences(values))?)
    }

    fn forecast_next(&self, values: &[f64], shocks: &[f64; MAX_COLUMNS]) -> f64 {
        forecast_next(self.mean, &self.ar, &self.ma, values, shocks)
    }
}

/// Passes each shock of a model to `each`, and returns the last q, latest first.
#[inline(always)]
fn filter(
    mean: f64,
    ar: &[f64],
    ma: &[f64],
    values: &[f64],
    mut each: impl FnMut(f64),
) -> [f64; MAX_COLUMNS] {
    let mut shocks = [0.0; MAX_COLUMNS];
    for t in ar.len()..values.len() {
        each(follow(mean, ar, ma, &values[..=t], &mut shocks[..ma.len()]));
    }
    shocks
}

/// Returns the shock of the last value, and puts it before the earlier `shocks`, latest first.
#[inline(always)]
fn follow(mean: f64, ar: &[f64], ma: &[f64], values: &[f64], shocks: &mut [f64]) -> f64 {
    let (value, past) = (values[values.len() - 1], &values[..values.len() - 1]);
    let shock = value - forecast_next(mean, ar, ma, past, shocks);
    for lag in (1..shocks.len()).rev() {
        shocks[lag] = shocks[lag - 1];
    }
    if let Some(latest) = shocks.first_mut() {
        *latest = shock;
    }
    shock
}

/// A model of fixed orders that goes through a series value by value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmaFollower<const P: usize, const Q: usize> {
    /// Whether there is a model: without one nothing is forecast.
    is_fitted: bool,
    mean: f64,
    ar: [f64; P],
    ma: [f64; Q],
    /// The last shocks, latest first.
    shocks: [f64; Q],
}

impl<const P: usize, const Q: usize> ArmaFollower<P, Q> {
    /// Creates a follower before any shock. A model of other orders counts as none.
    pub(super) fn new(model: &Option<ArmaModel>) -> Self {
        let fitted = model.as_ref().and_then(|model| {
            let ar = model.ar.as_slice().try_into().ok()?;
            Some((model.mean, ar, model.ma.as_slice().try_into().ok()?))
        });
        let (mean, ar, ma) = fitted.unwrap_or((0.0, [0.0; P], [0.0; Q]));
        Self {
            is_fitted: fitted.is_some(),
            mean,
            ar,
            ma,
            shocks: [0.0; Q],
        }
    }

    /// Goes on to the last of `values`, which follows the one before. The first P values have no shock.
    #[inline(always)]
    pub(super) fn follow(&mut self, values: &[f64]) {
        if values.len() > P {
            follow(self.mean, &self.ar, &self.ma, values, &mut self.shocks);
        }
    }

    /// Forecasts one step ahead of the values that it has gone through, as [`ArmaModel::forecast`].
    pub(super) fn forecast(&self, values: &[f64]) -> Option<f64> {
        let ahead = forecast_next(self.mean, &self.ar, &self.ma, values, &self.shocks);
        (self.is_fitted && values.len() >= P && ahead.is_finite()).then_some(ahead)
    }
}

/// Forecasts one step ahead, with the latest of `shocks` first.
#[inline(always)]
fn forecast_next(mean: f64, ar: &[f64], ma: &[f64], values: &[f64], shocks: &[f64]) -> f64 {
    let past = values.iter().rev().map(|value| value - mean);
    let regression: f64 = ar.iter().zip(past).map(|(c, x)| c * x).sum();
    let average: f64 = ma.iter().zip(shocks).map(|(c, e)| c * e).sum();
    mean + regression + average
}

/// Returns the change to each value but the first.
fn differences(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
