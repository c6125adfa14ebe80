//! The first level: the table of other sites, and the jobs of this site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Span, UserId};

use super::mass::{BIN, N_BINS, RunMass, bin};
use super::mixture::{Component, LevelMixture};
use super::weights::{Cell, ComponentWeights};

/// The weight that a job keeps after jobs of weight 1 ended: about the last 300 count.
const KEPT: f64 = 0.997;
/// The same among jobs with nearly the same request.
const KEPT_NEAR: f64 = 0.99;
/// The same of the recent jobs of a user, of which the next counts the less.
const KEPT_RECENT: f64 = 0.995;
/// The width of a bin of requests, as a logarithm.
const REQUEST_BIN: f64 = 0.35;
/// The least weight of jobs of other users for a site to be known.
const MIN_OTHERS: f64 = 0.5;
/// The least weight of jobs with nearly the same request.
const MIN_NEAR: f64 = 3.0;
/// The part of its request that a job may use and keep to it, as a logarithm.
const OVERRUN: f64 = 0.05;
/// How far beyond its request a job is that no limit ended, as a logarithm: sites that end jobs at their limits allow them
/// some grace.
const UNLIMITED: f64 = 0.2;
/// The jobs that are assumed before any is known: overruns, and all.
const ASSUMED_OVERRUNS: (f64, f64) = (0.4, 4.0);

/// The scales of the kernels of the components.
const RATIO: f64 = 0.1;
const WIDE: f64 = 0.8;
const RUN: f64 = 0.5;
const TABLE: f64 = 0.05;
const ESTIMATE: f64 = 0.9;
const UNKNOWN: f64 = 2.0;
/// How far below its request the shorter part of jobs ends, as a logarithm, and its mass: users estimate some
/// jobs and give limits to others.
const SHORTER: f64 = 1.2;
const SHORTER_MASS: f64 = 0.4;
/// Number of points that stand for the table between two levels.
const POINTS: usize = 8;

/// Masses by bin, of which old ones fade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FadingMasses {
    total: f64,
    bins: Vec<f64>,
}

impl FadingMasses {
    fn new(n_bins: usize) -> Self {
        Self {
            total: 0.0,
            bins: vec![0.0; n_bins],
        }
    }

    fn fade(&mut self, kept: f64) {
        self.total *= kept;
        self.bins.iter_mut().for_each(|mass| *mass *= kept);
    }

    fn add(&mut self, ln_run: f64, weight: f64) {
        self.total += weight;
        let mut run = RunMass::default();
        run.add(ln_run, weight);
        for (own, mass) in self.bins.iter_mut().zip(run.0) {
            *own += mass;
        }
    }

    fn mass(&self) -> Option<RunMass> {
        let mut mass = RunMass::default();
        mass.0.copy_from_slice(&self.bins);
        mass.normalised()
    }
}

/// The jobs of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SiteHistory {
    runs: FadingMasses,
    /// Run times less requests, from -[`N_BINS`] to [`N_BINS`] bins.
    ratios: FadingMasses,
    by_request: BTreeMap<i16, FadingMasses>,
    /// Weights of the jobs that outlived their requests, and of all jobs with requests.
    overruns: (f64, f64),
    users: BTreeMap<UserId, UserPart>,
    /// The weight of all jobs that ever ended.
    clock: f64,
}

/// The part of a user in a site, as of some clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct UserPart {
    recent: f64,
    weight: f64,
    clock: f64,
}

impl Default for SiteHistory {
    fn default() -> Self {
        Self {
            runs: FadingMasses::new(N_BINS),
            ratios: FadingMasses::new(2 * N_BINS),
            by_request: BTreeMap::new(),
            overruns: (0.0, 0.0),
            users: BTreeMap::new(),
            clock: 0.0,
        }
    }
}

impl SiteHistory {
    /// Returns the level of a job; the weights by cell are `weights`.
    pub(crate) fn level(
        &self,
        user: UserId,
        ln_request: Option<f64>,
        default_runtime: Span,
        weights: impl FnOnce(Cell) -> ComponentWeights,
    ) -> LevelMixture {
        let others = self.weight_of_others(user);
        let mut parts = Parts::default();
        match ln_request {
            Some(ln_request) => {
                parts.add(5, table(ln_request), TABLE);
                parts.add(6, estimate(ln_request), ESTIMATE);
                if others >= MIN_OTHERS {
                    self.add_by_request(&mut parts, ln_request);
                }
            }
            None => {
                let mut usual = RunMass::default();
                usual.add(default_runtime.as_secs_f64().max(1.0).ln(), 1.0);
                parts.add(6, usual, UNKNOWN);
            }
        }
        if let Some(runs) = self.runs.mass().filter(|_| others >= MIN_OTHERS) {
            parts.add(2, runs, RUN);
        }
        let cell = Cell::Site {
            evidence: evidence(others),
            has_request: ln_request.is_some(),
        };
        LevelMixture::new(
            cell,
            None,
            parts.histograms,
            parts.components,
            &weights(cell),
        )
    }

