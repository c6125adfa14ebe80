//! The models of the classes of a site.

use std::collections::BTreeMap;

use tollgate_forecast::ClassId;

use crate::auto_arima::AutoArima;
use crate::auto_ets::AutoEts;

/// Maximum number of past jobs on which a model is chosen.
const MAX_HISTORY: usize = 100;
/// Number of jobs after which a model is chosen again. In between the model is only updated.
const CHOOSE_EVERY: usize = 20;

/// The models of each class.
#[derive(Debug, Default)]
pub(crate) struct SearchedModels {
    classes: BTreeMap<ClassId, ClassModels>,
}

/// The logarithms of the last run times of a class, and the models chosen on them.
#[derive(Debug, Default)]
struct ClassModels {
    runs: Vec<f64>,
    ets: Option<AutoEts>,
    arima: Option<AutoArima>,
    age: usize,
}

impl SearchedModels {
    /// Returns the forecasts of AutoETS and AutoARIMA, as logarithms of seconds: the last run time before a model is
    /// chosen, None for a class without jobs.
    pub(crate) fn forecast(&self, class: ClassId) -> [Option<f64>; 2] {
        let Some(known) = self.classes.get(&class) else {
            return [None; 2];
        };
        let last = known.runs.last().copied();
        let ets = known.ets.as_ref().map(AutoEts::forecast);
        let arima = known.arima.as_ref();
        let arima = arima.and_then(|model| model.forecast(&known.runs));
        [ets.or(last), arima.or(last)]
    }

    /// Learns the logarithm of a run time.
    pub(crate) fn learn(&mut self, class: ClassId, ln_run: f64) {
        let known = self.classes.entry(class).or_default();
        if known.runs.len() == MAX_HISTORY {
            known.runs.remove(0);
        }
        known.runs.push(ln_run);
        if let Some(ets) = &mut known.ets {
            ets.learn(ln_run);
        }
        known.age += 1;
        let first = known.ets.is_none() || known.arima.is_none();
        if known.age >= CHOOSE_EVERY || (first && known.age >= CHOOSE_EVERY / 2) {
            known.ets = AutoEts::choose(&known.runs);
            known.arima = AutoArima::choose(&known.runs);
            known.age = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: ClassId = ClassId(1);

    #[test]
    fn last_run_time_is_forecast_before_a_model_is_chosen() {
        let mut models = SearchedModels::default();
        assert_eq!(models.forecast(CLASS), [None; 2]);
        for ln_run in [5.0, 6.0, 5.5] {
            models.learn(CLASS, ln_run);
        }
        assert_eq!(models.forecast(CLASS), [Some(5.5); 2]);
        assert_eq!(models.forecast(ClassId(2)), [None; 2]);
    }

    #[test]
    fn constant_class_is_forecast_exactly() {
        let mut models = SearchedModels::default();
        for _ in 0..100 {
            models.learn(CLASS, 6.0);
        }
        for ahead in models.forecast(CLASS) {
            assert!((ahead.unwrap() - 6.0).abs() < 1e-4);
        }
    }
}
