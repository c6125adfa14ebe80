//! The draws of possible runs: how long the jobs of each future run, as levels of what is believed of each.
//!
//! Jobs of one user are a little long or short together, those of a class more, and the tasks of a batch as
//! much as such batches were. In each future, the level of a job is that of a normal deviate with a part of
//! its user, its class, its batch and its own. Each is a one-factor copula (Vasicek 1987). A draw depends on
//! these, on the job's place in the order of submission and on the future alone, so a further job changes no
//! draw.

use std::collections::BTreeMap;

use tollgate_model::belief::{CORRELATIONS, N_CORRELATIONS};
use tollgate_model::{Kinship, Probability, UserId, normal};

/// Draws of all policies; any number serves.
const SEED: u64 = 0x746f_6c6c_6761_7465;
/// The correlation of the jobs of a user, as measured on archived traces.
const USER: f64 = 0.12;
/// The correlation of the jobs of a class.
const CLASS: f64 = 0.25;
/// The correlation of the starts of the hosts that are expected at a site: one queue holds them all back.
const SITE: f64 = 0.8;
/// Number of tasks of a block up to which each has a draw of its own.
const MAX_SINGLE: u32 = 16;

/// A block of equal jobs that are dispatched one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobBlock {
    pub(super) user: UserId,
    pub(super) kinship: Option<Kinship>,
    /// The place of the first job in the order of submission.
    pub(super) sequence: u64,
    /// Number of jobs. At least 1.
    pub(super) count: u32,
}

/// Some jobs of a block, and the level of the run time of each in one future.
pub(super) type DrawnJobs = (u32, Probability);

/// The common causes of long and short runs, each with its own draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    User(UserId),
    Class(u64),
    Batch(u64),
    /// How alike the tasks of a batch are.
    Correlation(u64),
    /// A job, by its place in the order of submission.
    Job(u64),
    /// The users of a host.
    Host(u64),
    /// The queue of a site.
    Site(u64),
    /// The start of a host that is expected, by its place among them.
    ExpectedHost(u64),
    /// Its end before its time.
    Preemption(u64),
}

/// The draws for some number of futures.
#[derive(Debug)]
pub(super) struct FutureDraws {
    n_futures: usize,
    /// By common cause: a level in each future.
    common: BTreeMap<Cause, Vec<f64>>,
}

impl FutureDraws {
    pub(super) fn new(n_futures: usize) -> Self {
        Self {
            n_futures,
            common: BTreeMap::new(),
        }
    }

    /// Returns the draws of a block in each future.
    pub(super) fn of(&mut self, block: &JobBlock) -> Vec<Vec<DrawnJobs>> {
        let common = self.common_parts(block);
        let n_single = block.count.min(MAX_SINGLE);
        let own: Vec<Vec<f64>> = (0..u64::from(n_single))
            .map(|nth| self.levels_of(Cause::Job(block.sequence.wrapping_add(nth))))
            .collect();
        let level = |future: usize, own: f64| -> f64 {
            let (shared, weight) = common[future];
            normal::cumulative(shared + weight * normal::quantile(own))
        };
        if block.count == 1 {
            let levels = (0..self.n_futures).map(|future| level(future, own[0][future]));
            let even = evenly_spaced(&levels.collect::<Vec<f64>>());
            return even.into_iter().map(|level| vec![(1, level)]).collect();
        }
        let futures = 0..self.n_futures;
        let drawn = futures.map(|future| {
            let single = block.count <= MAX_SINGLE;
            let parts = match single {
                true => own.iter().map(|own| (1, own[future])).collect(),
                false => strata(block.count, own[0][future], own[1][future]),
            };
            let drawn = parts.into_iter();
            drawn
                .map(|(count, own)| (count, probability(level(future, own))))
                .collect()
        });
        drawn.collect()
    }

