//! The baselines: established methods that the experts are measured against.
//!
//! No baseline is an expert: the two that search for a model cost a hundred times as much as all
//! experts together (Lazarevic et al. 2005 want speed before spot accuracy).

mod auto_arima;
mod auto_ets;
mod ets_loss;
mod kpss;
mod simplex;

use std::collections::BTreeMap;

pub use auto_arima::AutoArima;
pub use auto_ets::{AutoEts, EtsForm, EtsModel, EtsState};
pub use kpss::kpss;
use tollgate_model::Span;

use crate::record::{ClassId, ForecastJob, ln_secs, span_of};

/// Number of baselines.
pub const N_BASELINES: usize = 4;

/// An established forecasting method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BaselineMethod {
    /// The mean of the last two run times, in seconds (Tsafrir et al. 2007).
    Tsafrir,
    /// The user's estimate; without one, the last run time.
    Estimate,
    /// Exponential smoothing of ln run time, with the model chosen by AICc.
    AutoEts,
    /// ARIMA of ln run time, with the model chosen by a unit root test and AICc.
    AutoArima,
}

impl BaselineMethod {
    /// Every baseline, in the order in which outputs list them.
    pub const ALL: [Self; N_BASELINES] = [
        Self::Tsafrir,
        Self::Estimate,
        Self::AutoEts,
        Self::AutoArima,
    ];

    /// Returns the key of the baseline in CSV and JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tsafrir => "tsafrir",
            Self::Estimate => "user_estimate",
            Self::AutoEts => "auto_ets",
            Self::AutoArima => "auto_arima",
        }
    }
}

/// Maximum number of past jobs on which a model is chosen.
const MAX_HISTORY: usize = 100;
/// Number of jobs after which a model is chosen again. In between the model is only updated.
const CHOOSE_EVERY: usize = 20;

/// The state of the baselines for each class of a site.
#[derive(Clone, Debug, Default)]
pub struct BaselineForecasters {
    models: bool,
    classes: BTreeMap<ClassId, BaselineHistory>,
}

/// The logarithms of the last run times of a class, and the models chosen on them.
#[derive(Clone, Debug, Default)]
struct BaselineHistory {
    runs: Vec<f64>,
    ets: Option<AutoEts>,
    arima: Option<AutoArima>,
    age: usize,
}

impl BaselineForecasters {
    /// Creates baselines without history; without `models`, those that search for a model make no
    /// forecast.
    pub fn new(models: bool) -> Self {
        Self {
            models,
            ..Self::default()
        }
    }

    /// Returns each baseline's forecast of `job`, in the order of [`BaselineMethod::ALL`]; None for
    /// a baseline without enough history.
    pub fn forecast(&self, job: &ForecastJob) -> [Option<Span>; N_BASELINES] {
        let known = self.classes.get(&job.class);
        let estimate = job.request.filter(|request| *request > Span::ZERO);
        BaselineMethod::ALL.map(|baseline| match baseline {
            BaselineMethod::Estimate => estimate.or_else(|| known?.last().map(span_of)),
            BaselineMethod::Tsafrir => known?.mean_of_two(),
            BaselineMethod::AutoEts if self.models => known?.ets_forecast().map(span_of),
            BaselineMethod::AutoArima if self.models => known?.arima_forecast().map(span_of),
            BaselineMethod::AutoEts | BaselineMethod::AutoArima => None,
        })
    }

    /// Learns the run time of a job; a job that never ran changes nothing.
    pub fn learn(&mut self, job: &ForecastJob, runtime: Span) {
        if let Some(ln_run) = ln_secs(runtime) {
            let past = self.classes.entry(job.class).or_default();
            past.learn(ln_run, self.models);
        }
    }
}

impl BaselineHistory {
    fn learn(&mut self, ln_run: f64, models: bool) {
        if self.runs.len() == MAX_HISTORY {
            self.runs.remove(0);
        }
        self.runs.push(ln_run);
        if let Some(ets) = &mut self.ets {
            ets.learn(ln_run);
        }
        if !models {
            return;
        }
        self.age += 1;
        let first = self.ets.is_none() || self.arima.is_none();
        if self.age >= CHOOSE_EVERY || (first && self.age >= CHOOSE_EVERY / 2) {
            self.ets = AutoEts::choose(&self.runs);
            self.arima = AutoArima::choose(&self.runs);
            self.age = 0;
        }
    }

    fn last(&self) -> Option<f64> {
        self.runs.last().copied()
    }

    fn mean_of_two(&self) -> Option<Span> {
        let recent = &self.runs[self.runs.len().saturating_sub(2)..];
        let secs: f64 = recent.iter().map(|ln| ln.exp()).sum();
        (!recent.is_empty()).then(|| Span::from_secs_f64(secs / recent.len() as f64))
    }

    fn ets_forecast(&self) -> Option<f64> {
        let model = self.ets.as_ref();
        model.map_or_else(|| self.last(), |model| Some(model.forecast()))
    }

    fn arima_forecast(&self) -> Option<f64> {
        let ahead = self
            .arima
            .as_ref()
            .and_then(|model| model.forecast(&self.runs));
        ahead.or_else(|| self.last())
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
        let mut baselines = BaselineForecasters::new(true);
        assert_eq!(baselines.forecast(&job(None)), [None; N_BASELINES]);
        for secs in [100, 300, 200] {
            baselines.learn(&job(None), Span::from_secs(secs));
        }
        let forecast = baselines.forecast(&job(Some(Span::from_secs(900))));
        let secs = forecast.map(|span| span.unwrap().as_secs_f64().round());
        assert_eq!(secs, [250.0, 900.0, 200.0, 200.0]);
    }

    #[test]
    fn constant_class_is_forecast_exactly() {
        let mut baselines = BaselineForecasters::new(true);
        for _ in 0..100 {
            baselines.learn(&job(None), Span::from_secs(500));
        }
        for span in baselines.forecast(&job(None)) {
            assert!((span.unwrap().as_secs_f64() - 500.0).abs() < 0.1);
        }
    }
}
