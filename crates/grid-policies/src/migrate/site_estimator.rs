//! The measurements of a site, and the value derived from them.

use super::choose::SiteScore;
use super::settings::{MigrationParams, RunLimitRule, SiteValuation, SpeedTerm};

/// A site's observable state at the end of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteObservation {
    /// Speed of the site's processors relative to a baseline; positive.
    pub flops: f64,
    /// Number of processors of a proxy at the site; positive.
    pub size: f64,
    /// Number of the session's running proxies.
    pub running: u32,
    /// Number of the session's proxies that wait to be dispatched.
    pub pending: u32,
    /// Ticks that the oldest pending proxy has waited; 0 without pending proxies.
    pub oldest: u32,
    /// Ticks that the newest pending proxy has waited; 0 without pending proxies.
    pub newest: u32,
    /// Maximum number of the session's proxies that may run at the site, if known.
    pub limit: Option<u32>,
}

/// The estimator of one site's value from the site's own measurements. It is notified of each
/// dispatched proxy ([`SiteEstimator::record_start`]), and sampled once per tick
/// ([`SiteEstimator::sample`]), apart from [`SiteEstimator::steady_ticks`].
#[derive(Clone, Debug)]
pub struct SiteEstimator {
    settings: MigrationParams,
    /// Eq. (3) over the ticks before the latest, oldest first.
    adjusted: Vec<f64>,
    wait: Option<f64>,
}

impl SiteEstimator {
    /// Creates the estimator of a site without measurements.
    pub const fn new(settings: MigrationParams) -> Self {
        Self {
            settings,
            adjusted: Vec::new(),
            wait: None,
        }
    }

    /// Records that a proxy was dispatched at the site after `waited` ticks.
    pub fn record_start(&mut self, waited: u32) {
        let waited = f64::from(waited);
        let wait = self.wait.get_or_insert(waited);
        *wait += self.settings.weight * (waited - *wait);
    }

    /// Returns the wait of proxies at the site, in ticks: the measured wait, or longer if the
    /// oldest proxy still waits.
    pub fn wait(&self, sighting: &SiteObservation) -> f64 {
        let seen = self.wait.unwrap_or(self.settings.first_wait);
        let oldest = f64::from(sighting.oldest);
        if sighting.pending > 0 && oldest > seen {
            return oldest + 1.0;
        }
        seen
    }

    /// Returns the site's score at the end of a tick.
    pub fn sample(&mut self, sighting: &SiteObservation) -> SiteScore {
        let wait = self.wait(sighting);
        SiteScore {
            value: self.value(sighting, wait),
            flops: sighting.flops,
            wait,
            pending: sighting.pending,
            newest: sighting.newest,
        }
    }

    /// Returns the number of ticks after this one that need no sample as long as no proxy at the site is
    /// dispatched, ends, arrives or leaves. The score would stay the same but for [`SiteScore::newest`].
    pub fn steady_ticks(&self, sighting: &SiteObservation) -> u32 {
        match self.settings.value {
            SiteValuation::Nothing => u32::MAX,
            SiteValuation::Liability => 0,
            SiteValuation::Rate if sighting.pending == 0 => u32::MAX,
            SiteValuation::Rate => {
                // The wait changes once the oldest proxy has waited longer than the measured wait.
                let seen = self.wait.unwrap_or(self.settings.first_wait);
                (seen as u32).saturating_sub(sighting.oldest)
            }
        }
    }

    fn value(&mut self, sighting: &SiteObservation, wait: f64) -> f64 {
        let (running, pending) = (f64::from(sighting.running), f64::from(sighting.pending));
        match self.settings.value {
            SiteValuation::Nothing => 0.0,
            SiteValuation::Liability => self.liability(sighting, running, pending),
            SiteValuation::Rate => {
                let runs = self.running_fraction(sighting, wait);
                sighting.flops * runs * self.limit_factor(sighting, runs)
            }
        }
    }

