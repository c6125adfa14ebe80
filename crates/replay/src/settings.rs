//! The settings of a replay.

use std::num::{NonZeroU32, NonZeroUsize};

use tollgate_model::{Bytes, Market, Span, SpeedList};
use tollgate_policy::{PolicyRegistry, PolicySpec};
use tollgate_sim::{EstimateOrigin, OverrunRule, RecordLevel, TaskCoupling, UnpredictableRule};
use tollgate_trace::record_filter::RecordFilter;
use tollgate_workload::WorkloadConfig;

use crate::error::ReplayError;
use crate::groups::ReplayGrouping;
use crate::trial::TreatmentTrial;

/// The settings of a replay, whatever its record.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// The part of the record that is used.
    pub part: RecordFilter,
    /// Number of records of that part that are used, from its end.
    pub last: Option<NonZeroUsize>,
    /// Number of records of that part that are used, from its beginning. Wins over `last`.
    pub first: Option<NonZeroUsize>,
    /// Number of seeds, from that of the jobs on.
    pub seeds: NonZeroU32,
    /// The assumptions about jobs where the record does not say.
    pub jobs: WorkloadConfig,
    /// The market.
    pub market: Market,
    /// The numbers of nodes. Empty for the number in the record.
    pub nodes: Vec<NodeCount>,
    /// The speeds of the nodes. None if they are as fast as those of the record.
    pub speeds: Option<SpeedList>,
    /// Memory of each node. None if memory does not count.
    pub node_memory: Option<Bytes>,
    /// Whether the tasks of a job run in step on nodes that jobs share.
    pub tasks: TaskCoupling,
    /// The work that a paused task loses when it resumes: 0 to [`tollgate_sim::MAX_PREEMPTION_COST`].
    pub preemption_cost: Span,
    /// The fate of jobs that outlive their estimates.
    pub overrun: OverrunRule,
    /// The policies, each of which runs in the market.
    pub policies: Vec<PolicySpec>,
    /// The run times that policies assume.
    pub estimates: EstimateOrigin,
    /// Whether up to 20,000 records before the last ones are learned.
    pub learn_before: bool,
    /// The extent of recording and verification.
    pub record: RecordLevel,
    /// The property by which the results are split.
    pub by: Option<ReplayGrouping>,
    /// Number of windows into which the record is cut.
    pub windows: Option<NonZeroU32>,
    /// The treatments of jobs whose run time cannot be predicted, under each of which every policy runs. Empty if such jobs
    /// are not recognised.
    pub treatments: Vec<TreatmentTrial>,
    /// The spread from which on a run time counts as unpredictable.
    pub spread: f64,
    /// Whether promises are compared with what was kept.
    pub calibration: bool,
    /// Whether the probability of each promise is computed.
    pub states_promises: bool,
}

/// A number of nodes, absolute or beyond those of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCount {
    /// All nodes.
    Total(NonZeroU32),
    /// The nodes that come to those of the record.
    More(NonZeroU32),
}

impl ReplaySettings {
    /// Creates the settings of a replay of a whole record under `policies`, with the defaults of the program.
    pub fn new(policies: Vec<PolicySpec>, market: Market) -> Self {
        Self {
            part: RecordFilter::default(),
            last: None,
            first: None,
            seeds: NonZeroU32::MIN,
            jobs: WorkloadConfig::default(),
            market,
            nodes: Vec::new(),
            speeds: None,
            node_memory: None,
            tasks: TaskCoupling::Rigid,
            preemption_cost: Span::ZERO,
            overrun: OverrunRule::Run,
            policies,
            estimates: EstimateOrigin::User,
            learn_before: false,
            record: RecordLevel::Outcomes,
            by: None,
            windows: None,
            treatments: Vec::new(),
            spread: UnpredictableRule::default().spread,
            calibration: false,
            states_promises: false,
        }
    }

    /// Returns whether anything depends on the run times of ended jobs.
    pub fn learns(&self) -> bool {
        learns(self.estimates, &self.policies) || !self.treatments.is_empty()
    }

    /// Returns whether there are results for groups of jobs.
    pub fn splits_jobs(&self) -> bool {
        self.by.is_some() || self.windows.is_some()
    }

    /// Returns whether more of a replay is needed than its objectives.
    pub fn needs_replay(&self) -> bool {
        self.calibration || self.splits_jobs() || self.record != RecordLevel::Outcomes
    }
}

/// Returns whether anything depends on the run times of ended jobs.
pub fn learns(estimates: EstimateOrigin, policies: &[PolicySpec]) -> bool {
    let believes = policies.iter().any(|policy| policy.uses_beliefs());
    estimates.uses_forecast() || believes && estimates != EstimateOrigin::True
}

/// Returns the policies of lists of names with parameters, or all of the market without any.
///
/// # Errors
/// If a list names no policy, or one that does not run in the market.
pub fn choose_policies<S: AsRef<str>>(
    registry: &PolicyRegistry,
    lists: &[S],
    market: Market,
) -> Result<Vec<PolicySpec>, ReplayError> {
    if lists.is_empty() {
        return Ok(registry.of_market(market));
    }
    let mut choices = Vec::new();
    for list in lists {
        choices.extend(registry.parse_list(list.as_ref())?);
    }
    match choices.iter().find(|choice| !choice.runs_in(market)) {
        Some(choice) => Err(ReplayError::WrongMarket {
            policy: choice.to_string(),
            market,
        }),
        None => Ok(choices),
    }
}
