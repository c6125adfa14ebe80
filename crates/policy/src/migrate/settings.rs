//! The axes of the family, and their words.

use crate::parameters::{ParameterEnum, PolicyParameter, read_number};

/// A migration policy: how a site is valued, and which move follows from the values of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigrationParams {
    /// How a site is valued.
    pub value: SiteValuation,
    /// Where the speed of a site enters eq. (4).
    pub flops: SpeedTerm,
    /// Over how many ticks eq. (4) sums; at least 1.
    pub history: u32,
    /// How many ticks a proxy runs; positive.
    pub run_ticks: f64,
    /// The wait of a site at which no proxy has started yet, in ticks.
    pub first_wait: f64,
    /// How much the latest wait counts against those before, above 0, at most 1.
    pub weight: f64,
    /// How much waits that were seen count, 0 to 1; the rest is the share of proxies that run now.
    pub waits: f64,
    /// By how many imagined proxies, half of them running, that share is steadied; positive.
    pub prior_proxies: f64,
    /// What a site is worth whose limit on running proxies may be used up.
    pub limit_rule: RunLimitRule,
    /// Who gives.
    pub donor: DonorRule,
    /// Which of the donor's pending proxies moves.
    pub proxy_choice: ProxyChoice,
    /// How many pending proxies a donor keeps.
    pub keep: u32,
    /// No move if the best value is less than this times the worst; 1 or more.
    pub stop: f64,
    /// No move by which the proxy itself would lose.
    pub guard: bool,
    /// What is left of a wait at least, in ticks, however long a proxy has waited; for `guard`.
    pub min_wait_left: f64,
    /// How many proxies a round moves at most.
    pub max_moves: u32,
}

/// How a site is valued: proxies go to the highest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteValuation {
    /// Not at all: nothing moves.
    Nothing,
    /// Liability-adjusted throughput, eq. (4) of Walker 2009.
    Liability,
    /// What a proxy does there a tick: speed x the part of its time that it runs.
    Rate,
}

/// What a limit on running proxies does to the value of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimitRule {
    /// Nothing.
    Ignored,
    /// Next to nothing of the value is left where all but one of the limit are expected to run.
    Expected,
    /// The value is multiplied by the probability that fewer than the limit run.
    Chance,
}

/// Where the speed of a site, its normalised FLOPS rate F, enters eq. (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedTerm {
    /// S F R - S F P, as printed.
    Both,
    /// S F R - S P.
    Throughput,
    /// S R - S P.
    Neither,
}

/// Who gives a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DonorRule {
    /// The site of the lowest value, or nobody.
    Lowest,
    /// The lowest that can.
    NextLowest,
}

/// Which pending proxy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyChoice {
    /// The one that has waited least.
    Newest,
    /// The one that has waited longest.
    Oldest,
    /// Any.
    Random,
}

impl MigrationParams {
    /// As Walker (2009) has it.
    pub const DEFAULT: Self = Self {
        value: SiteValuation::Liability,
        flops: SpeedTerm::Both,
        history: 10,
        run_ticks: 5.0,
        first_wait: 11.0,
        weight: 0.4,
        waits: 1.0,
        prior_proxies: 2.0,
        limit_rule: RunLimitRule::Ignored,
        donor: DonorRule::Lowest,
        proxy_choice: ProxyChoice::Newest,
        keep: 1,
        stop: 1.0,
        guard: false,
        min_wait_left: 1.0,
        max_moves: 1,
    };
}

impl ParameterEnum for RunLimitRule {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("ignored", Self::Ignored),
        ("expected", Self::Expected),
        ("chance", Self::Chance),
    ];
}

impl ParameterEnum for SpeedTerm {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("both", Self::Both),
        ("throughput", Self::Throughput),
        ("neither", Self::Neither),
    ];
}

impl ParameterEnum for DonorRule {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("lowest", Self::Lowest), ("next", Self::NextLowest)];
}

impl ParameterEnum for ProxyChoice {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("newest", Self::Newest),
        ("oldest", Self::Oldest),
        ("random", Self::Random),
    ];
}

const fn applies_to_any(settings: &MigrationParams) -> bool {
    !matches!(settings.value, SiteValuation::Nothing)
}

const fn applies_to_liability(settings: &MigrationParams) -> bool {
    matches!(settings.value, SiteValuation::Liability)
}

const fn applies_to_rate(settings: &MigrationParams) -> bool {
    matches!(settings.value, SiteValuation::Rate)
}

/// Sets `place` to a number within `range`; false if `word` is none.
fn read_within(place: &mut f64, word: &str, least: f64, most: f64) -> bool {
    let mut number = 0.0;
    let fits = read_number(&mut number, word) && (least..=most).contains(&number);
    if fits {
        *place = number;
    }
    fits
}

