//! The experts: simple methods, each of which forecasts the run time of the next job.
//!
//! All experts work on logarithms of seconds: run times span six orders of magnitude, and the
//! claims of Lazarevic et al. (2005) for ARMA models hold only there.

mod arma;
mod holt;
mod location;
mod one_pass;
mod smoothing;
mod trend;
mod yule_walker;

pub(crate) use arma::CentredSeries;
pub use arma::{ArmaModel, ArmaOrder, MIN_POINTS};
pub use holt::holt;
pub(crate) use location::median;
pub use location::{mean_of_last, median_of_last};
use one_pass::OnePassForecasts;
use serde::{Deserialize, Serialize};
pub use smoothing::simple_smoothing;
pub use trend::{TREND_POINTS, trends};

use crate::history::{ClassHistory, JobFeatures};

/// Number of experts.
pub const N_EXPERTS: usize = 20;

/// A method that forecasts the next job of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Expert {
    /// The last run time.
    Last,
    /// The mean of the last two run times (Tsafrir et al. 2007).
    MeanOfTwo,
    /// The mean of the last ten run times: a trend of order 0.
    Mean,
    /// A straight line through the last ten run times.
    Line,
    /// A parabola through the last ten run times.
    Parabola,
    /// A cubic through the last ten run times.
    Cubic,
    /// Simple exponential smoothing, alpha 0.3.
    Smoothing,
    /// Holt's method, alpha 0.3 and beta 0.1.
    Holt,
    /// The median of the last five run times.
    ShortMedian,
    /// The median of the last twenty run times.
    Median,
    /// The median of the last hundred run times.
    LongMedian,
    /// An autoregression of order 4.
    Autoregression,
    /// A moving average of order 2.
    MovingAverage,
    /// An ARMA model of orders 1 and 1.
    Arma,
    /// The last job with the same processors and request.
    LastAlike,
    /// The median of the last five jobs with the same processors and request.
    MedianAlike,
    /// The last job with the same executable.
    LastExecutable,
    /// The median of the last five jobs with the same executable.
    MedianExecutable,
    /// The request times the median of recent run time / request.
    RequestRatio,
    /// An ARIMA model of orders 1, 1 and 1.
    Arima,
}

impl Expert {
    /// Every expert, in the order in which outputs list them.
    pub const ALL: [Self; N_EXPERTS] = [
        Self::Last,
        Self::MeanOfTwo,
        Self::Mean,
        Self::Line,
        Self::Parabola,
        Self::Cubic,
        Self::Smoothing,
        Self::Holt,
        Self::ShortMedian,
        Self::Median,
        Self::LongMedian,
        Self::Autoregression,
        Self::MovingAverage,
        Self::Arma,
        Self::LastAlike,
        Self::MedianAlike,
        Self::LastExecutable,
        Self::MedianExecutable,
        Self::RequestRatio,
        Self::Arima,
    ];

    /// Returns the key of the expert in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::MeanOfTwo => "mean_of_two",
            Self::Mean => "mean",
            Self::Line => "line",
            Self::Parabola => "parabola",
            Self::Cubic => "cubic",
            Self::Smoothing => "smoothing",
            Self::Holt => "holt",
            Self::ShortMedian => "median_5",
            Self::Median => "median_20",
            Self::LongMedian => "median_100",
            Self::Autoregression => "ar",
            Self::MovingAverage => "ma",
            Self::Arma => "arma",
            Self::LastAlike => "last_alike",
            Self::MedianAlike => "median_alike",
            Self::LastExecutable => "last_executable",
            Self::MedianExecutable => "median_executable",
            Self::RequestRatio => "request_ratio",
            Self::Arima => "arima",
        }
    }

    /// Returns each expert's forecast of a job with `features`, as a logarithm of seconds;
    /// None if the class has too little history for the expert. A forecast is at least a second,
    /// and at most [`OVERSHOOT`] above the longest remembered run time. `by_runs` is
    /// [`RunForecasts::of`] this history.
    pub(crate) fn forecast_all(
        history: &ClassHistory,
        by_runs: &RunForecasts,
        features: JobFeatures,
    ) -> [Option<f64>; N_EXPERTS] {
        let Some(longest) = history.runs().max() else {
            return [None; N_EXPERTS];
        };
        let alike = history.similar_jobs(features).into_iter();
        let alike = LastJobs::of(alike.flat_map(|alike| alike.arrived().iter().rev().copied()));
        let same_executable = LastJobs::of(history.same_executable(features));
        let mut forecasts = by_runs.0;
        for (expert, ahead) in [
            (Self::LastAlike, alike.last()),
            (Self::MedianAlike, alike.median()),
            (Self::LastExecutable, same_executable.last()),
            (Self::MedianExecutable, same_executable.median()),
            (Self::RequestRatio, request_ratio(history, features)),
        ] {
            forecasts[expert as usize] = ahead.map(|ahead| within(ahead, longest));
        }
        forecasts
    }

    /// Returns the forecast from the run times of a class alone; None for the experts that look at the
    /// request of a job.
    fn forecast_from_runs(
        self,
        history: &ClassHistory,
        fits: &FittedModels,
        (trends, one_pass): (&[f64; 4], &OnePassForecasts),
    ) -> Option<f64> {
        let runs = history.runs().arrived();
        match self {
            Self::Last => runs.last().copied(),
            Self::MeanOfTwo => mean_of_last(runs, 2),
            Self::Mean => Some(trends[0]),
            Self::Line => Some(trends[1]),
            Self::Parabola => Some(trends[2]),
            Self::Cubic => Some(trends[3]),
            Self::Smoothing => one_pass.smoothing,
            Self::Holt => one_pass.holt,
            Self::ShortMedian => history.last_five().quantile(0.5),
            Self::Median => history.last_twenty().quantile(0.5),
            Self::LongMedian => history.runs().quantile(0.5),
            Self::Autoregression => fits.autoregression.as_ref()?.forecast(runs),
            Self::MovingAverage => one_pass.moving_average,
            Self::Arma => one_pass.arma,
            Self::Arima => one_pass.arima,
            Self::LastAlike
            | Self::MedianAlike
            | Self::LastExecutable
            | Self::MedianExecutable
            | Self::RequestRatio => None,
        }
    }
}

