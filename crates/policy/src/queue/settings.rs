//! The axes of the queue family.

use tollgate_model::Probability;

use super::order::QueueOrder;
use super::queued_job::DropRule;
use super::slack::SlackTest;
use crate::parameters::{ParameterEnum, PolicyParameter, read_number};
use crate::policy::PassTrigger;

/// How many waiting jobs get a reservation that later ones must not delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationDepth {
    /// Up to so many: 0 runs the queue strictly in order, 1 is EASY backfilling.
    AtMost(u32),
    /// Every one: conservative backfilling.
    All,
}

impl ReservationDepth {
    /// Whether there is a reservation for another job after `reserved` of them.
    pub(super) fn covers(self, reserved: u32) -> bool {
        match self {
            Self::AtMost(depth) => reserved < depth,
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

/// What is asked of a job at the door, besides its width and the market's budget test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueAdmissionTest {
    /// Nothing: it waits, and is let in at its start.
    None,
    /// FirstReward's slack test; who passes it is let in at once and never dropped for it.
    Slack,
}

/// When a job that has not started is hopeless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeasibilityRule {
    /// If its estimate says that it would miss its deadline.
    Estimate,
    /// If by its predictive distribution it would meet its deadline with a lower probability.
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
        let hope = match word {
            "estimate" => Some(Self::Estimate),
            _ => least.map(Self::Chance),
        };
        hope.map(|hope| *place = hope).is_some()
    }
}

/// A space-shared policy, by its axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueParams {
    /// Who comes first.
    pub order: QueueOrder,
    /// How many get a reservation.
    pub depth: ReservationDepth,
    /// Whether a candidate may run past a reservation on processors that it leaves over.
    pub extra: bool,
    /// When a hopeless job is dropped.
    pub test: DropRule,
    /// When passes happen.
    pub pass: PassTrigger,
    /// Whether reservations are made anew at every pass (with depth above 1).
    pub compress: bool,
    /// When a job is hopeless.
    pub feasibility: FeasibilityRule,
    /// What is asked at the door.
    pub admission: QueueAdmissionTest,
    /// The slack test's settings, by which `order=reward` orders too.
    pub slack: SlackTest,
}

impl QueueParams {
    /// Strictly in order of submission, without any test: what a policy does not set.
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
    };
}

impl QueueParams {
    /// Whether every job that fits the machine is run sooner or later.
    pub(super) fn admits_all(&self) -> bool {
        self.test == DropRule::None && self.admission == QueueAdmissionTest::None
    }

    fn backfills(&self) -> bool {
        self.depth != ReservationDepth::AtMost(0)
    }

    fn uses_profile(&self) -> bool {
        !matches!(self.depth, ReservationDepth::AtMost(0 | 1))
    }

    /// Whether it weighs what jobs would pay.
    pub(crate) fn uses_rewards(&self) -> bool {
        self.admission == QueueAdmissionTest::Slack || self.order == QueueOrder::Reward
    }
}

impl ParameterEnum for PassTrigger {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("instant", Self::Instant), ("event", Self::Event)];
}

impl ParameterEnum for QueueAdmissionTest {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("slack", Self::Slack)];
}

pub(crate) const PARAMETERS: &[PolicyParameter<QueueParams>] = &[
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
];
