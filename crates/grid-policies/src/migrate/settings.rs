//! The axes of the migration family, and their parser.

use tollgate_policy::{ParameterEnum, ParameterTable, PolicyParameter, read_number};

/// The parameters of a migration policy: the valuation of a site, and the choice of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigrationParams {
    /// The valuation of a site.
    pub value: SiteValuation,
    /// The place of a site's speed in eq. (4).
    pub flops: SpeedTerm,
    /// Number of ticks over which eq. (4) sums; at least 1.
    pub history: u32,
    /// Number of ticks a proxy runs; positive.
    pub run_ticks: f64,
    /// The assumed wait at a site where no proxy has started yet, in ticks.
    pub first_wait: f64,
    /// Weight of the latest wait against earlier waits, above 0, at most 1.
    pub weight: f64,
    /// Weight of measured waits, 0 to 1; the rest is the weight of the share of proxies that run
    /// now.
    pub waits: f64,
    /// Number of imagined proxies, half of them running, that smooth the share of running proxies;
    /// positive.
    pub prior_proxies: f64,
    /// The effect of a site's limit on running proxies.
    pub limit_rule: RunLimitRule,
    /// The choice of the donor.
    pub donor: DonorRule,
    /// The choice of the donor's pending proxy to move.
    pub proxy_choice: ProxyChoice,
    /// Number of pending proxies a donor keeps.
    pub keep: u32,
    /// No move if the best value is less than this times the worst; at least 1.
    pub stop: f64,
    /// True if a move is dropped when the proxy itself would lose by it.
    pub guard: bool,
    /// Minimum remaining wait, in ticks, however long a proxy has waited; for `guard`.
    pub min_wait_left: f64,
    /// Maximum number of moves per round.
    pub max_moves: u32,
}

/// The valuation of a site: proxies go to the highest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteValuation {
    /// No valuation: nothing moves.
    Nothing,
    /// Liability-adjusted throughput, eq. (4) of Walker 2009.
    Liability,
    /// Work of a proxy per tick at the site: speed x the fraction of its time that it runs.
    Rate,
}

/// The effect of a limit on running proxies on the value of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimitRule {
    /// No effect.
    Ignored,
    /// The value drops to almost nothing where all but one of the limit are expected to run.
    Expected,
    /// The value is multiplied by the probability that fewer than the limit run.
    Chance,
}

/// The place of a site's speed, its normalised FLOPS rate F, in eq. (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedTerm {
    /// S F R - S F P, as printed.
    Both,
    /// S F R - S P.
    Throughput,
    /// S R - S P.
    Neither,
}

/// The choice of the site that gives a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DonorRule {
    /// The site of the lowest value, or none.
    Lowest,
    /// The site of the lowest value among those that can give.
    NextLowest,
}

/// The choice of the pending proxy that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyChoice {
    /// The proxy that has waited least.
    Newest,
    /// The proxy that has waited longest.
    Oldest,
    /// Any proxy.
    Random,
}

impl MigrationParams {
    /// The defaults, as in Walker (2009).
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

    /// Returns the parameters for ticks of a second, where a proxy runs for `run_s` seconds; at
    /// least 1. Times in ticks keep their ratio to the time that a proxy runs.
    #[must_use]
    pub fn in_seconds(self, run_s: f64) -> Self {
        let run_s = run_s.max(1.0);
        let scale = run_s / self.run_ticks;
        Self {
            run_ticks: run_s,
            first_wait: self.first_wait * scale,
            min_wait_left: self.min_wait_left * scale,
            ..self
        }
    }
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

/// Sets `place` to a number within the range; returns false if `word` is not such a number.
fn read_within(place: &mut f64, word: &str, least: f64, most: f64) -> bool {
    let mut number = 0.0;
    let fits = read_number(&mut number, word) && (least..=most).contains(&number);
    if fits {
        *place = number;
    }
    fits
}

/// Sets `place` to a whole number within the range; returns false if `word` is not such a number.
fn read_count(place: &mut u32, word: &str, least: u32, most: u32) -> bool {
    match word.parse() {
        Ok(number) if (least..=most).contains(&number) => {
            *place = number;
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// Every parameter of the family.
impl ParameterTable for MigrationParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = &[
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
}