fn request_ratio(history: &ClassHistory, features: JobFeatures) -> Option<f64> {
    Some(features.ln_request? + history.ratios().quantile(0.5)?)
}

/// Returns a forecast within the limits of [`Expert::forecast_all`].
fn within(ahead: f64, longest: f64) -> f64 {
    ahead.clamp(0.0, longest + OVERSHOOT)
}

/// The forecasts of the experts that look at the run times of a class alone: they are the same for all
/// jobs that are submitted before the next one ends.
#[derive(Clone, Debug)]
pub(crate) struct RunForecasts([Option<f64>; N_EXPERTS]);

impl RunForecasts {
    /// Makes the forecasts, with the models in `fits`.
    pub(crate) fn of(history: &ClassHistory, fits: &FittedModels) -> Self {
        let runs = history.runs().arrived();
        let Some((longest, trends)) = history.runs().max().zip(trends(runs)) else {
            return Self([None; N_EXPERTS]);
        };
        let one_pass = OnePassForecasts::of(runs, fits);
        Self(Expert::ALL.map(|expert| {
            let ahead = expert.forecast_from_runs(history, fits, (&trends, &one_pass));
            Some(within(ahead?, longest))
        }))
    }
}

/// The run times of the last five jobs of a kind, latest first.
struct LastJobs {
    runs: [f64; 5],
    count: usize,
}

impl LastJobs {
    fn of(latest_first: impl Iterator<Item = f64>) -> Self {
        let mut runs = [0.0; 5];
        let mut count = 0;
        for (slot, run) in runs.iter_mut().zip(latest_first) {
            *slot = run;
            count += 1;
        }
        Self { runs, count }
    }

    fn last(&self) -> Option<f64> {
        self.runs[..self.count].first().copied()
    }

    fn median(&self) -> Option<f64> {
        let mut runs = self.runs;
        median(&mut runs[..self.count])
    }
}

/// Maximum excess of a forecast over the remembered values, as a logarithm: a factor of e.
pub(crate) const OVERSHOOT: f64 = 1.0;

/// Weight of a new value for the level (the field's usual value; also that of the paper's tests).
const ALPHA: f64 = 0.3;
/// Weight of a new step for the trend.
const BETA: f64 = 0.1;

/// Number of jobs after which models are refitted: fitting costs more than everything else
/// together, and a tenth of the window changes little.
const REFIT_EVERY: usize = 10;

/// The fitted models of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FittedModels {
    autoregression: Option<ArmaModel>,
    moving_average: Option<ArmaModel>,
    arma: Option<ArmaModel>,
    /// Model of the differences.
    arima: Option<ArmaModel>,
    /// Jobs since the last fit.
    age: usize,
}

impl FittedModels {
    /// Refits the models if due; to be called once per job.
    pub(crate) fn refresh(&mut self, history: &ClassHistory) {
        self.age += 1;
        let runs = history.runs().arrived();
        if runs.len() < MIN_POINTS || self.age < REFIT_EVERY {
            return;
        }
        let series = CentredSeries::new(runs);
        let fit = |ar, ma| series.as_ref()?.fit(ArmaOrder { ar, ma });
        *self = Self {
            autoregression: fit(4, 0),
            moving_average: fit(0, 2),
            arma: fit(1, 1),
            arima: ArmaModel::fit_differences(runs, ArmaOrder { ar: 1, ma: 1 }),
            age: 0,
        };
    }
}

/// A sample series for tests of the experts' exact forms.
#[cfg(test)]
pub(crate) const SAMPLE: [f64; 12] = [
    120.0, 130.0, 118.0, 125.0, 140.0, 133.0, 129.0, 600.0, 610.0, 590.0, 605.0, 598.0,
];
