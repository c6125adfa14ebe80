//! The correction of stated probabilities by the outcomes of earlier promises.
//!
//! The raw probability of a promise follows from beliefs about run times and from the futures that these give.
//! Broken promises show where it is wrong. A site is corrected by how sure the promise was, and each user
//! apart, because the jobs of one user are late together. Odds are corrected, and the prior is that the raw
//! probability is right.
//!
//! - **Site.** The odds of a break are shifted by as much as the broken promises differ from the expected ones around
//!   some [`ANCHORS`]; between two the shift is interpolated. The stated probability never falls as the raw one grows:
//!   neighbours that contradict are pooled (isotonic regression by pooling adjacent violators, Ayer et al. 1955).
//! - **User.** They are multiplied by (broken + w) / (expected + w) of the user's promises: the mean of a
//!   gamma-distributed factor of Poisson counts. Older ones fade.
//! - **Evidence.** The stated probability is at most one that as many outcomes can show.
//!
//! The constants were chosen on five archived traces (SDSC SP2, KTH SP2, Blue Horizon, LANL CM-5, RICC) with
//! deadlines that do not follow from true run times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Probability, UserId};

use crate::prediction::{QUOTABLE, quotable};

/// The probabilities of a break around which a site is compared with its statements, ascending.
const ANCHORS: [f64; 4] = [0.001, 0.01, 0.05, 0.15];
/// The expected breaks at an anchor that the prior counts for. The statements of a site are right on the
/// whole: less lets it follow a single user with many late jobs.
const SITE_WEIGHT: f64 = 100.0;
/// The expected breaks of a user that the prior counts for.
const USER_WEIGHT: f64 = 5.0;
/// The weight of a user's earlier promises after one more outcome.
const USER_MEMORY: f64 = 0.99;
/// A promise tells whether much can be stated if its probability of a break is at most this.
const SURE: f64 = 0.01;
/// The number of kept sure promises that the prior counts for: with none 0.984 is stated at the most.
const EVIDENCE_WEIGHT: f64 = 64.0;

/// The corrections of a service: promises that count on hosts that are not there yet are corrected by what became of such
/// promises, and others by that of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromiseCorrections {
    present: PromiseCorrection,
    expected: PromiseCorrection,
}

impl PromiseCorrections {
    /// Returns the correction of promises that count on hosts that are not there yet, or of the others.
    pub const fn of(&self, on_expected: bool) -> &PromiseCorrection {
        match on_expected {
            true => &self.expected,
            false => &self.present,
        }
    }

    /// Returns the same correction, to learn.
    pub const fn of_mut(&mut self, on_expected: bool) -> &mut PromiseCorrection {
        match on_expected {
            true => &mut self.expected,
            false => &mut self.present,
        }
    }
}

/// The number of broken promises, and the number that was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct BreakSums {
    broken: f64,
    expected: f64,
}

/// The correction of the probabilities of promises, learned from outcomes in the order in which these become known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromiseCorrection {
    /// By anchor.
    site: [BreakSums; ANCHORS.len()],
    users: BTreeMap<UserId, BreakSums>,
    /// Number of promises with a known outcome that were as good as sure.
    n_sure: u64,
}

impl PromiseCorrection {
    /// Returns the probability to state of a promise to a user, from the raw one.
    pub fn stated(&self, user: UserId, raw: Probability) -> Probability {
        let raw = LogOdds::of_break(raw);
        let of_user = self.users.get(&user).copied().unwrap_or_default();
        let corrected = self
            .of_site(raw)
            .shifted(of_user.ratio(USER_WEIGHT).ln(), raw);
        let least_break = 1.0 / (self.n_sure as f64 + EVIDENCE_WEIGHT);
        let kept = 1.0 - corrected.probability().max(least_break);
        quotable(Probability::new(kept).expect("one minus a probability"))
    }

