//! The axes of the queue family.

use tollgate_model::{Market, Probability};
use tollgate_policy::toolkit::price::BASE_PRICE;
use tollgate_policy::{
    ParameterEnum, ParameterTable, PassTrigger, Policy, PolicyParameter, PolicySettings,
    read_number,
};

use super::QueuePolicy;
use super::order::QueueOrder;
use super::queued_job::DropRule;
use super::slack::SlackTest;

/// The number of waiting jobs with a reservation that later jobs must not delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationDepth {
    /// At most N: 0 runs the queue strictly in order, 1 is EASY backfilling.
    AtMost(u32),
    /// All waiting jobs: conservative backfilling.
    All,
}

impl ReservationDepth {
    /// Returns true if another job gets a reservation after `reserved` of them.
    pub(super) fn covers(self, reserved: usize) -> bool {
        match self {
            Self::AtMost(depth) => reserved < depth as usize,
            Self::All => true,
        }
    }

    fn word(self) -> String {
        match self {
            Self::AtMost(depth) => depth.to_string(),
            Self::All => "all".to_owned(),
        }
    }

    fn read(place: &mut Self, word: &str) -> bool {
        let depth = match word {
            "all" => Some(Self::All),
            _ => word.parse().ok().map(Self::AtMost),
        };
        depth.map(|depth| *place = depth).is_some()
    }
}

/// The admission test for a submitted job, besides its width and the market's budget test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueAdmissionTest {
    /// No test: the job waits, and is admitted at its start.
    None,
    /// FirstReward's slack test; a job that passes is admitted at once and never dropped.
    Slack,
}

/// The criterion by which a job that has not started is hopeless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeasibilityRule {
    /// Its estimate puts its end after its deadline.
    Estimate,
    /// The probability of meeting its deadline, by its predictive distribution, is below this.
    Chance(Probability),
}

impl FeasibilityRule {
    fn word(self) -> String {
        match self {
            Self::Estimate => "estimate".to_owned(),
            Self::Chance(least) => least.as_f64().to_string(),
        }
    }

    fn read(place: &mut Self, word: &str) -> bool {
        let least = word.parse().ok().and_then(Probability::new);
        let least = least.filter(|least| 0.0 < least.as_f64() && least.as_f64() < 1.0);
        let feasibility = match word {
            "estimate" => Some(Self::Estimate),
            _ => least.map(Self::Chance),
        };
        feasibility
            .map(|feasibility| *place = feasibility)
            .is_some()
    }
}

/// The parameters of a space-shared policy, one per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueParams {
    /// The order of the queue.
    pub order: QueueOrder,
    /// The number of reservations.
    pub depth: ReservationDepth,
    /// True if a candidate may run past a reservation on processors that the reservation leaves
    /// over.
    pub extra: bool,
    /// The rule for dropping hopeless jobs.
    pub test: DropRule,
    /// The events that trigger a pass.
    pub pass: PassTrigger,
    /// True if reservations are recomputed at every pass (with depth above 1).
    pub compress: bool,
    /// The criterion for a hopeless job.
    pub feasibility: FeasibilityRule,
    /// The admission test.
    pub admission: QueueAdmissionTest,
    /// The slack test's settings; `order=reward` sorts by them too.
    pub slack: SlackTest,
    /// Credits per second of the estimate in the commodity market. Not negative.
    pub base_price: f64,
}

impl QueueParams {
    /// The defaults: strictly in order of submission, without any test.
    pub const DEFAULT: Self = Self {
        order: QueueOrder::Fcfs,
        depth: ReservationDepth::AtMost(0),
        extra: true,
        test: DropRule::None,
        pass: PassTrigger::Instant,
        compress: true,
        feasibility: FeasibilityRule::Estimate,
        admission: QueueAdmissionTest::None,
        slack: SlackTest::DEFAULT,
        base_price: BASE_PRICE,
    };
}

impl QueueParams {
    /// Returns true if every job that fits the machine is run sooner or later.
    pub(super) fn admits_all(&self) -> bool {
        self.test == DropRule::None && self.admission == QueueAdmissionTest::None
    }

    fn backfills(&self) -> bool {
        self.depth != ReservationDepth::AtMost(0)
    }

    fn uses_profile(&self) -> bool {
        !matches!(self.depth, ReservationDepth::AtMost(0 | 1))
    }

