//! The world of forecasts: each row is the forecasts of one source of all jobs of a record.

pub(crate) mod charts;
mod metrics;
mod parameters;

use std::collections::BTreeMap;

use tollgate_sim::grid::margin::BOUND_LEVELS;
use tollgate_sim::grid::statistics::RunTimeStatistics;
use tollgate_sim::grid::{
    ClassScheme, FeedbackTiming, ForecastSource, GridEvaluation, GridRecord, JointModel, evaluate,
    generator,
};

use crate::world::model::{
    ParameterValues, WorldEnvironment, WorldInput, WorldMetric, WorldModel, WorldParameter,
};

/// The world of Lazarević, Sacks and Prnjat (2005).
pub(super) struct GridWorld;

impl WorldModel for GridWorld {
    fn settings(&self) -> &'static [WorldParameter] {
        parameters::PARAMETERS
    }

    fn quantities(&self) -> &'static [WorldMetric] {
        metrics::METRICS
    }

    fn check_policy(&self, words: &str) -> Result<(), String> {
        parse(words).map(|_| ())
    }

    fn check_settings(&self, values: &ParameterValues) -> Result<(), String> {
        match level_index(values.get("level")) {
            Some(_) => Ok(()),
            None => Err(format!(
                "level is {}, expected one of {}",
                values.get("level"),
                BOUND_LEVELS.map(|level| level.to_string()).join(", ")
            )),
        }
    }

    fn reads_traces(&self) -> bool {
        true
    }

    fn environment(
        &self,
        values: &ParameterValues,
        seed: u64,
        input: WorldInput<'_>,
    ) -> Box<dyn WorldEnvironment> {
        Box::new(SharedGrid {
            record: record(values, seed, input),
            evaluations: BTreeMap::new(),
            statistics: BTreeMap::new(),
        })
    }
}

/// A rule for classes, a joint model, and whether feedback is causal.
type EvaluationKey = (ClassScheme, JointModel, bool);

/// A record, with everything that was computed about it so far.
struct SharedGrid {
    record: GridRecord,
    evaluations: BTreeMap<EvaluationKey, GridEvaluation>,
    statistics: BTreeMap<ClassScheme, RunTimeStatistics>,
}

impl WorldEnvironment for SharedGrid {
    fn run(&mut self, values: &ParameterValues, policy: &str) -> Vec<Option<f64>> {
        let (source, scheme) = parse(policy).expect("the experiment was checked");
        let level = level_index(values.get("level")).expect("the experiment was checked");
        let record = &self.record;
        let statistics = self.statistics.entry(scheme.clone());
        let statistics =
            *statistics.or_insert_with_key(|scheme| RunTimeStatistics::of(record, scheme));
        let is_causal = values.get("causal") > 0.0;
        let evaluation = self.evaluations.entry((scheme, source.model(), is_causal));
        let evaluation = evaluation.or_insert_with_key(|(scheme, model, is_causal)| {
            evaluate(record, scheme, *model, timing(*is_causal))
        });
        metrics::metrics(record.is_planted, evaluation, &statistics, source, level)
    }
}

const fn timing(is_causal: bool) -> FeedbackTiming {
    match is_causal {
        true => FeedbackTiming::Causal,
        false => FeedbackTiming::OneStep,
    }
}

/// Returns the jobs of a seed: those of the trace if there is one and the settings use it.
fn record(values: &ParameterValues, seed: u64, input: WorldInput<'_>) -> GridRecord {
    match input.trace.filter(|_| values.get("trace") > 0.0) {
        Some(workload) => {
            let trace = workload.trace();
            let last = (trace.jobs.len() as f64 * input.scale).round().max(1.0);
            GridRecord::of_trace(trace, seed, values.get("sampled"), last as usize)
        }
        None => generator::draw(&parameters::settings(values, seed, input.scale)),
    }
}

/// Parses `SOURCE/CLASSES`.
fn parse(words: &str) -> Result<(ForecastSource, ClassScheme), String> {
    let Some((source, scheme)) = words.split_once('/') else {
        return Err(format!(
            "expected SOURCE/CLASSES, as in experts/user, got `{words}`"
        ));
    };
    Ok((
        source.parse().map_err(|error| format!("{error}"))?,
        scheme.parse().map_err(|error| format!("{error}"))?,
    ))
}

fn level_index(level: f64) -> Option<usize> {
    BOUND_LEVELS.iter().position(|known| *known == level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_sources_with_classes() {
        let check = |words| GridWorld.check_policy(words);
        assert_eq!(check("experts/user+executable"), Ok(()));
        assert_eq!(check("last/site"), Ok(()));
        insta::assert_snapshot!(check("experts").unwrap_err(), @"expected SOURCE/CLASSES, as in experts/user, got `experts`");
        insta::assert_snapshot!(check("oracle/user").unwrap_err(), @"`oracle` is not a source of forecasts: expected belief, experts, experts-fixed, experts-unstaged, best-single, cubic-seconds, arma-4-4, arma-4-4-seconds, request or an expert such as last");
        insta::assert_snapshot!(check("last/host").unwrap_err(), @"`host` names no classes: expected site, discovered, or some of user, group, executable, queue, account, procs and request, joined by `+`");
    }

    #[test]
    fn record_is_evaluated_once_for_all_sources_of_a_scheme() {
        let values = ParameterValues::of(&GridWorld);
        let input = WorldInput {
            scale: 0.05,
            trace: None,
        };
        let mut shared = SharedGrid {
            record: record(&values, 1, input),
            evaluations: BTreeMap::new(),
            statistics: BTreeMap::new(),
        };
        let first = shared.run(&values, "experts/user");
        assert_eq!(first.len(), metrics::METRICS.len());
        assert_ne!(shared.run(&values, "last/user"), first);
        assert_eq!(shared.evaluations.len(), 1);
        shared.run(&values, "experts/site");
        shared.run(&values, "experts-fixed/site");
        assert_eq!(shared.evaluations.len(), 3);
        assert_ne!(shared.run(&values, "belief/user"), first);
        assert_eq!(shared.evaluations.len(), 4);
    }

    #[test]
    fn unknown_level_is_rejected() {
        let mut values = ParameterValues::of(&GridWorld);
        values.set("level", 0.85);
        insta::assert_snapshot!(GridWorld.check_settings(&values).unwrap_err(), @"level is 0.85, expected one of 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99");
    }
}