    /// Learns that a promise to a user, whose raw probability this was, was kept or broken.
    pub fn learn(&mut self, user: UserId, raw: Probability, is_kept: bool) {
        let raw = LogOdds::of_break(raw);
        let broken = if is_kept { 0.0 } else { 1.0 };
        // The user is compared with the corrected statements, so that the site does not count twice.
        let expected = self.of_site(raw).probability();
        let of_user = self.users.entry(user).or_default();
        of_user.broken = USER_MEMORY * of_user.broken + broken;
        of_user.expected = USER_MEMORY * of_user.expected + expected;
        let expected = raw.probability();
        for (sums, weight) in self.site.iter_mut().zip(anchor_weights(raw)) {
            sums.broken += weight * broken;
            sums.expected += weight * expected;
        }
        // The bound itself counts, however the raw probability was rounded.
        self.n_sure += u64::from(expected <= SURE * (1.0 + 1e-9));
    }

    /// Returns the odds of a break, corrected by the outcomes at the site.
    fn of_site(&self, raw: LogOdds) -> LogOdds {
        let anchors = ANCHORS.iter().zip(&self.site);
        let rates = anchors.map(|(anchor, sums)| {
            let rate = (anchor * sums.ratio(SITE_WEIGHT)).min(MAX_BREAK);
            (rate, sums.expected + SITE_WEIGHT)
        });
        let rates = pooled(rates);
        let shifts = ANCHORS.iter().zip(rates).zip(anchor_weights(raw));
        let shift = shifts.map(|((&anchor, rate), weight)| {
            weight * (LogOdds::of(rate).0 - LogOdds::of(anchor).0)
        });
        raw.shifted(shift.sum(), raw)
    }
}

impl BreakSums {
    /// Returns the ratio of broken promises to expected ones, with a prior that it is 1.
    fn ratio(self, weight: f64) -> f64 {
        (self.broken + weight) / (self.expected + weight)
    }
}

/// The most that a break is taken to be probable: its odds are finite.
const MAX_BREAK: f64 = 1.0 - QUOTABLE[0];

/// The logarithm of the odds that a promise is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogOdds(f64);

impl LogOdds {
    fn of(probability: f64) -> Self {
        Self((probability / (1.0 - probability)).ln())
    }

    fn of_break(kept: Probability) -> Self {
        Self::of(1.0 - quotable(kept).as_f64())
    }

    fn probability(self) -> f64 {
        1.0 / (1.0 + (-self.0).exp())
    }

    /// Returns these odds changed by `shift`. Hardly any promises have a raw probability of a break above the last
    /// anchor. So a shift towards a kept promise counts less and less above it, and not at all at even odds.
    fn shifted(self, shift: f64, raw: Self) -> Self {
        let last = Self::of(ANCHORS[ANCHORS.len() - 1]).0;
        let believed = match shift < 0.0 && raw.0 > last {
            true => (raw.0 / last).clamp(0.0, 1.0),
            false => 1.0,
        };
        Self(self.0 + believed * shift)
    }
}

/// Returns the weights of the anchors by which the odds lie between two of them; they sum to 1.
fn anchor_weights(odds: LogOdds) -> [f64; ANCHORS.len()] {
    let mut weights = [0.0; ANCHORS.len()];
    let anchors = ANCHORS.map(|anchor| LogOdds::of(anchor).0);
    let after = anchors.partition_point(|&anchor| anchor <= odds.0);
    if after == 0 || after == ANCHORS.len() {
        weights[after.min(ANCHORS.len() - 1)] = 1.0;
        return weights;
    }
    let (from, to) = (anchors[after - 1], anchors[after]);
    weights[after] = (odds.0 - from) / (to - from);
    weights[after - 1] = 1.0 - weights[after];
    weights
}

