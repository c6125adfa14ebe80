//! The changes of a user to an experiment without editing its file.

use tollgate_sim::{MAX_RECORD_NODES, PolicyRegistry};
use tollgate_trace::ColumnSelection;

use crate::experiment::Experiment;
use crate::plan::{MAX_ROWS, RunPlan};
use crate::study_error::StudyError;
use crate::validate::MAX_SCALE;
use crate::workload_source::StudyWorkload;

/// The changes of a user to an experiment without editing its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentOverrides {
    /// Number of seeds; at least 1.
    pub seeds: Option<u64>,
    /// Trace of the jobs.
    pub workload: Option<String>,
    /// Factor of the number of jobs, or of the size of a world without jobs; positive. At least one
    /// job is left.
    pub scale: Option<f64>,
    /// Policies of the cluster world that every market gets which does not name them and in which they run.
    pub policies: Vec<String>,
}

impl ExperimentOverrides {
    pub(crate) fn apply(
        &self,
        experiment: &mut Experiment,
        registry: &PolicyRegistry,
    ) -> Result<(), StudyError> {
        let wrong = |what, value: String, expected| StudyError::Change {
            what,
            value,
            expected,
        };
        self.add_policies(experiment, registry)?;
        if let Some(seeds) = self.seeds {
            if seeds == 0 {
                return Err(wrong(
                    "the number of seeds",
                    seeds.to_string(),
                    "at least 1",
                ));
            }
            experiment.seeds = seeds;
            if RunPlan::rows_of(experiment) > MAX_ROWS {
                return Err(wrong(
                    "the number of seeds",
                    seeds.to_string(),
                    "as many as give at most 1000000 rows of results",
                ));
            }
        }
        if let Some(scale) = self.scale
            && !(scale > 0.0 && scale.is_finite())
        {
            let expected = "a positive number";
            return Err(wrong("the scale", scale.to_string(), expected));
        }
        let world = experiment.world.kind;
        match (world.0.model(), &self.workload) {
            (_, None) => {}
            (None, Some(workload)) => experiment.workload.file = Some(workload.clone()),
            (Some(model), Some(workload)) if model.reads_traces() => {
                experiment.workload.file = Some(workload.clone());
            }
            (Some(_), Some(workload)) => {
                let expected = "none: the world of this study has no jobs of its own";
                return Err(wrong("the workload", workload.clone(), expected));
            }
        }
        if let (Some(_), Some(scale)) = (world.0.model(), self.scale) {
            let scale = scale * experiment.world.scale.unwrap_or(1.0);
            if scale > MAX_SCALE {
                return Err(wrong("the scale", scale.to_string(), "at most 100"));
            }
            experiment.world.scale = Some(scale);
        }
        Ok(())
    }

    fn add_policies(
        &self,
        experiment: &mut Experiment,
        registry: &PolicyRegistry,
    ) -> Result<(), StudyError> {
        let is_cluster = experiment.world.kind.0.model().is_none();
        for policy in &self.policies {
            let chosen = registry.named(policy).ok().filter(|_| is_cluster);
            let Some(chosen) = chosen else {
                return Err(StudyError::Change {
                    what: "the policies",
                    value: policy.clone(),
                    expected: "none: the world of this study has policies of its own",
                });
            };
            for market in &mut experiment.markets {
                if chosen.runs_in(market.name.0) && !market.policies.contains(policy) {
                    market.policies.push(policy.clone());
                }
            }
        }
        Ok(())
    }

    /// Returns the jobs of an experiment in the cluster world.
    pub(crate) fn source(
        &self,
        experiment: &mut Experiment,
        registry: &PolicyRegistry,
    ) -> Result<StudyWorkload, StudyError> {
        let mut source = StudyWorkload::of(experiment, columns(experiment, registry))?;
        if experiment.world.nodes.is_none() && source.nodes() > MAX_RECORD_NODES {
            return Err(StudyError::HugeMachine {
                nodes: source.nodes(),
            });
        }
        if let Some(list) = &experiment.world.speeds {
            let speeds = list.0.of_machine(source.nodes())?;
            source = source.with_speeds(speeds);
        }
        if let Some(scale) = self.scale {
            source = source.scaled(scale);
            experiment.workload.last = Some(source.trace().jobs.len());
        }
        Ok(source)
    }
}

/// Returns the columns of a trace that an experiment needs: names, if deadlines or forecasts follow
/// from what users did before.
pub(crate) fn columns(experiment: &Experiment, registry: &PolicyRegistry) -> ColumnSelection {
    let mut policies = experiment.markets.iter().flat_map(|m| &m.policies);
    let believes = policies.any(|words| {
        let specs = registry.parse_list(words).unwrap_or_default();
        specs.iter().any(|spec| spec.uses_beliefs())
    });
    let needs_names = experiment.sets.iter().any(|set| {
        experiment.deadlines(set).columns() == ColumnSelection::All
            || experiment.estimates(set).uses_forecast()
    });
    match believes || needs_names {
        true => ColumnSelection::All,
        false => ColumnSelection::Core,
    }
}
