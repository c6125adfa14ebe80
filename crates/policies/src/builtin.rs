//! The policies by name: each row fills in the axes of its family.

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Market, Probability};
use tollgate_policy::{PolicyDefinition, PolicyRegistry};

use crate::deadline_tail::TailParams;
use crate::plan::PlanParams;
use crate::queue::{
    DropRule, FeasibilityRule, QueueAdmissionTest, QueueOrder, QueueParams, ReservationDepth,
};
use crate::share::{FitStrategy, PricingRule, ShareAdmissionTest, ShareParams};

/// Every built-in policy, in the order in which they are listed and run.
pub const BUILTIN_POLICIES: &[PolicyDefinition] = &[
    FCFS,
    EASY,
    CONSERVATIVE,
    EDF,
    FCFS_BF,
    SJF_BF,
    EDF_BF,
    LIBRA,
    LIBRA_DOLLAR,
    LIBRA_RISK,
    FIRST_REWARD,
    TAIL_RISK,
    TAIL_RISK_BF,
    PLAN,
];

/// Returns the registry of the built-in policies.
///
/// ```
/// use tollgate_model::Market;
///
/// let registry = tollgate_policies::builtin_registry();
/// let policy = &registry.parse_list("easy:order=sjf")?[0];
/// assert_eq!(policy.to_string(), "easy:order=sjf");
/// let _decides = policy.build(Market::None);
/// # Ok::<(), tollgate_policy::PolicyError>(())
/// ```
pub fn builtin_registry() -> PolicyRegistry {
    let definitions = BUILTIN_POLICIES.iter().copied();
    definitions.fold(PolicyRegistry::default(), PolicyRegistry::with)
}

/// First come, first served, strictly in order.
const FCFS: PolicyDefinition = PolicyDefinition {
    name: "fcfs",
    summary: "strictly in order of submission; never rejects",
    limits: "knows no deadlines",
    source: "the baseline of every study",
    markets: &[Market::None],
    settings: &QueueParams {
        order: QueueOrder::Fcfs,
        ..QueueParams::DEFAULT
    },
};

/// EASY backfilling as the textbook has it.
const EASY: PolicyDefinition = PolicyDefinition {
    name: "easy",
    summary: "EASY backfilling: jobs may overtake if the head of the queue is not delayed; never rejects",
    limits: "knows no deadlines",
    source: "Lifka 1995; Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: &QueueParams {
        depth: ReservationDepth::AtMost(1),
        ..QueueParams::DEFAULT
    },
};

/// Conservative backfilling.
const CONSERVATIVE: PolicyDefinition = PolicyDefinition {
    name: "conservative",
    summary: "backfilling with a reservation for every waiting job; never rejects",
    limits: "knows no deadlines",
    source: "Mu'alem & Feitelson 2001",
    markets: &[Market::None],
    settings: &QueueParams {
        depth: ReservationDepth::All,
        ..QueueParams::DEFAULT
    },
};

/// Earliest deadline first, non-preemptive, with generous admission.
const EDF: PolicyDefinition = PolicyDefinition {
    name: "edf",
    summary: "earliest deadline first; drops a job at its start if it cannot finish in time",
    limits: "answers at the start of a job, not at its submission; believes estimates",
    source: "Yeo & Buyya 2006, section 4",
    markets: &[Market::None],
    settings: &QueueParams {
        order: QueueOrder::Edf,
        test: DropRule::Start,
        ..QueueParams::DEFAULT
    },
};

/// EASY backfilling with generous admission (Yeo & Buyya 2008, section 5.2).
const GENEROUS_BACKFILLING: QueueParams = QueueParams {
    depth: ReservationDepth::AtMost(1),
    // A job that skips ahead must have ended by the shadow time: the paper's statements about
    // waiting depend on it.
    extra: false,
    test: DropRule::Start,
    ..QueueParams::DEFAULT
};

/// EASY backfilling in order of submission, with generous admission.
const FCFS_BF: PolicyDefinition = PolicyDefinition {
    name: "fcfs-bf",
    summary: "EASY backfilling in order of submission; drops a job that cannot finish in time",
    limits: "answers at the start of a job, not at its submission; believes estimates",
    source: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: &QueueParams {
        order: QueueOrder::Fcfs,
        ..GENEROUS_BACKFILLING
    },
};

/// EASY backfilling, shortest estimate first, with generous admission.
const SJF_BF: PolicyDefinition = PolicyDefinition {
    name: "sjf-bf",
    summary: "EASY backfilling, shortest estimate first; drops a job that cannot finish in time",
    limits: "answers at the start of a job, not at its submission; believes estimates",
    source: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity],
    settings: &QueueParams {
        order: QueueOrder::Sjf,
        ..GENEROUS_BACKFILLING
    },
};