    /// Returns true if the next pass would make the reservations of a pass again, as long as jobs are
    /// submitted and end when they were expected to.
    pub(super) fn keeps_plan(&self) -> bool {
        self.compress && self.extra && !self.test.drops_on_sight()
    }

    /// Returns true if the policy weighs the payments of jobs.
    fn uses_rewards(&self) -> bool {
        self.admission == QueueAdmissionTest::Slack || self.order == QueueOrder::Reward
    }
}

impl PolicySettings for QueueParams {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        Box::new(QueuePolicy::new(*self, market))
    }

    fn uses_bids(&self) -> bool {
        self.uses_rewards()
    }
}

impl ParameterEnum for QueueAdmissionTest {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("slack", Self::Slack)];
}

impl ParameterTable for QueueParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = &[
        PolicyParameter {
            key: "order",
            values: "fcfs, sjf, edf or reward",
            meaning: "which job comes first",
            applies: |_| true,
            get: |s| s.order.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.order, word),
        },
        PolicyParameter {
            key: "depth",
            values: "a count or `all`",
            meaning: "how many waiting jobs get a reservation",
            applies: |_| true,
            get: |s| s.depth.word(),
            set: |s, word| ReservationDepth::read(&mut s.depth, word),
        },
        PolicyParameter {
            key: "extra",
            values: "true or false",
            meaning: "whether a job may run past a reservation on what it leaves over",
            applies: QueueParams::backfills,
            get: |s| s.extra.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.extra, word),
        },
        PolicyParameter {
            key: "test",
            values: "none, start, select or mixed",
            meaning: "when a job that cannot meet its deadline is dropped",
            applies: |_| true,
            get: |s| s.test.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.test, word),
        },
        PolicyParameter {
            key: "pass",
            values: "instant or event",
            meaning: "one scheduling pass an instant, or one an event",
            applies: |_| true,
            get: |s| s.pass.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.pass, word),
        },
        PolicyParameter {
            key: "compress",
            values: "true or false",
            meaning: "whether reservations are made anew when a job ends early",
            applies: QueueParams::uses_profile,
            get: |s| s.compress.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.compress, word),
        },
        PolicyParameter {
            key: "feasibility",
            values: "`estimate`, or a probability above 0 and below 1",
            meaning: "when a job is hopeless: by its estimate, or by the chance to meet its deadline",
            applies: |s| s.test != DropRule::None,
            get: |s| s.feasibility.word(),
            set: |s, word| FeasibilityRule::read(&mut s.feasibility, word),
        },
        PolicyParameter {
            key: "admission",
            values: "none or slack",
            meaning: "admission test at the submission",
            applies: |_| true,
            get: |s| s.admission.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.admission, word),
        },
        PolicyParameter {
            key: "slack",
            values: "a number of seconds, not negative",
            meaning: "minimum slack to admit a job",
            applies: QueueParams::uses_rewards,
            get: |s| s.slack.threshold.to_string(),
            set: |s, word| read_number(&mut s.slack.threshold, word),
        },
        PolicyParameter {
            key: "discount",
            values: "a number a second, not negative",
            meaning: "how much less a credit is worth a second later",
            applies: QueueParams::uses_rewards,
            get: |s| s.slack.discount.to_string(),
            set: |s, word| read_number(&mut s.slack.discount, word),
        },
        PolicyParameter {
            key: "count",
            values: "all or waiting",
            meaning: "which accepted jobs a new one is feared to delay",
            applies: QueueParams::uses_rewards,
            get: |s| s.slack.count.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.slack.count, word),
        },
        PolicyParameter {
            key: "alpha",
            values: "a number from 0 to 1",
            meaning: "weight of earnings in the reward, against the delay of other jobs",
            applies: |s| s.order == QueueOrder::Reward,
            get: |s| s.slack.alpha.to_string(),
            set: |s, word| {
                let weight = word.parse().ok().and_then(Probability::new);
                weight
                    .map(|weight| s.slack.alpha = weight.as_f64())
                    .is_some()
            },
        },
        PolicyParameter {
            key: "base-price",
            values: "credits a second, not negative",
            meaning: "price of a second of the estimate in the commodity market",
            applies: |_| true,
            get: |s| s.base_price.to_string(),
            set: |s, word| read_number(&mut s.base_price, word),
        },
    ];
}
