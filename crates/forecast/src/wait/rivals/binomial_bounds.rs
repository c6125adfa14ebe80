//! BMBP, the binomial method batch predictor (Brevik, Nurmi & Wolski, *Predicting bounds on queuing delay for
//! batch-scheduled parallel machines*, PPoPP 2006).
//!
//! The bound is the smallest past wait that exceeds the quantile with a confidence of 95 %, by the binomial
//! distribution of the number of waits below the quantile. Three misses in a row mean that the waits have changed: the
//! history is trimmed to the 59 last waits, the fewest that give a bound at .95.
//!
//! Departures: a class with fewer than 59 waits gets the bound of the site. Confidence at more than 200 waits is by
//! the normal approximation, as in the paper.

use std::collections::{BTreeMap, VecDeque};

use crate::wait::job::WaitClass;

/// The fewest waits that give a bound at .95 with a confidence of 95 %.
const TRIMMED: usize = 59;
/// Number of misses in a row that trim a history.
const MISSES: u32 = 3;
/// The confidence, and the same quantile of the normal distribution.
const CONFIDENCE: f64 = 0.95;
const CONFIDENCE_Z: f64 = 1.644_853_626_951_472_2;
/// Largest number of waits with an exact confidence.
const MAX_EXACT: usize = 200;

/// The bounds at some levels, from the waits of classes.
#[derive(Clone, Debug)]
pub(in crate::wait) struct BinomialBounds {
    levels: Vec<f64>,
    /// The rank of the bound by number of waits, a row a level. 0 without a bound.
    ranks: Vec<Vec<usize>>,
    classes: BTreeMap<WaitClass, Vec<WaitHistory>>,
    site: Vec<WaitHistory>,
}

/// The waits of a class for one level.
#[derive(Clone, Debug, Default)]
struct WaitHistory {
    by_age: VecDeque<f32>,
    sorted: Vec<f32>,
    n_missed: u32,
}

impl BinomialBounds {
    pub(in crate::wait) fn new(levels: &[f64]) -> Self {
        let ranks = |level: &f64| (0..=MAX_EXACT).map(|n| exact_rank(n, *level)).collect();
        Self {
            levels: levels.to_vec(),
            ranks: levels.iter().map(ranks).collect(),
            classes: BTreeMap::new(),
            site: vec![WaitHistory::default(); levels.len()],
        }
    }

    /// Returns the bounds of a class, one a level, as ln(1 + seconds). None without enough waits.
    pub(in crate::wait) fn bounds(&self, class: WaitClass) -> Option<Vec<f64>> {
        let own = self.classes.get(&class);
        let own = own.filter(|own| own.iter().all(|history| history.sorted.len() >= TRIMMED));
        let histories = own.unwrap_or(&self.site);
        let bound = |(idx, history): (usize, &WaitHistory)| self.bound(history, idx);
        histories.iter().enumerate().map(bound).collect()
    }

    /// Learns the wait of a job, with the bounds that were stated for it.
    pub(in crate::wait) fn learn(&mut self, class: WaitClass, wait: f64, stated: Option<&[f64]>) {
        let n_levels = self.levels.len();
        let own = self.classes.entry(class);
        let own = own.or_insert_with(|| vec![WaitHistory::default(); n_levels]);
        for histories in [own, &mut self.site] {
            for (idx, history) in histories.iter_mut().enumerate() {
                history.learn(wait, stated.map(|stated| stated[idx]));
            }
        }
    }

    fn bound(&self, history: &WaitHistory, idx: usize) -> Option<f64> {
        let n = history.sorted.len();
        let rank = match self.ranks[idx].get(n) {
            Some(rank) => *rank,
            None => normal_rank(n, self.levels[idx]),
        };
        history
            .sorted
            .get(rank.checked_sub(1)?)
            .map(|wait| f64::from(*wait))
    }
}

impl WaitHistory {
    fn learn(&mut self, wait: f64, stated: Option<f64>) {
        let wait = wait as f32;
        let is_miss = stated.is_some_and(|bound| f64::from(wait) > bound);
        self.n_missed = if is_miss { self.n_missed + 1 } else { 0 };
        self.by_age.push_back(wait);
        if self.n_missed == MISSES {
            self.n_missed = 0;
            let n_old = self.by_age.len().saturating_sub(TRIMMED);
            self.by_age.drain(..n_old);
            self.sorted = self.by_age.iter().copied().collect();
            self.sorted.sort_unstable_by(f32::total_cmp);
        } else {
            let place = self.sorted.partition_point(|known| *known < wait);
            self.sorted.insert(place, wait);
        }
    }
}

/// Returns the smallest rank whose wait exceeds the quantile at `level` with the confidence: with k the rank, at most
/// k - 1 of the `n` waits are below the quantile. Returns 0 if no rank is so high.
fn exact_rank(n: usize, level: f64) -> usize {
    let mut mass = (1.0 - level).powi(n as i32);
    let mut sum = 0.0;
    for below in 0..n {
        sum += mass;
        if sum >= CONFIDENCE {
            return below + 1;
        }
        mass *= (n - below) as f64 / (below + 1) as f64 * level / (1.0 - level);
    }
    0
}

fn normal_rank(n: usize, level: f64) -> usize {
    let mean = n as f64 * level;
    let rank = mean + CONFIDENCE_Z * (mean * (1.0 - level)).sqrt();
    (rank.ceil() as usize).min(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::job::WaitJob;

    #[test]
    fn fifty_nine_waits_give_a_bound_at_95() {
        assert_eq!(exact_rank(58, 0.95), 0);
        assert_eq!(exact_rank(59, 0.95), 59);
        // Of 100 waits at most 94 are below the quantile at .9 with probability .942, and at most 95 with .976.
        assert_eq!(exact_rank(100, 0.9), 96);
    }

    #[test]
    fn ranks_agree_where_they_meet() {
        for level in [0.5, 0.9, 0.95] {
            let apart = exact_rank(200, level).abs_diff(normal_rank(200, level));
            assert!(apart <= 1, "{level}: {apart}");
        }
    }

    #[test]
    fn three_misses_trim_the_history() {
        let job = WaitJob {
            user: None,
            queue: None,
            procs: 1,
            request: None,
        };
        let mut bounds = BinomialBounds::new(&[0.9]);
        (0..100).for_each(|_| bounds.learn(job.class(), 1.0, Some(&[1.0])));
        assert_eq!(bounds.bounds(job.class()), Some(vec![1.0]));
        (0..3).for_each(|_| bounds.learn(job.class(), 5.0, Some(&[1.0])));
        assert_eq!(bounds.bounds(job.class()), Some(vec![5.0]));
    }
}
