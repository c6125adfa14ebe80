//! The axes along which the space-shared policies differ.

use tollgate_model::Market;

/// A space-shared policy as a point on its axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleQueueSettings {
    /// The order of the queue.
    pub order: OracleOrder,
    /// The jobs that may run before the head.
    pub fill: FillRule,
    /// A job is hopeless if even this fraction of its estimate would be too long.
    pub part: f64,
    /// The rule for dropping a job that cannot make its deadline.
    pub test: OracleDropRule,
    /// The admission test.
    pub entry: OracleAdmissionTest,
    /// The events that trigger a pass.
    pub pass: OraclePassTrigger,
    /// The order of events at one instant.
    pub ties: TieOrder,
    /// The market.
    pub market: Market,
    /// True if the commodity market rejects a job whose estimate costs more than its budget.
    pub budget_test: bool,
}

/// The order of the queue; ties by job order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleOrder {
    /// By submission.
    Fcfs,
    /// By estimate, shortest first.
    Sjf,
    /// By absolute deadline; deadlines within a microsecond tie; jobs without one last.
    Edf,
    /// By FirstReward's reward, highest first.
    Reward,
}

/// The jobs that may run before the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillRule {
    /// No job: head only.
    Head,
    /// Jobs that end before the head's reservation.
    Backfill {
        /// True if processors that the head leaves over at the shadow time may also be used (EASY).
        extra: bool,
    },
    /// Jobs that fit into the holes between the reservations of all jobs.
    Conservative {
        /// The rule for making reservations again.
        replan: ReplanRule,
    },
}

/// The rule by which conservative backfilling makes all reservations again. The interpretations
/// differ only once a job has run past its estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplanRule {
    /// Never: `compress=false`. A reservation that became impossible moves to the earliest hole.
    Never,
    /// After an end earlier than estimated, by the letter of the specification: `compress=true`.
    EarlyEnd,
    /// At every pass: the other interpretation of `compress=true`.
    EveryPass,
}

/// The rule for dropping a hopeless job, whose estimate puts its end after its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleDropRule {
    /// Never.
    Never,
    /// When it could be started.
    Start,
    /// Whenever a pass examines it.
    Select,
    /// A lapsed deadline whenever a pass examines the job, a hopeless one when it could be started.
    Mixed,
}

/// The admission test for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleAdmissionTest {
    /// Every job.
    Open,
    /// Jobs with enough slack (FirstReward).
    Slack(OraclePenaltyScope),
}

/// The jobs whose penalty rates FirstReward counts as cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OraclePenaltyScope {
    /// All other accepted jobs that have not finished.
    All,
    /// All other accepted jobs that do not run yet.
    Waiting,
}

/// The events that trigger a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OraclePassTrigger {
    /// Once per instant, after all its events.
    Instant,
    /// After each completion and each submission.
    Event,
}

/// The order of events at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// Completions first, as specified.
    EndsFirst,
    /// Submissions first, as in some other simulators.
    ArrivalsFirst,
}

impl OracleQueueSettings {
    /// Returns the policy named `policy` with its default settings; None if it is not space-shared.
    pub fn named(policy: &str, market: Market) -> Option<Self> {
        let base = Self {
            order: OracleOrder::Fcfs,
            fill: FillRule::Head,
            part: 1.0,
            test: OracleDropRule::Never,
            entry: OracleAdmissionTest::Open,
            pass: OraclePassTrigger::Instant,
            ties: TieOrder::EndsFirst,
            market,
            budget_test: false,
        };
        let backfilling = |order| Self {
            order,
            fill: FillRule::Backfill { extra: false },
            test: OracleDropRule::Start,
            budget_test: true,
            ..base
        };
        Some(match policy {
            "fcfs" => base,
            "easy" => Self {
                fill: FillRule::Backfill { extra: true },
                ..base
            },
            "conservative" => Self {
                fill: FillRule::Conservative {
                    replan: ReplanRule::EveryPass,
                },
                ..base
            },
            "edf" => Self {
                fill: FillRule::Head,
                ..backfilling(OracleOrder::Edf)
            },
            "fcfs-bf" => backfilling(OracleOrder::Fcfs),
            "sjf-bf" => backfilling(OracleOrder::Sjf),
            "edf-bf" => backfilling(OracleOrder::Edf),
            // The level 0.05 of the estimate-based run time distribution.
            "tail-risk-bf" => Self {
                part: 0.004,
                ..backfilling(OracleOrder::Edf)
            },
            "first-reward" => Self {
                order: OracleOrder::Reward,
                entry: OracleAdmissionTest::Slack(OraclePenaltyScope::All),
                budget_test: true,
                ..base
            },
            _ => return None,
        })
    }
}
