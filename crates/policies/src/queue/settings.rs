//! The axes of the queue family.

use tollgate_model::{Market, Probability};
use tollgate_policy::toolkit::price::BASE_PRICE;
use tollgate_policy::{
    ParameterEnum, ParameterTable, ParameterWord, PassTrigger, Policy, PolicyParameter,
    PolicySettings, parameter_table,
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
}

impl ParameterWord for ReservationDepth {
    fn values(&self) -> String {
        "a count or `all`".to_owned()
    }

    fn word(&self) -> String {
        match self {
            Self::AtMost(depth) => depth.to_string(),
            Self::All => "all".to_owned(),
        }
    }

    fn set_word(&mut self, word: &str) -> bool {
        let depth = match word {
            "all" => Some(Self::All),
            _ => word.parse().ok().map(Self::AtMost),
        };
        depth.map(|depth| *self = depth).is_some()
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

impl ParameterWord for FeasibilityRule {
    fn values(&self) -> String {
        "`estimate`, or a probability above 0 and below 1".to_owned()
    }

    fn word(&self) -> String {
        match self {
            Self::Estimate => "estimate".to_owned(),
            Self::Chance(least) => least.word(),
        }
    }

    fn set_word(&mut self, word: &str) -> bool {
        if word == "estimate" {
            *self = Self::Estimate;
            return true;
        }
        let mut least = Probability::new(1.0).expect("a probability");
        let is_set = least.set_word(word);
        if is_set {
            *self = Self::Chance(least);
        }
        is_set
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
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "order" => Word(order): "which job comes first";
        "depth" => Word(depth): "how many waiting jobs get a reservation";
        "extra" => Word(extra):
            "whether a job may run past a reservation on what it leaves over"
            if QueueParams::backfills;
        "test" => Word(test): "when a job that cannot meet its deadline is dropped";
        "pass" => Word(pass): "one scheduling pass an instant, or one an event";
        "compress" => Word(compress):
            "whether reservations are made anew when a job ends early" if QueueParams::uses_profile;
        "feasibility" => Word(feasibility):
            "when a job is hopeless: by its estimate, or by the chance to meet its deadline"
            if |s| s.test != DropRule::None;
        "admission" => Word(admission): "admission test at the submission";
        "slack" => Number(slack.threshold in 0.0.., "a number of seconds, not negative"):
            "minimum slack to admit a job" if QueueParams::uses_rewards;
        "discount" => Number(slack.discount in 0.0.., "a number a second, not negative"):
            "how much less a credit is worth a second later" if QueueParams::uses_rewards;
        "count" => Word(slack.count):
            "which accepted jobs a new one is feared to delay" if QueueParams::uses_rewards;
        "alpha" => Number(slack.alpha in 0.0..=1.0, "a number from 0 to 1"):
            "weight of earnings in the reward, against the delay of other jobs"
            if |s| s.order == QueueOrder::Reward;
        "base-price" => Number(base_price in 0.0.., "credits a second, not negative"):
            "price of a second of the estimate in the commodity market";
    };
}
