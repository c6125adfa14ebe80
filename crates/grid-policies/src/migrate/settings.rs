//! The axes of the migration family, and their parser.

use tollgate_federation::{DonorSearch, MoveRule, MoveRuleError};
use tollgate_policy::{ParameterEnum, ParameterTable, PolicyParameter, parameter_table};

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

    /// Returns the rule by which the agents of sites decide a round as [`choose`](super::choose()) does.
    ///
    /// # Errors
    /// `stop` is below 1 or not finite.
    pub fn move_rule(&self) -> Result<MoveRule, MoveRuleError> {
        let donors = match self.donor {
            DonorRule::Lowest => DonorSearch::Lowest,
            DonorRule::NextLowest => DonorSearch::Upwards,
        };
        let rule = MoveRule::new(self.stop, self.guard)?;
        Ok(rule.with_keep(self.keep).with_donors(donors))
    }

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

/// Every parameter of the family.
impl ParameterTable for MigrationParams {
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "flops" => Word(flops): "where the speed of a site enters eq. (4)" if applies_to_liability;
        "history" => Count(history in 1..=10_000, "a whole number from 1 to 10000"):
            "over how many ticks eq. (4) sums" if applies_to_liability;
        "run" => Number(run_ticks in 1e-3..=1e6, "a number from 0.001 to 1e6"):
            "how many ticks a proxy runs" if applies_to_rate;
        "first-wait" => Number(first_wait in 0.0..=1e6, "a number from 0 to 1e6"):
            "the wait in ticks of a site at which no proxy has started yet" if applies_to_rate;
        "weight" => Number(weight in 1e-3..=1.0, "a number from 0.001 to 1"):
            "how much the latest wait counts against those before" if applies_to_rate;
        "waits" => Number(waits in 0.0..=1.0, "a number from 0 to 1"):
            "how much waits that were seen count beside the share that runs now" if applies_to_rate;
        "steadied" => Number(prior_proxies in 1e-3..=1e6, "a number from 0.001 to 1e6"):
            "by how many imagined proxies that share is steadied" if applies_to_rate;
        "room" => Word(limit_rule):
            "what a limit on running proxies does to the value of a site" if applies_to_rate;
        "donor" => Word(donor):
            "which site gives: the lowest value or none, or the lowest that can" if applies_to_any;
        "moved" => Word(proxy_choice):
            "which pending proxy of the donor moves, by how long it has waited" if applies_to_any;
        "keep" => Count(keep in 0..=1000, "a whole number from 0 to 1000"):
            "how many pending proxies a donor keeps" if applies_to_any;
        "stop" => Number(stop in 1.0..=1e6, "a number from 1 to 1e6"):
            "no move if the best value is less than this times the worst" if applies_to_any;
        "guard" => Word(guard): "no move by which the proxy itself would lose" if applies_to_rate;
        "moves" => Count(max_moves in 1..=1000, "a whole number from 1 to 1000"):
            "how many proxies a round moves at most" if applies_to_any;
    };
}