    /// Estimates the fraction of its time that a proxy runs at the site, from waits and present
    /// counts.
    fn running_fraction(&self, sighting: &SiteObservation, wait: f64) -> f64 {
        let MigrationParams {
            run_ticks,
            waits,
            prior_proxies: steadied,
            ..
        } = self.settings;
        let all = f64::from(sighting.running + sighting.pending);
        let now = (f64::from(sighting.running) + steadied / 2.0) / (all + steadied);
        waits * run_ticks / (run_ticks + wait) + (1.0 - waits) * now
    }

    /// Returns the factor by which the site's limit reduces its value, if each proxy runs for this
    /// fraction of its time.
    fn limit_factor(&self, sighting: &SiteObservation, part: f64) -> f64 {
        let Some(limit) = sighting.limit else {
            return 1.0;
        };
        let all = sighting.running + sighting.pending;
        match self.settings.limit_rule {
            RunLimitRule::Ignored => 1.0,
            RunLimitRule::Expected if f64::from(all) * part >= f64::from(limit) - 1.0 => {
                FULL_SITE_FACTOR
            }
            RunLimitRule::Expected => 1.0,
            RunLimitRule::Chance => probability_fewer_than(limit, all, part).max(MIN_CHANCE),
        }
    }

    fn liability(&mut self, sighting: &SiteObservation, running: f64, pending: f64) -> f64 {
        let flops = sighting.flops;
        let (gain, cost) = match self.settings.flops {
            SpeedTerm::Both => (flops, flops),
            SpeedTerm::Throughput => (flops, 1.0),
            SpeedTerm::Neither => (1.0, 1.0),
        };
        let adjusted = sighting.size * (gain * running - cost * pending);
        let value = liability_adjusted(adjusted, &self.adjusted);
        let older = self.settings.history as usize - 1;
        if self.adjusted.len() < older {
            self.adjusted.push(adjusted);
        } else if older > 0 {
            self.adjusted.copy_within(1.., 0);
            self.adjusted[older - 1] = adjusted;
        }
        value
    }
}

/// Factor left of the value of a full site: above zero, so that full sites still rank.
const FULL_SITE_FACTOR: f64 = 0.01;

/// Smallest factor left by the chance rule, for the same reason.
const MIN_CHANCE: f64 = 1e-9;

/// Returns the probability that fewer than `limit` of `all` proxies run, if each runs independently
/// for the fraction `part` of its time: the lower tail of a binomial distribution.
fn probability_fewer_than(limit: u32, all: u32, part: f64) -> f64 {
    if limit > all {
        return 1.0;
    }
    if part >= 1.0 {
        return 0.0;
    }
    let odds = part / (1.0 - part);
    let mut running = (0..all).fold(1.0, |chance, _| chance * (1.0 - part));
    let mut chance = 0.0;
    for count in 0..limit {
        chance += running;
        running *= odds * f64::from(all - count) / f64::from(count + 1);
    }
    chance.clamp(0.0, 1.0)
}