/// Sets `place` to a whole number within `range`; false if `word` is none.
fn read_count(place: &mut u32, word: &str, least: u32, most: u32) -> bool {
    match word.parse() {
        Ok(number) if (least..=most).contains(&number) => {
            *place = number;
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// Every setting that words can change.
pub(crate) const PARAMETERS: &[PolicyParameter<MigrationParams>] = &[
    PolicyParameter {
        key: "flops",
        values: "both, throughput or neither",
        meaning: "where the speed of a site enters eq. (4)",
        applies: applies_to_liability,
        get: |s| s.flops.keyword(),
        set: |s, word| SpeedTerm::read(&mut s.flops, word),
    },
    PolicyParameter {
        key: "history",
        values: "a whole number from 1 to 10000",
        meaning: "over how many ticks eq. (4) sums",
        applies: applies_to_liability,
        get: |s| s.history.to_string(),
        set: |s, word| read_count(&mut s.history, word, 1, 10_000),
    },
    PolicyParameter {
        key: "run",
        values: "a number from 0.001 to 1e6",
        meaning: "how many ticks a proxy runs",
        applies: applies_to_rate,
        get: |s| s.run_ticks.to_string(),
        set: |s, word| read_within(&mut s.run_ticks, word, 1e-3, 1e6),
    },
    PolicyParameter {
        key: "first-wait",
        values: "a number from 0 to 1e6",
        meaning: "the wait in ticks of a site at which no proxy has started yet",
        applies: applies_to_rate,
        get: |s| s.first_wait.to_string(),
        set: |s, word| read_within(&mut s.first_wait, word, 0.0, 1e6),
    },
    PolicyParameter {
        key: "weight",
        values: "a number from 0.001 to 1",
        meaning: "how much the latest wait counts against those before",
        applies: applies_to_rate,
        get: |s| s.weight.to_string(),
        set: |s, word| read_within(&mut s.weight, word, 1e-3, 1.0),
    },
    PolicyParameter {
        key: "waits",
        values: "a number from 0 to 1",
        meaning: "how much waits that were seen count beside the share that runs now",
        applies: applies_to_rate,
        get: |s| s.waits.to_string(),
        set: |s, word| read_within(&mut s.waits, word, 0.0, 1.0),
    },
    PolicyParameter {
        key: "steadied",
        values: "a number from 0.001 to 1e6",
        meaning: "by how many imagined proxies that share is steadied",
        applies: applies_to_rate,
        get: |s| s.prior_proxies.to_string(),
        set: |s, word| read_within(&mut s.prior_proxies, word, 1e-3, 1e6),
    },
    PolicyParameter {
        key: "room",
        values: "ignored, expected or chance",
        meaning: "what a limit on running proxies does to the value of a site",
        applies: applies_to_rate,
        get: |s| s.limit_rule.keyword(),
        set: |s, word| RunLimitRule::read(&mut s.limit_rule, word),
    },
    PolicyParameter {
        key: "donor",
        values: "lowest or next",
        meaning: "which site gives: the lowest value or none, or the lowest that can",
        applies: applies_to_any,
        get: |s| s.donor.keyword(),
        set: |s, word| DonorRule::read(&mut s.donor, word),
    },
    PolicyParameter {
        key: "moved",
        values: "newest, oldest or random",
        meaning: "which pending proxy of the donor moves, by how long it has waited",
        applies: applies_to_any,
        get: |s| s.proxy_choice.keyword(),
        set: |s, word| ProxyChoice::read(&mut s.proxy_choice, word),
    },
    PolicyParameter {
        key: "keep",
        values: "a whole number from 0 to 1000",
        meaning: "how many pending proxies a donor keeps",
        applies: applies_to_any,
        get: |s| s.keep.to_string(),
        set: |s, word| read_count(&mut s.keep, word, 0, 1000),
    },
    PolicyParameter {
        key: "stop",
        values: "a number from 1 to 1e6",
        meaning: "no move if the best value is less than this times the worst",
        applies: applies_to_any,
        get: |s| s.stop.to_string(),
        set: |s, word| read_within(&mut s.stop, word, 1.0, 1e6),
    },
    PolicyParameter {
        key: "guard",
        values: "true or false",
        meaning: "no move by which the proxy itself would lose",
        applies: applies_to_rate,
        get: |s| s.guard.keyword(),
        set: |s, word| bool::read(&mut s.guard, word),
    },
    PolicyParameter {
        key: "moves",
        values: "a whole number from 1 to 1000",
        meaning: "how many proxies a round moves at most",
        applies: applies_to_any,
        get: |s| s.max_moves.to_string(),
        set: |s, word| read_count(&mut s.max_moves, word, 1, 1000),
    },
];
