//! The settings of the tail family.

use crate::parameters::{ParameterEnum, PolicyParameter};

/// What a deadline says about its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineTrust {
    /// That it can be met: nobody asks for what is impossible.
    Trusted,
    /// Nothing: a job that may be longer than its deadline is kept out.
    Tested,
}

/// A policy that admits by the tail of distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailParams {
    /// The probability with which promises on a node may break. Above 0, below 1.
    pub bound: f64,
    /// What a deadline says about its job.
    pub deadlines: DeadlineTrust,
}

impl TailParams {
    /// What a policy does not set. The bound was chosen on KTH SP2, LANL CM-5 and SDSC Blue Horizon.
    pub const DEFAULT: Self = Self {
        bound: 0.01,
        deadlines: DeadlineTrust::Trusted,
    };

    /// The probability with which a task needs no longer than it is taken to need.
    pub(super) fn level(&self) -> f64 {
        1.0 - self.bound
    }
}

impl ParameterEnum for DeadlineTrust {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("trusted", Self::Trusted), ("tested", Self::Tested)];
}

fn read_bound(place: &mut f64, word: &str) -> bool {
    let bound = word
        .parse()
        .ok()
        .filter(|&bound| 0.0 < bound && bound < 1.0);
    bound.map(|bound| *place = bound).is_some()
}

pub(crate) const PARAMETERS: &[PolicyParameter<TailParams>] = &[
    PolicyParameter {
        key: "bound",
        values: "a probability, above 0 and below 1",
        meaning: "with what probability promises on a node may break",
        applies: |_| true,
        get: |s| s.bound.to_string(),
        set: |s, word| read_bound(&mut s.bound, word),
    },
    PolicyParameter {
        key: "deadlines",
        values: "trusted or tested",
        meaning: "whether a deadline is taken to be long enough for its job",
        applies: |_| true,
        get: |s| s.deadlines.keyword(),
        set: |s, word| ParameterEnum::read(&mut s.deadlines, word),
    },
];