    fn add_by_request(&self, parts: &mut Parts, ln_request: f64) {
        if let Some(ratios) = self.ratios_at(ln_request) {
            parts.add(0, ratios, RATIO);
            parts.add_again(1, WIDE);
        }
        let near = self.by_request.get(&request_bin(ln_request));
        let near = near.filter(|near| near.total >= MIN_NEAR);
        if let Some(near) = near.and_then(FadingMasses::mass) {
            parts.add(3, near, RATIO);
            parts.add_again(4, WIDE);
        }
    }

    /// Returns the run times of jobs with this request, by the ratios of all.
    fn ratios_at(&self, ln_request: f64) -> Option<RunMass> {
        let shift = (ln_request / BIN).round() as usize;
        let mut mass = RunMass::default();
        for (at, ratio) in self.ratios.bins.iter().enumerate() {
            mass.0[(at + shift).saturating_sub(N_BINS).min(N_BINS - 1)] += ratio;
        }
        mass.normalised()
    }

    /// Returns the part of the jobs that outlive their requests.
    pub(crate) fn overrun(&self) -> f64 {
        let (over, all) = self.overruns;
        (over + ASSUMED_OVERRUNS.0) / (all + ASSUMED_OVERRUNS.1)
    }

    fn weight_of_others(&self, user: UserId) -> f64 {
        let own = self.users.get(&user);
        let own = own.map_or(0.0, |own| own.weight * KEPT.powf(self.clock - own.clock));
        self.runs.total - own
    }

    /// Learns the run time, a logarithm, of the task of a batch that was the `rank`-th to end. A batch counts
    /// about once, and a user the less the more of the last jobs are theirs.
    pub(crate) fn learn(&mut self, user: UserId, rank: u32, ln_request: Option<f64>, ln_run: f64) {
        let in_batch = 1.0 / f64::from(rank).powi(2);
        let own = self.users.entry(user).or_default();
        let since = self.clock - own.clock;
        own.recent *= KEPT_RECENT.powf(since);
        let weight = in_batch / (1.0 + own.recent).sqrt();
        own.recent += in_batch;
        self.clock += weight;
        own.weight = own.weight * KEPT.powf(since + weight) + weight;
        own.clock = self.clock;
        let kept = KEPT.powf(weight);
        self.runs.fade(kept);
        self.runs.add(ln_run, weight);
        if let Some(ln_request) = ln_request {
            self.learn_request(ln_request, ln_run, weight);
        }
    }

    fn learn_request(&mut self, ln_request: f64, ln_run: f64, weight: f64) {
        let kept = KEPT.powf(weight);
        self.ratios.fade(kept);
        let ratio = ((ln_run - ln_request) / BIN).round() as i64 + N_BINS as i64;
        self.ratios.bins[ratio.clamp(0, 2 * N_BINS as i64 - 1) as usize] += weight;
        let over = f64::from(u8::from(ln_run - ln_request > OVERRUN));
        self.overruns.0 = self.overruns.0 * kept + over * weight;
        self.overruns.1 = self.overruns.1 * kept + weight;
        let near = self.by_request.entry(request_bin(ln_request));
        let near = near.or_insert_with(|| FadingMasses::new(N_BINS));
        near.fade(KEPT_NEAR.powf(weight));
        near.add(ln_run, weight);
    }
}

/// Returns whether a run time shows that its request was no limit; both are logarithms.
pub(crate) fn is_unlimited(ln_run: f64, ln_request: f64) -> bool {
    ln_run - ln_request > UNLIMITED
}

/// Limits a belief about a job with this request: mass beyond it moves to the request, but for a part of `overrun`. That is
/// how often such jobs outlive their requests.
pub(crate) fn limit(mass: &mut RunMass, ln_request: f64, overrun: f64) {
    let limit = bin(ln_request + OVERRUN);
    let beyond: f64 = mass.0[limit + 1..].iter().sum();
    if beyond > overrun {
        mass.0[limit + 1..]
            .iter_mut()
            .for_each(|mass| *mass *= overrun / beyond);
        mass.0[bin(ln_request)] += beyond - overrun;
    }
}