/// Returns eq. (4) of Walker 2009: the sum of adjusted throughputs (eq. 3), the n-th newest divided
/// by n, beginning with the newest.
pub fn liability_adjusted(newest: f64, oldest_first: &[f64]) -> f64 {
    let mut sum = newest;
    let mut place = 2.0;
    // Divisions take longer than anything else here, and processors divide two numbers at once.
    let mut pairs = oldest_first.rchunks_exact(2);
    for pair in pairs.by_ref() {
        let terms = [pair[1] / place, pair[0] / (place + 1.0)];
        sum = sum + terms[0] + terms[1];
        place += 2.0;
    }
    let oldest = pairs.remainder().iter().map(|oldest| oldest / place);
    oldest.fold(sum, |sum, term| sum + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(flops: f64, running: u32, pending: u32) -> SiteObservation {
        SiteObservation {
            flops,
            size: 32.0,
            running,
            pending,
            oldest: 1,
            newest: 1,
            limit: None,
        }
    }

    fn last_value(settings: MigrationParams, flops: f64, oldest_first: &[(u32, u32)]) -> f64 {
        let mut meter = SiteEstimator::new(settings);
        let values = oldest_first
            .iter()
            .map(|&(running, pending)| meter.sample(&shown(flops, running, pending)).value);
        values.last().unwrap()
    }

    #[test]
    fn worked_examples_of_equation_4() {
        let paper = MigrationParams::DEFAULT;
        assert_eq!(last_value(paper, 1.0, &[(3, 3), (4, 2)]), 64.0);
        let rising = [(6, 0), (5, 1), (4, 2), (3, 3), (2, 4), (1, 5)];
        let six = MigrationParams {
            history: 6,
            ..paper
        };
        assert!((last_value(six, 1.5, &rising) + 129.6).abs() < 1e-9);
        // Ticks beyond the history do not count.
        let longer: Vec<_> = [(0, 6), (0, 6)].iter().chain(&rising).copied().collect();
        assert!((last_value(six, 1.5, &longer) + 129.6).abs() < 1e-9);
    }

    #[test]
    fn speed_affects_only_the_configured_term() {
        let value = |flops| {
            let settings = MigrationParams {
                flops,
                ..MigrationParams::DEFAULT
            };
            last_value(settings, 2.0, &[(3, 1)])
        };
        assert_eq!(value(SpeedTerm::Both), 128.0);
        assert_eq!(value(SpeedTerm::Throughput), 160.0);
        assert_eq!(value(SpeedTerm::Neither), 64.0);
    }

    #[test]
    fn a_chance_is_the_tail_of_a_binomial_distribution() {
        // Two of three coins: 1/8 + 3/8.
        assert!((probability_fewer_than(2, 3, 0.5) - 0.5).abs() < 1e-12);
        assert!((probability_fewer_than(1, 4, 0.25) - 0.75f64.powi(4)).abs() < 1e-12);
        assert_eq!(probability_fewer_than(4, 3, 0.9), 1.0);
        assert_eq!(probability_fewer_than(2, 3, 1.0), 0.0);
        assert!(probability_fewer_than(4, 5000, 0.99) < 1e-9);
    }

    #[test]
    fn reachable_limit_lowers_the_site_value() {
        let value = |room, limit| {
            let mut meter = SiteEstimator::new(MigrationParams {
                value: SiteValuation::Rate,
                waits: 0.0,
                limit_rule: room,
                ..MigrationParams::DEFAULT
            });
            let sighting = SiteObservation {
                limit,
                ..shown(2.0, 3, 3)
            };
            meter.sample(&sighting).value
        };
        // Three of six run, and the speed is 2.
        assert_eq!(value(RunLimitRule::Chance, None), 1.0);
        assert_eq!(value(RunLimitRule::Ignored, Some(3)), 1.0);
        assert_eq!(value(RunLimitRule::Expected, Some(5)), 1.0);
        assert_eq!(value(RunLimitRule::Expected, Some(4)), 0.01);
        assert_eq!(value(RunLimitRule::Chance, Some(7)), 1.0);
        assert!((value(RunLimitRule::Chance, Some(1)) - 1.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn site_wait_is_at_least_the_current_wait_of_the_oldest_proxy() {
        let mut meter = SiteEstimator::new(MigrationParams::DEFAULT);
        let fresh = shown(1.0, 0, 1);
        assert_eq!(meter.wait(&fresh), 11.0);
        meter.record_start(4);
        assert_eq!(meter.wait(&fresh), 4.0);
        meter.record_start(9);
        assert_eq!(meter.wait(&fresh), 6.0);
        let old = SiteObservation { oldest: 7, ..fresh };
        assert_eq!(meter.wait(&old), 8.0);
        let gone = SiteObservation { pending: 0, ..old };
        assert_eq!(meter.wait(&gone), 6.0);
    }
}