/// EASY backfilling, earliest deadline first, with generous admission.
const EDF_BF: PolicyDefinition = PolicyDefinition {
    name: "edf-bf",
    summary: "EASY backfilling, earliest deadline first; drops a job that cannot finish in time",
    limits: "answers at the start of a job, not at its submission; believes estimates",
    source: "Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: &QueueParams {
        order: QueueOrder::Edf,
        ..GENEROUS_BACKFILLING
    },
};

/// Libra: deadline-based proportional processor share.
const LIBRA: PolicyDefinition = PolicyDefinition {
    name: "libra",
    summary: "proportional shares; admits a job if its share fits, on the fullest nodes",
    limits: "promises only what fits beside the shares of this instant; believes estimates",
    source: "Sherwani et al. 2004; Yeo & Buyya 2006, section 3.1",
    markets: &[Market::None, Market::Commodity, Market::Bid],
    settings: &ShareParams {
        fit: FitStrategy::Best,
        admission: ShareAdmissionTest::Share,
        ..ShareParams::DEFAULT
    },
};

/// Libra+$: Libra at prices that rise with utilisation.
const LIBRA_DOLLAR: PolicyDefinition = PolicyDefinition {
    name: "libra-dollar",
    summary: "Libra at prices that rise with a node's utilisation; admits what can pay",
    limits: "promises only what fits beside the shares of this instant; believes estimates",
    source: "Yeo & Buyya 2007; 2008, section 5.2",
    markets: &[Market::Commodity],
    settings: &ShareParams {
        pricing: PricingRule::Utilisation,
        ..ShareParams::DEFAULT
    },
};

/// LibraRisk: Libra with a test of the risk of deadline delay (LibraRiskD in later work).
const LIBRA_RISK: PolicyDefinition = PolicyDefinition {
    name: "libra-risk",
    summary: "proportional shares; admits a job on nodes where no deadline is at risk",
    limits: "sees no risk where all tasks of a node are late by the same factor, as with equal deadlines; `admission=delay` does",
    source: "Yeo & Buyya 2006, section 3.3",
    markets: &[Market::None, Market::Bid],
    settings: &ShareParams {
        fit: FitStrategy::First,
        admission: ShareAdmissionTest::Risk,
        ..ShareParams::DEFAULT
    },
};

/// FirstReward: weighs the earnings of a job against the delays it would cause.
const FIRST_REWARD: PolicyDefinition = PolicyDefinition {
    name: "first-reward",
    summary: "highest reward first, no backfilling; admits a job if it earns enough for what it may delay",
    limits: "believes estimates; nodes stay idle behind a wide job",
    source: "Irwin, Grit & Chase 2004; Yeo & Buyya 2008, section 5.2",
    markets: &[Market::Bid],
    settings: &QueueParams {
        order: QueueOrder::Reward,
        admission: QueueAdmissionTest::Slack,
        ..QueueParams::DEFAULT
    },
};

/// Admission by the tail of predictive distributions.
const TAIL_RISK: PolicyDefinition = PolicyDefinition {
    name: "tail-risk",
    summary: "earliest deadline runs; admits a job where every promise is kept with high probability",
    limits: "`deadlines=trusted` is sound only where no job runs longer than its deadline",
    source: "ours; the order is that of Dertouzos 1974",
    markets: &[Market::None, Market::Bid],
    settings: &TailParams::DEFAULT,
};

/// The space-shared form of `tail-risk`.
const TAIL_RISK_BF: PolicyDefinition = PolicyDefinition {
    name: "tail-risk-bf",
    summary: "EASY backfilling by deadline; drops a job only once it is too unlikely to finish in time",
    limits: "answers at the start of a job, not at its submission; breaks promises that `edf-bf` would not make",
    source: "ours; after Yeo & Buyya 2008, section 5.2",
    markets: &[Market::None, Market::Bid],
    settings: &QueueParams {
        order: QueueOrder::Edf,
        feasibility: FeasibilityRule::Chance(MIN_PROBABILITY),
        ..GENEROUS_BACKFILLING
    },
};

/// Minimum probability of meeting its deadline for a job to be started by `tail-risk-bf`. Chosen on
/// KTH SP2, LANL CM-5 and SDSC Blue Horizon.
const MIN_PROBABILITY: Probability = LEVELS[0];

/// Promises at submission, from a plan of all promises.
const PLAN: PolicyDefinition = PolicyDefinition {
    name: "plan",
    summary: "promises a job that a plan of all promises keeps in time; the rest runs where none suffers",
    limits: "breaks one to four promises in a hundred, often together: the jobs of a user are long together",
    source: "ours; dispatch as EASY backfilling by deadline",
    markets: &[Market::None, Market::Commodity],
    settings: &PlanParams::DEFAULT,
};
