//! The axes along which the space-shared policies differ.

use tollgate_model::Market;

/// A space-shared policy as a point on its axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleQueueSettings {
    /// Who is the head of the queue.
    pub order: OracleOrder,
    /// Who may run before the head.
    pub fill: FillRule,
    /// A job is hopeless if even this part of its estimate would be too long.
    pub part: f64,
    /// When a job that cannot make its deadline is dropped.
    pub test: OracleDropRule,
    /// Who may enter the queue.
    pub entry: OracleAdmissionTest,
    /// How often the queue is looked at.
    pub pass: OraclePassTrigger,
    /// What comes first at one instant.
    pub ties: TieOrder,
    /// Who pays what.
    pub market: Market,
    /// Whether the commodity market keeps out a job whose estimate costs more than its budget.
    pub budget_test: bool,
}

/// The order of the queue; ties by job order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleOrder {
    /// By submission.
    Fcfs,
    /// By estimate, shortest first.
    Sjf,
    /// By absolute deadline; dues within a microsecond tie; jobs without one last.
    Edf,
    /// By FirstReward's reward, highest first.
    Reward,
}

/// What may run before the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillRule {
    /// Nothing: head only.
    Head,
    /// Whatever ends before the head's reservation.
    Backfill {
        /// Whether also what the head leaves over at the shadow time may be used (EASY).
        extra: bool,
    },
    /// Whatever fits into the holes between everybody's reservations.
    Conservative {
        /// When reservations are made again.
        replan: ReplanRule,
    },
}

/// When conservative backfilling makes all reservations again. The readings differ only once a
/// job has run past its estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplanRule {
    /// Never: `compress=false`. One that became impossible moves to the earliest hole.
    Never,
    /// After an end earlier than estimated, to the letter: `compress=true`.
    EarlyEnd,
    /// At every pass: the other reading of `compress=true`.
    EveryPass,
}

/// When a hopeless job (one that by its estimate would miss its deadline) is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleDropRule {
    /// Never.
    Never,
    /// When it could be started.
    Start,
    /// Whenever it is looked at.
    Select,
    /// A lapsed deadline whenever looked at, a hopeless one when it could be started.
    Mixed,
}

/// Who may enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleAdmissionTest {
    /// Every job.
    Open,
    /// Jobs with enough slack (FirstReward).
    Slack(OraclePenaltyScope),
}

/// Whose penalty rates FirstReward counts as cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OraclePenaltyScope {
    /// All other accepted jobs that have not finished.
    All,
    /// Those that do not run yet.
    Waiting,
}

/// How often the queue is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OraclePassTrigger {
    /// Once an instant, after all that happens at it.
    Instant,
    /// After each end and each arrival.
    Event,
}

/// What comes first at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// Ends, as specified.
    EndsFirst,
    /// Arrivals, as in some other simulators.
    ArrivalsFirst,
}

impl OracleQueueSettings {
    /// The policy called `policy` with its default settings; none if it is not space-shared.
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
            // The level 0.05 of what estimates are generally worth.
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
