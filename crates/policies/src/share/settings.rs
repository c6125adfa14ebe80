//! The axes of the share family.

use tollgate_model::Market;
use tollgate_policy::toolkit::price::{BASE_PRICE, IncentiveFactors};
use tollgate_policy::{
    ParameterEnum, ParameterTable, Policy, PolicyParameter, PolicySettings, parameter_table,
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
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "fit" => Word(fit): "which of the nodes that suit are taken";
        "admission" => Word(admission): "what must hold on a node with the job on it";
        "pricing" => Word(pricing): "what a job costs in the commodity market";
        "overrun" => Word(overrun): "the share of a task that outlived its estimate";
        "expired" => Word(expired): "the share of a task that outlived its deadline";
        "gamma" => Number(incentive.gamma in 0.0.., "a number, not negative"):
            "credits a second of the estimate, in the price with an incentive"
            if ShareParams::prices_incentive;
        "delta" => Number(incentive.delta in 0.0.., "a number, not negative"):
            "credits times estimate / deadline, in the price with an incentive"
            if ShareParams::prices_incentive;
        "alpha" => Number(alpha in 0.0.., "a number, not negative"):
            "weight of the base price in the price by utilisation"
            if ShareParams::prices_utilisation;
        "beta" => Number(beta in 0.0.., "a number, not negative"):
            "weight of the utilisation in the price by utilisation"
            if ShareParams::prices_utilisation;
        "base-price" => Number(base_price in 0.0.., "credits a second, not negative"):
            "price of a second of the estimate" if ShareParams::prices_utilisation;
    };
}