    /// Returns, for each future, the common part of the deviates of a block and the weight of their own
    /// parts.
    fn common_parts(&mut self, block: &JobBlock) -> Vec<(f64, f64)> {
        let Some(kin) = block.kinship else {
            let user = self.common(Cause::User(block.user));
            let parts = user.iter().map(|&user| {
                let shared = USER.sqrt() * normal::quantile(user);
                (shared, (1.0 - USER).sqrt())
            });
            return parts.collect();
        };
        // A job that opens a batch is alone in it.
        let batch = match kin.batch {
            u64::MAX => Cause::Job(!block.sequence),
            batch => Cause::Batch(batch),
        };
        let causes = [
            Cause::User(block.user),
            Cause::Class(kin.class),
            batch,
            Cause::Correlation(kin.batch),
        ];
        let [user, class, batch, correlation] = causes.map(|cause| self.common(cause).to_vec());
        let parts = (0..self.n_futures).map(|future| {
            let within = correlation_at(&kin.correlations, correlation[future]);
            let (by_user, by_class) = (USER.min(within), CLASS.min(within));
            let shared = [
                (by_user, user[future]),
                (by_class - by_user, class[future]),
                (within - by_class, batch[future]),
            ];
            let shared = shared.map(|(share, level)| share.sqrt() * normal::quantile(level));
            (shared.iter().sum(), (1.0 - within).sqrt())
        });
        parts.collect()
    }

    fn common(&mut self, cause: Cause) -> &[f64] {
        let n_futures = self.n_futures;
        self.common
            .entry(cause)
            .or_insert_with(|| levels(cause, n_futures))
    }

    pub(super) const fn n_futures(&self) -> usize {
        self.n_futures
    }

    /// Returns the levels of the users of a host, given by its index, in each future; above 0 and below 1.
    pub(super) fn of_host(&self, host: usize) -> Vec<f64> {
        self.levels_of(Cause::Host(host as u64))
    }

    /// Returns the levels of the start of a host that is expected, given by the places of its site and its own, in each
    /// future.
    pub(super) fn of_expected_host(&mut self, site: usize, host: usize) -> Vec<Probability> {
        let site = self.common(Cause::Site(site as u64)).to_vec();
        let own = self.levels_of(Cause::ExpectedHost(host as u64));
        let levels = site.into_iter().zip(own).map(|(site, own)| {
            let [shared, own] = [(SITE, site), (1.0 - SITE, own)]
                .map(|(share, level)| share.sqrt() * normal::quantile(level));
            normal::cumulative(shared + own)
        });
        evenly_spaced(&levels.collect::<Vec<f64>>())
    }

    /// Returns the levels of the end of such a host before its time in each future.
    pub(super) fn of_preemption(&self, host: usize) -> Vec<Probability> {
        let levels = self.levels_of(Cause::Preemption(host as u64)).into_iter();
        levels.map(probability).collect()
    }

    fn levels_of(&self, cause: Cause) -> Vec<f64> {
        levels(cause, self.n_futures)
    }
}

/// Returns the levels of a cause in each future: (i + 1/2) / K for i < K, in an order that the cause
/// determines.
fn levels(cause: Cause, n_futures: usize) -> Vec<f64> {
    let (kind, number) = match cause {
        Cause::User(user) => (1, u64::from(user.0)),
        Cause::Class(class) => (2, class),
        Cause::Batch(batch) => (3, batch),
        Cause::Correlation(batch) => (4, batch),
        Cause::Job(job) => (5, job),
        Cause::Host(host) => (6, host),
        Cause::Site(site) => (7, site),
        Cause::ExpectedHost(host) => (8, host),
        Cause::Preemption(host) => (9, host),
    };
    let mut state = SEED ^ kind;
    state = split_mix(&mut state) ^ number;
    let mut levels: Vec<f64> = (0..n_futures)
        .map(|i| (i as f64 + 0.5) / n_futures as f64)
        .collect();
    for last in (1..n_futures).rev() {
        let at = split_mix(&mut state) % (last as u64 + 1);
        levels.swap(last, at as usize);
    }
    levels
}

/// Returns the correlation at a level of the distribution of correlations.
fn correlation_at(weights: &[f32; N_CORRELATIONS], level: f64) -> f64 {
    let mut below = 0.0;
    let reached = weights.iter().position(|weight| {
        below += f64::from(*weight);
        below >= level
    });
    CORRELATIONS[reached.unwrap_or(N_CORRELATIONS - 1)]
}