/// Returns the rates, with their weights, as ascending ones: neighbours that descend get their mean.
fn pooled(rates: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    // Each pool: the mean rate, its weight and the number of rates.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (rate, weight) in rates {
        let mut next = (rate, weight, 1);
        while let Some(&(before, of, n)) = pools.last()
            && before >= next.0
        {
            pools.pop();
            let weight = of + next.1;
            next = ((before * of + next.0 * next.1) / weight, weight, n + next.2);
        }
        pools.push(next);
    }
    let pools = pools.into_iter();
    pools
        .flat_map(|(rate, _, n)| std::iter::repeat_n(rate, n))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANN: UserId = UserId(1);
    const BOB: UserId = UserId(2);

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn stated(correction: &PromiseCorrection, user: UserId, raw: f64) -> f64 {
        correction.stated(user, p(raw)).as_f64()
    }

    #[test]
    fn raw_probability_is_stated_before_any_outcome() {
        let new = PromiseCorrection::default();
        for raw in [0.05, 0.5, 0.83, 0.95, 0.98] {
            assert!((stated(&new, ANN, raw) - raw).abs() < 1e-12, "{raw}");
        }
    }

    #[test]
    fn much_is_stated_only_after_as_many_outcomes() {
        let mut correction = PromiseCorrection::default();
        let mut last = stated(&correction, BOB, 0.9999);
        assert!((last - 63.0 / 64.0).abs() < 1e-12, "{last}");
        for (n_kept, expected) in [(36, 0.99), (400, 1.0 - 1.0 / 500.0), (500, 0.999)] {
            for _ in 0..n_kept {
                correction.learn(ANN, p(0.9999), true);
            }
            let now = stated(&correction, BOB, 0.9999);
            assert!(last < now && (now - expected).abs() < 2e-4, "{now}");
            last = now;
        }
    }

    #[test]
    fn broken_promises_of_a_user_count_for_that_user() {
        let mut correction = PromiseCorrection::default();
        for _ in 0..10 {
            correction.learn(ANN, p(0.95), false);
        }
        let (of_ann, of_bob) = (
            stated(&correction, ANN, 0.95),
            stated(&correction, BOB, 0.95),
        );
        assert!(of_ann < 0.88 && of_bob > 0.94, "{of_ann} {of_bob}");
        for _ in 0..200 {
            correction.learn(ANN, p(0.95), true);
        }
        assert!(stated(&correction, ANN, 0.95) > 0.95);
    }

    #[test]
    fn statements_of_a_site_that_are_wrong_for_all_are_corrected() {
        let mut correction = PromiseCorrection::default();
        // One in ten is broken where one in a hundred is expected to be.
        for nth in 0..20_000_u32 {
            correction.learn(UserId(nth), p(0.99), nth % 10 > 0);
        }
        // 2,000 of 200 expected, and the prior.
        let found = stated(&correction, UserId(u32::MAX), 0.99);
        assert!((0.90..0.94).contains(&found), "{found}");
    }

    #[test]
    fn unlikely_promise_gains_nothing_from_kept_ones() {
        let mut correction = PromiseCorrection::default();
        for _ in 0..5_000 {
            correction.learn(ANN, p(0.9), true);
        }
        assert!(stated(&correction, ANN, 0.9) > 0.97);
        assert!((stated(&correction, ANN, 0.5) - 0.5).abs() < 1e-12);
        assert!((stated(&correction, ANN, 0.2) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn descending_rates_are_pooled() {
        let rates = [(0.1, 1.0), (0.3, 1.0), (0.1, 3.0), (0.4, 1.0)];
        let found = pooled(rates.into_iter());
        for (found, expected) in found.into_iter().zip([0.1, 0.15, 0.15, 0.4]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn stated_probability_grows_with_the_raw_one(
            outcomes in proptest::collection::vec((0_u32..4, 0.0..1.0_f64, any::<bool>()), 0..400),
            repeats in 1_usize..40,
            raws in proptest::collection::vec(0.0..1.0_f64, 2..40),
        ) {
            let mut correction = PromiseCorrection::default();
            for _ in 0..repeats {
                for &(user, raw, is_kept) in &outcomes {
                    correction.learn(UserId(user), p(raw), is_kept);
                }
            }
            let mut raws = raws;
            raws.sort_by(f64::total_cmp);
            for user in 0..5 {
                let stated: Vec<f64> =
                    raws.iter().map(|&raw| stated(&correction, UserId(user), raw)).collect();
                for pair in stated.windows(2) {
                    prop_assert!(pair[0] <= pair[1] + 1e-9, "{:?}", stated);
                }
                prop_assert!(stated.iter().all(|stated| (0.001..=0.999).contains(stated)));
            }
        }
    }
}
