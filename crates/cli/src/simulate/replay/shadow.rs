//! Policies on jobs that another scheduler serves: a replay of those that are over.

use std::io::{self, Write};
use std::num::NonZeroUsize;

use serde_json::Value;
use tollgate_model::Market;
use tollgate_policy::PolicyRegistry;
use tollgate_replay::{
    PolicyAnswer, ReplayInput, ReplaySettings, RunControl, choose_policies, run_policies, table,
};
use tollgate_sim::StopSignal;
use tollgate_trace::Trace;
use tollgate_workload::{DeadlineModel, WorkloadConfig};

use super::error::ReplayFlagError;
use super::keys::ReplayReportKeys;
use super::notes;
use super::plan::ReplayPlan;
use super::print;
use crate::args::OutputFormat;
use crate::output::messages::pluralise;

/// Number of the last jobs that are replayed: as many as a forest learns from.
pub(crate) const SHADOW_JOBS: NonZeroUsize = NonZeroUsize::new(10_000).expect("above 0");

/// The policies that are tried. The deadlines of the jobs are those that their users could set, by the model `habit`.
pub(crate) struct ShadowPolicies(ReplayPlan);

/// The results of the policies on the jobs of a record.
pub(crate) struct ShadowResults<'a> {
    plan: &'a ReplayPlan,
    input: ReplayInput,
    answers: Vec<PolicyAnswer>,
}

impl ShadowPolicies {
    /// Checks the names of policies.
    ///
    /// # Errors
    /// If a name or a parameter of it is unknown.
    pub(crate) fn new(
        names: &[String],
        registry: &PolicyRegistry,
        format: OutputFormat,
    ) -> Result<Self, ReplayFlagError> {
        let policies = choose_policies(registry, names, Market::None);
        let policies = policies.map_err(ReplayFlagError::Shadow)?;
        let settings = ReplaySettings {
            last: Some(SHADOW_JOBS),
            jobs: WorkloadConfig {
                deadlines: DeadlineModel::Habit,
                ..WorkloadConfig::default()
            },
            ..ReplaySettings::new(policies, Market::None)
        };
        Ok(Self(ReplayPlan::of_settings(settings, format)))
    }

    /// Runs every policy over the last jobs of a record, one after the other.
    ///
    /// # Errors
    /// If no job of the record ran, or the run of a policy fails.
    pub(crate) fn run(&self, record: Trace) -> Result<ShadowResults<'_>, ReplayFlagError> {
        let plan = &self.0;
        let input = ReplayInput::of(&plan.settings, record, [])?;
        let control = RunControl {
            threads: NonZeroUsize::MIN,
            stop: StopSignal::default(),
            progress: None,
        };
        let answers = run_policies(&plan.settings, &input, &control, |_, _| {
            Ok::<_, ReplayFlagError>(())
        })?;
        Ok(ShadowResults {
            plan,
            input,
            answers,
        })
    }
}

impl ShadowResults<'_> {
    /// Prints notes about the jobs, and writes the results, as a replay does.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        notes::print(self.plan, &self.input);
        print::write_answers(out, self.plan, &self.input, &self.answers)
    }

    /// Returns the table of a replay.
    pub(crate) fn table(&self) -> String {
        table::render(&self.answers, None, self.input.deadlines)
    }

    /// Returns the results with the keys of a replay.
    pub(crate) fn report(&self) -> Value {
        let keys = ReplayReportKeys::new(self.plan, &self.input, &self.answers);
        serde_json::to_value(keys).expect("the keys are text")
    }

    /// Returns the jobs and the machine in words.
    pub(crate) fn summary(&self) -> String {
        let jobs = pluralise(self.input.workload.len(), "job");
        let machine = notes::describe(&self.input.machines[0]);
        format!("{jobs}, {machine}, deadlines by the model `habit`")
    }
}
