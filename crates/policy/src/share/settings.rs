//! The axes of the share family.

use super::rules::Rule;
use crate::settings::{Parameter, Word};

/// Which of the nodes that suit are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The fullest first, ties by lowest index, so that nodes are saturated.
    Best,
    /// The lowest index first.
    First,
}

/// When a node suits a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Its total share with the job stays at most 1 (Yeo & Buyya 2006, eq. 2).
    Share,
    /// Its risk of deadline delay with the job stays zero (ibid., eq. 3-6).
    Risk,
}

/// What a job costs in the commodity market. Elsewhere the price is the bid, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pricing {
    /// By the estimate, with an incentive for relaxed deadlines.
    Incentive,
    /// By the utilisation of the dearest node it takes (Libra+$).
    Utilisation,
}

/// A time-shared policy, by its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which of the nodes that suit are taken.
    pub fit: Fit,
    /// When a node suits.
    pub admission: Admission,
    /// What a job costs.
    pub pricing: Pricing,
    /// The share of a task that outlived its estimate.
    pub overrun: Rule,
    /// The share of a task that outlived its deadline.
    pub expired: Rule,
}

impl Settings {
    /// Libra: what a policy does not set.
    pub const DEFAULT: Self = Self {
        fit: Fit::Best,
        admission: Admission::Share,
        pricing: Pricing::Incentive,
        overrun: Rule::Keep,
        expired: Rule::Full,
    };
}

impl Word for Fit {
    const WORDS: &'static [(&'static str, Self)] = &[("best", Self::Best), ("first", Self::First)];
}

impl Word for Admission {
    const WORDS: &'static [(&'static str, Self)] = &[("share", Self::Share), ("risk", Self::Risk)];
}

impl Word for Pricing {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("incentive", Self::Incentive),
        ("utilisation", Self::Utilisation),
    ];
}

pub(crate) const PARAMETERS: &[Parameter<Settings>] = &[
    Parameter {
        key: "fit",
        values: "best or first",
        meaning: "which of the nodes that suit are taken",
        applies: |_| true,
        get: |s| s.fit.word(),
        set: |s, word| Word::read(&mut s.fit, word),
    },
    Parameter {
        key: "admission",
        values: "share or risk",
        meaning: "what must hold on a node with the job on it",
        applies: |_| true,
        get: |s| s.admission.word(),
        set: |s, word| Word::read(&mut s.admission, word),
    },
    Parameter {
        key: "pricing",
        values: "incentive or utilisation",
        meaning: "what a job costs in the commodity market",
        applies: |_| true,
        get: |s| s.pricing.word(),
        set: |s, word| Word::read(&mut s.pricing, word),
    },
    Parameter {
        key: "overrun",
        values: "full, zero, keep or one-second",
        meaning: "the share of a task that outlived its estimate",
        applies: |_| true,
        get: |s| s.overrun.word(),
        set: |s, word| Word::read(&mut s.overrun, word),
    },
    Parameter {
        key: "expired",
        values: "full, zero, keep or one-second",
        meaning: "the share of a task that outlived its deadline",
        applies: |_| true,
        get: |s| s.expired.word(),
        set: |s, word| Word::read(&mut s.expired, word),
    },
];