/// The components of the site's level as they are collected.
#[derive(Default)]
struct Parts {
    histograms: Vec<RunMass>,
    components: Vec<Component>,
}

impl Parts {
    fn add(&mut self, at: usize, histogram: RunMass, scale: f64) {
        self.histograms.push(histogram);
        self.add_again(at, scale);
    }

    /// Adds a component with the last histogram.
    fn add_again(&mut self, at: usize, scale: f64) {
        self.components.push(Component {
            at,
            histogram: self.histograms.len() - 1,
            scale: Some(scale),
        });
    }
}

fn request_bin(ln_request: f64) -> i16 {
    (ln_request / REQUEST_BIN).floor() as i16
}

fn evidence(weight: f64) -> u8 {
    match weight {
        ..MIN_OTHERS => 0,
        ..2.5 => 1,
        ..6.0 => 2,
        ..15.0 => 3,
        ..50.0 => 4,
        _ => 5,
    }
}

/// Returns the run times of [`Distribution::of_request`].
fn table(ln_request: f64) -> RunMass {
    let request_s = ln_request.exp();
    let table = Distribution::of_request(Span::from_secs_f64(request_s));
    let quantiles = table.quantiles().iter().map(|span| span.as_secs_f64());
    let levels = tollgate_model::distribution::LEVELS.map(|level| level.as_f64());
    let ends = levels
        .into_iter()
        .zip(quantiles)
        .chain([(1.0, 2.0 * request_s)]);
    let mut mass = RunMass::default();
    let mut from = (0.0, 0.2 * table.quantiles()[0].as_secs_f64());
    for (level, secs) in ends {
        let (low, high) = (from.1.ln(), secs.ln());
        for point in 0..POINTS {
            let at = (point as f64 + 0.5) / POINTS as f64;
            mass.add(low + at * (high - low), (level - from.0) / POINTS as f64);
        }
        from = (level, secs);
    }
    mass
}

/// Returns the run times where a request is an estimate.
fn estimate(ln_request: f64) -> RunMass {
    let mut mass = RunMass::default();
    mass.add(ln_request, 1.0 - SHORTER_MASS);
    mass.add(ln_request - SHORTER, SHORTER_MASS);
    mass
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: UserId = UserId(1);

    #[test]
    fn batch_of_500_tasks_weighs_less_than_two_jobs() {
        let mut site = SiteHistory::default();
        for rank in 1..=500 {
            site.learn(USER, rank, None, 3.0);
        }
        assert!(
            (1.2..1.65).contains(&site.runs.total),
            "{}",
            site.runs.total
        );
    }

    #[test]
    fn own_jobs_are_no_evidence_of_the_site() {
        let mut site = SiteHistory::default();
        for _ in 0..20 {
            site.learn(USER, 1, Some(6.0), 3.0);
        }
        assert!(site.weight_of_others(USER).abs() < 1e-9);
        assert!(site.weight_of_others(UserId(2)) > 5.0);
    }

    #[test]
    fn mass_beyond_the_request_is_limited_by_the_overruns_of_the_site() {
        let site = SiteHistory::default();
        let mut mass = RunMass::default();
        mass.add(2.0, 0.5);
        mass.add(8.0, 0.5);
        limit(&mut mass, 5.0, site.overrun());
        assert!((mass.0[bin(8.0)] - 0.1).abs() < 1e-9);
        assert!((mass.0[bin(5.0)] - 0.4).abs() < 1e-9);
        let mut tolerant = SiteHistory::default();
        for user in 0..100 {
            tolerant.learn(UserId(user), 1, Some(5.0), 6.0);
        }
        assert!(tolerant.overrun() > 0.9, "{}", tolerant.overrun());
    }

    #[test]
    fn table_has_the_quantiles_of_other_sites() {
        let request = Span::from_secs(86_400);
        let known = Distribution::of_request(request);
        let mass = table(request.as_secs_f64().ln());
        assert!((mass.total() - 1.0).abs() < 1e-9);
        for level in [0.3, 0.5, 0.8] {
            let level = tollgate_model::Probability::new(level).unwrap();
            let expected = known.quantile(level).as_secs_f64().ln();
            assert!(
                (mass.quantile(level.as_f64()) - expected).abs() < 0.15,
                "{level}"
            );
        }
    }
}
