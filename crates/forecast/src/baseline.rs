//! The baselines: established methods that the experts are measured against. No baseline is an expert.

use std::collections::BTreeMap;

use tollgate_model::Span;

use crate::record::{ClassId, ForecastJob, ln_secs, span_of};

/// Number of baselines.
pub const N_BASELINES: usize = 2;

/// An established forecasting method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BaselineMethod {
    /// The mean of the last two run times, in seconds (Tsafrir et al. 2007).
    Tsafrir,
    /// The user's estimate; without one, the last run time.
    Estimate,
}

impl BaselineMethod {
    /// Every baseline, in the order in which outputs list them.
    pub const ALL: [Self; N_BASELINES] = [Self::Tsafrir, Self::Estimate];

    /// Returns the key of the baseline in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tsafrir => "tsafrir",
            Self::Estimate => "user_estimate",
        }
    }
}

/// The state of the baselines for each class of a site.
#[derive(Clone, Debug, Default)]
pub struct BaselineForecasters {
    classes: BTreeMap<ClassId, LastRuns>,
}

/// The logarithms of the last two run times of a class.
#[derive(Clone, Copy, Debug)]
struct LastRuns {
    last: f64,
    before: Option<f64>,
}

impl BaselineForecasters {
    /// Returns each baseline's forecast of `job`, in the order of [`BaselineMethod::ALL`]; None for
    /// a baseline without enough history.
    pub fn forecast(&self, job: &ForecastJob) -> [Option<Span>; N_BASELINES] {
        let known = self.classes.get(&job.class);
        let estimate = job.request.filter(|request| *request > Span::ZERO);
        BaselineMethod::ALL.map(|baseline| match baseline {
            BaselineMethod::Estimate => estimate.or_else(|| Some(span_of(known?.last))),
            BaselineMethod::Tsafrir => Some(known?.mean()),
        })
    }

    /// Learns the run time of a job; a job that never ran changes nothing.
    pub fn learn(&mut self, job: &ForecastJob, runtime: Span) {
        if let Some(last) = ln_secs(runtime) {
            let before = self.classes.get(&job.class).map(|known| known.last);
            self.classes.insert(job.class, LastRuns { last, before });
        }
    }
}

impl LastRuns {
    fn mean(self) -> Span {
        let before = self.before.unwrap_or(self.last);
        Span::from_secs_f64((before.exp() + self.last.exp()) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::JobAttributes;

    fn job(request: Option<Span>) -> ForecastJob {
        ForecastJob {
            class: ClassId(1),
            procs: 1,
            request,
            context: JobAttributes::default(),
        }
    }

    #[test]
    fn baselines_give_hand_computed_forecasts() {
        let mut baselines = BaselineForecasters::default();
        assert_eq!(baselines.forecast(&job(None)), [None; N_BASELINES]);
        for secs in [100, 300, 200] {
            baselines.learn(&job(None), Span::from_secs(secs));
        }
        let forecast = baselines.forecast(&job(Some(Span::from_secs(900))));
        let secs = forecast.map(|span| span.unwrap().as_secs_f64().round());
        assert_eq!(secs, [250.0, 900.0]);
    }

    #[test]
    fn constant_class_is_forecast_exactly() {
        let mut baselines = BaselineForecasters::default();
        for _ in 0..100 {
            baselines.learn(&job(None), Span::from_secs(500));
        }
        for span in baselines.forecast(&job(None)) {
            assert!((span.unwrap().as_secs_f64() - 500.0).abs() < 0.1);
        }
    }
}
