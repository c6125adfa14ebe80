//! The axes of the share family.

use tollgate_model::Market;
use tollgate_policy::toolkit::price::{BASE_PRICE, IncentiveFactors};
use tollgate_policy::{
    ParameterEnum, ParameterTable, Policy, PolicyParameter, PolicySettings, read_number,
};

use super::ShareAdmission;
use super::weights::ShareRule;
use crate::time_shared::TimeSharedPolicy;

/// The choice among suitable nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitStrategy {
    /// The fullest first, ties by lowest index, so that nodes are saturated.
    Best,
    /// The lowest index first.
    First,
}

/// The criterion by which a node suits a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareAdmissionTest {
    /// Its total share with the job stays at most 1 (Yeo & Buyya 2006, eq. 2).
    Share,
    /// Its risk of deadline delay with the job stays zero (ibid., eq. 3-6). Tasks that are all late by the
    /// same factor are no risk by that definition.
    Risk,
    /// The job has the node to itself, or no task is predicted late. This is the risk of zero without its
    /// blind spot; a departure from the paper.
    Delay,
}

/// The price of a job in the commodity market. Elsewhere the price is the bid, or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PricingRule {
    /// By the estimate, with an incentive for relaxed deadlines.
    Incentive,
    /// By the utilisation of the most expensive node the job takes (Libra+$).
    Utilisation,
}

/// The parameters of a time-shared policy, one per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareParams {
    /// The choice among suitable nodes.
    pub fit: FitStrategy,
    /// The criterion by which a node suits a job.
    pub admission: ShareAdmissionTest,
    /// The price of a job.
    pub pricing: PricingRule,
    /// The share of a task that outlived its estimate.
    pub overrun: ShareRule,
    /// The share of a task that outlived its deadline.
    pub expired: ShareRule,
    /// The factors of the price with an incentive.
    pub incentive: IncentiveFactors,
    /// Weight of the base price in the price by utilisation. Not negative.
    pub alpha: f64,
    /// Weight of the utilisation in the price by utilisation. Not negative.
    pub beta: f64,
    /// Credits per second of the estimate in the price by utilisation. Not negative.
    pub base_price: f64,
}

impl ShareParams {
    /// The defaults: Libra, and the factors of the experiments of Yeo & Buyya 2008, §5.2.
    pub const DEFAULT: Self = Self {
        fit: FitStrategy::Best,
        admission: ShareAdmissionTest::Share,
        pricing: PricingRule::Incentive,
        overrun: ShareRule::Keep,
        expired: ShareRule::Full,
        incentive: IncentiveFactors::DEFAULT,
        alpha: 1.0,
        beta: 0.3,
        base_price: BASE_PRICE,
    };

    fn prices_incentive(&self) -> bool {
        self.pricing == PricingRule::Incentive
    }

    fn prices_utilisation(&self) -> bool {
        self.pricing == PricingRule::Utilisation
    }
}

impl ParameterEnum for FitStrategy {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("best", Self::Best), ("first", Self::First)];
}

impl ParameterEnum for ShareAdmissionTest {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("share", Self::Share),
        ("risk", Self::Risk),
        ("delay", Self::Delay),
    ];
}

impl ParameterEnum for PricingRule {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("incentive", Self::Incentive),
        ("utilisation", Self::Utilisation),
    ];
}

impl PolicySettings for ShareParams {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        Box::new(TimeSharedPolicy::new(ShareAdmission::new(*self, market)))
    }

    fn shares_nodes(&self) -> bool {
        true
    }
}

impl ParameterTable for ShareParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = &[
        PolicyParameter {
            key: "fit",
            values: "best or first",
            meaning: "which of the nodes that suit are taken",
            applies: |_| true,
            get: |s| s.fit.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.fit, word),
        },
        PolicyParameter {
            key: "admission",
            values: "share, risk or delay",
            meaning: "what must hold on a node with the job on it",
            applies: |_| true,
            get: |s| s.admission.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.admission, word),
        },
        PolicyParameter {
            key: "pricing",
            values: "incentive or utilisation",
            meaning: "what a job costs in the commodity market",
            applies: |_| true,
            get: |s| s.pricing.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.pricing, word),
        },
        PolicyParameter {
            key: "overrun",
            values: "full, zero, keep or one-second",
            meaning: "the share of a task that outlived its estimate",
            applies: |_| true,
            get: |s| s.overrun.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.overrun, word),
        },
        PolicyParameter {
            key: "expired",
            values: "full, zero, keep or one-second",
            meaning: "the share of a task that outlived its deadline",
            applies: |_| true,
            get: |s| s.expired.keyword(),
            set: |s, word| ParameterEnum::read(&mut s.expired, word),
        },
        PolicyParameter {
            key: "gamma",
            values: "a number, not negative",
            meaning: "credits a second of the estimate, in the price with an incentive",
            applies: ShareParams::prices_incentive,
            get: |s| s.incentive.gamma.to_string(),
            set: |s, word| read_number(&mut s.incentive.gamma, word),
        },
        PolicyParameter {
            key: "delta",
            values: "a number, not negative",
            meaning: "credits times estimate / deadline, in the price with an incentive",
            applies: ShareParams::prices_incentive,
            get: |s| s.incentive.delta.to_string(),
            set: |s, word| read_number(&mut s.incentive.delta, word),
        },
        PolicyParameter {
            key: "alpha",
            values: "a number, not negative",
            meaning: "weight of the base price in the price by utilisation",
            applies: ShareParams::prices_utilisation,
            get: |s| s.alpha.to_string(),
            set: |s, word| read_number(&mut s.alpha, word),
        },
        PolicyParameter {
            key: "beta",
            values: "a number, not negative",
            meaning: "weight of the utilisation in the price by utilisation",
            applies: ShareParams::prices_utilisation,
            get: |s| s.beta.to_string(),
            set: |s, word| read_number(&mut s.beta, word),
        },
        PolicyParameter {
            key: "base-price",
            values: "credits a second, not negative",
            meaning: "price of a second of the estimate",
            applies: ShareParams::prices_utilisation,
            get: |s| s.base_price.to_string(),
            set: |s, word| read_number(&mut s.base_price, word),
        },
    ];
}