/// Replaces the levels of a job by evenly spaced ones in the same order, so that few futures suffice for a job
/// alone.
fn evenly_spaced(levels: &[f64]) -> Vec<Probability> {
    let mut order: Vec<usize> = (0..levels.len()).collect();
    // A stable sort: equal levels keep the order of the futures.
    order.sort_by(|&one, &other| levels[one].total_cmp(&levels[other]));
    let mut even = vec![probability(0.5); levels.len()];
    for (rank, future) in order.into_iter().enumerate() {
        even[future] = probability((rank as f64 + 0.5) / levels.len() as f64);
    }
    even
}

/// Returns strata of many independent levels: half of the jobs in the lower half, and so on. The highest level
/// is that of the maximum, at its own random `highest` level; the strata begin at a random place, because long
/// jobs stand anywhere in the order.
fn strata(count: u32, highest: f64, first: f64) -> Vec<(u32, f64)> {
    let mut strata = Vec::new();
    let (mut left, mut below) = (count - 1, 0);
    while left > 0 {
        let size = left.div_ceil(2);
        let middle = f64::from(below) + 0.5 * f64::from(size);
        strata.push((size, middle / f64::from(count)));
        below += size;
        left -= size;
    }
    strata.push((1, highest.powf(1.0 / f64::from(count))));
    let last = strata.len() - 1;
    let at = (first * strata.len() as f64) as usize;
    strata.rotate_left(at.min(last));
    strata
}

fn probability(level: f64) -> Probability {
    Probability::new(level.clamp(0.0, 1.0)).expect("between 0 and 1")
}

/// Returns the next number of SplitMix64 (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 512;

    fn only(correlation: usize) -> [f32; N_CORRELATIONS] {
        std::array::from_fn(|at| f32::from(u8::from(at == correlation)))
    }

    fn block(sequence: u64, count: u32, batch: u64, correlation: usize) -> JobBlock {
        JobBlock {
            user: UserId(1),
            kinship: Some(Kinship {
                batch,
                class: 7,
                correlations: only(correlation),
            }),
            sequence,
            count,
        }
    }

    /// Returns the part of the futures in which all of the jobs stay within the level .9.
    fn all_within(drawn: &[Vec<DrawnJobs>]) -> f64 {
        let within = |jobs: &&Vec<DrawnJobs>| jobs.iter().all(|(_, level)| level.as_f64() <= 0.9);
        drawn.iter().filter(within).count() as f64 / drawn.len() as f64
    }

    #[test]
    fn levels_of_a_single_job_are_evenly_spaced() {
        let drawn = FutureDraws::new(32).of(&block(3, 1, 5, 2));
        let mut levels: Vec<f64> = drawn.iter().map(|jobs| jobs[0].1.as_f64()).collect();
        levels.sort_by(f64::total_cmp);
        for (at, level) in levels.into_iter().enumerate() {
            assert!((level - (at as f64 + 0.5) / 32.0).abs() < 1e-12);
        }
    }

    #[test]
    fn ten_tasks_end_together_by_their_correlation() {
        // Independent: .9 to the power of 10; nearly one: a little below .9.
        for (correlation, expected) in [(0, 0.9_f64.powi(10)), (7, 0.87)] {
            let drawn = FutureDraws::new(N).of(&block(3, 10, 5, correlation));
            let found = all_within(&drawn);
            assert!((found - expected).abs() < 0.04, "{correlation}: {found}");
        }
    }

    #[test]
    fn many_tasks_have_the_maximum_of_as_many_draws() {
        for count in [17, 100, 1000] {
            let drawn = FutureDraws::new(N).of(&block(3, count, 5, 0));
            let highest = |jobs: &Vec<DrawnJobs>| {
                let levels = jobs.iter().map(|(_, level)| level.as_f64());
                levels.fold(0.0, f64::max)
            };
            let level = 0.5_f64.powf(1.0 / f64::from(count));
            let below = drawn.iter().filter(|jobs| highest(jobs) <= level).count();
            assert!(
                (below as f64 / N as f64 - 0.5).abs() < 0.05,
                "{count}: {below}"
            );
            assert!(
                drawn
                    .iter()
                    .all(|jobs| jobs.iter().map(|part| part.0).sum::<u32>() == count)
            );
        }
    }

    #[test]
    fn further_job_changes_no_draw() {
        let mut draws = FutureDraws::new(64);
        let before = draws.of(&block(3, 2, 5, 3));
        draws.of(&block(9, 1, 6, 3));
        assert_eq!(draws.of(&block(3, 2, 5, 3)), before);
    }
}
