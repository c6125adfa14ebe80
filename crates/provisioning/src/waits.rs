//! How long pilots of a site wait in its queue, by those that waited before.
//!
//! Waits are the product-limit estimate of Kaplan & Meier (1958): a pilot that still waits, or was cancelled while it
//! waited, says that its wait is longer than its age. A site that heard of starts alone would hear of the short waits first.
//! One more pilot counts that never starts, so that the few waits of a new site promise little. Beyond the longest
//! known wait the tail is a power law. What is expected of a pilot that has waited so long is to wait as long again.
//! Promises count with a heavier tail: a queue that let pilots in at once may fill for hours.

use serde::{Deserialize, Serialize};
use tollgate_model::{Probability, Span};

/// The probability with which a pilot starts by its expected start: about that with which `plan` counts on it. By the median,
/// demand would be met by pilots on which no promise can rest.
const EXPECTED: Probability = Probability::new(0.8).expect("a probability");

/// The least wait for which tails are extrapolated: an idle queue starts pilots in seconds.
const SHORTEST: Span = Span::from_secs(10);

/// The longest wait that is stated, in seconds: ten years.
const LONGEST_S: f64 = 3.2e8;

/// The exponent of the tail by which pilots are expected: a wait is twice as long as the longest known one in half of the
/// cases beyond it.
const EXPECTED_TAIL: f64 = 1.0;

/// That by which promises count. Between a minute and the wait that one job in ten exceeds, it is .19 to .30 in ten archived
/// queues. They are those of KTH, SDSC SP2, Blue Horizon, DataStar, CTC, HPC2N, Ross, Curie, RICC and MetaCentrum.
const CAUTIOUS_TAIL: f64 = 0.25;

/// The number of the last pilots whose waits count.
pub(crate) const N_LAST: usize = 50;

/// The part by which levels are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// The difference of the levels of two steps between stated bounds.
const STEP: f64 = 0.025;

/// The time for which a pilot was in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotWait {
    /// The time.
    pub waited: Span,
    /// Whether the pilot started then. Else it still waits, or was cancelled while it waited.
    pub has_started: bool,
}

/// The waits of the pilots of a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PilotWaits {
    /// The waits of pilots that started, ascending, with the part of pilots that wait longer.
    steps: Vec<(Span, f64)>,
    /// The longest age of a pilot, whether it started or not.
    longest: Span,
}

impl PilotWaits {
    /// Returns the estimate from the waits of the pilots of a site, the latest pilot first.
    pub fn new(waits: impl Iterator<Item = PilotWait>) -> Self {
        let mut waits: Vec<PilotWait> = waits.take(N_LAST).collect();
        // Of equal waits, starts come first: a pilot that waited so long was there when the others started.
        waits.sort_by_key(|wait| (wait.waited, !wait.has_started));
        let mut n_waiting = waits.len() + 1;
        let mut part = 1.0;
        let mut steps: Vec<(Span, f64)> = Vec::new();
        for wait in &waits {
            if wait.has_started {
                part *= 1.0 - 1.0 / n_waiting as f64;
                match steps.last_mut() {
                    Some(last) if last.0 == wait.waited => last.1 = part,
                    Some(_) | None => steps.push((wait.waited, part)),
                }
            }
            n_waiting -= 1;
        }
        let longest = waits.last().map_or(Span::ZERO, |wait| wait.waited);
        Self { steps, longest }
    }

    /// Returns the waits of a forecast: bounds at levels, both ascending. Between them the logarithm of 1 + seconds is linear;
    /// below the first bound nothing is known, and beyond the last one the tail is that of few waits.
    pub fn of_bounds(bounds: &[(f64, Span)]) -> Self {
        let Some(&(highest, longest)) = bounds.last() else {
            return Self::default();
        };
        let n_steps = (highest / STEP).round() as usize;
        let mut steps: Vec<(Span, f64)> = Vec::new();
        for level in (1..=n_steps).map(|step| highest * step as f64 / n_steps as f64) {
            let wait = interpolated(bounds, level);
            let beyond = (1.0 - level) * (1.0 - ROUNDING);
            match steps.last_mut() {
                Some(last) if last.0 >= wait => last.1 = beyond,
                Some(_) | None => steps.push((wait, beyond)),
            }
        }
        Self { steps, longest }
    }

    /// Returns whether a pilot of the site has started.
    pub fn has_starts(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the time after which a pilot that has waited for `age` is expected to start: four in five do by then. None
    /// if nothing is known.
    pub fn expected_rest(&self, age: Span) -> Option<Span> {
        self.rest(EXPECTED, age)
    }

    /// Returns the time that a pilot which has waited for `age` still waits, at most with probability `level`. None if no
    /// pilot of the site has waited yet.
    pub fn rest(&self, level: Probability, age: Span) -> Option<Span> {
        self.rest_by(EXPECTED_TAIL, level, age)
    }

    /// Returns the same for promises: beyond the longest known wait hardly anything is known.
    pub fn cautious_rest(&self, level: Probability, age: Span) -> Option<Span> {
        self.rest_by(CAUTIOUS_TAIL, level, age)
    }

    fn rest_by(&self, tail: f64, level: Probability, age: Span) -> Option<Span> {
        let is_known = !self.steps.is_empty() || self.longest > Span::ZERO;
        is_known.then(|| {
            let part = self.part_beyond(tail, age) * (1.0 - level.as_f64());
            (self.wait_of(tail, part) - age).max(Span::ZERO)
        })
    }

    /// Returns the part of pilots that wait as long as `wait` or longer: a pilot that is submitted now may start at once.
    fn part_beyond(&self, tail: f64, wait: Span) -> f64 {
        let n_before = self.steps.partition_point(|&(step, _)| step < wait);
        let last = n_before.checked_sub(1).map_or(1.0, |at| self.steps[at].1);
        let from = self.tail_start();
        match wait > from {
            true => last * (from.as_secs_f64() / wait.as_secs_f64()).powf(tail),
            false => last,
        }
    }

    /// Returns the wait beyond which this part of pilots waits.
    fn wait_of(&self, tail: f64, part: f64) -> Span {
        let known = self.steps.iter().find(|&&(_, beyond)| beyond <= part);
        known.map_or_else(
            || {
                let last = self.steps.last().map_or(1.0, |&(_, beyond)| beyond);
                let factor = (last / part).powf(1.0 / tail);
                let wait_s = self.tail_start().as_secs_f64() * factor;
                Span::from_secs_f64(wait_s.min(LONGEST_S))
            },
            |&(wait, _)| wait,
        )
    }

    fn tail_start(&self) -> Span {
        self.longest.max(SHORTEST)
    }
}

/// Returns the bound at a level.
fn interpolated(bounds: &[(f64, Span)], level: f64) -> Span {
    let above = bounds.iter().position(|(of, _)| *of >= level);
    let above = above.unwrap_or(bounds.len() - 1);
    let (high, late) = bounds[above];
    let Some((low, soon)) = above.checked_sub(1).map(|below| bounds[below]) else {
        return late;
    };
    let ln = |span: Span| span.as_secs_f64().ln_1p();
    let part = ((level - low) / (high - low)).clamp(0.0, 1.0);
    let wait = ln(soon) + part * (ln(late) - ln(soon));
    Span::from_secs_f64(wait.exp_m1()).clamp(soon, late)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn level(level: f64) -> Probability {
        Probability::new(level).expect("a probability")
    }

    fn secs(secs: i64) -> Span {
        Span::from_secs(secs)
    }

    const fn pilot(waited: i64, has_started: bool) -> PilotWait {
        PilotWait {
            waited: Span::from_secs(waited),
            has_started,
        }
    }

    fn started(waits: &[i64]) -> PilotWaits {
        PilotWaits::new(waits.iter().map(|&wait| pilot(wait, true)))
    }

    #[test]
    fn site_without_pilots_has_no_waits() {
        assert_eq!(
            PilotWaits::new(std::iter::empty()).rest(level(0.5), Span::ZERO),
            None
        );
    }

    #[test]
    fn quantiles_are_those_of_the_pilots_that_started() {
        let waits = started(&[10, 20, 30, 40, 50, 60, 70, 80, 90]);
        let rest = |part, age| waits.rest(level(part), secs(age));
        assert_eq!(rest(0.5, 0), Some(secs(50)));
        assert_eq!(rest(0.1, 0), Some(secs(10)));
        // Five of the ten that count wait for more than 40 s, and half of these for more than 70 s.
        assert_eq!(rest(0.5, 45), Some(secs(35)));
    }

    #[test]
    fn few_waits_promise_little() {
        let one = started(&[60]);
        assert_eq!(one.rest(level(0.5), Span::ZERO), Some(secs(60)));
        assert!(one.rest(level(0.9), Span::ZERO) >= Some(secs(290)));
        let many = started(&[60; 40]);
        assert_eq!(many.rest(level(0.9), Span::ZERO), Some(secs(60)));
    }

    #[test]
    fn pilots_that_start_at_once_are_expected_at_once() {
        let idle = started(&[0; 9]);
        for part in [0.5, 0.8] {
            assert_eq!(idle.rest(level(part), Span::ZERO), Some(Span::ZERO));
        }
        assert_eq!(idle.cautious_rest(level(0.8), Span::ZERO), Some(Span::ZERO));
    }

    #[test]
    fn promises_count_with_long_waits_where_few_are_known() {
        let four = started(&[60; 4]);
        assert_eq!(four.cautious_rest(level(0.5), Span::ZERO), Some(secs(60)));
        // One of five that count waits longer, and of these nine in ten are within 10,000 times as much.
        let late = four.cautious_rest(level(0.98), Span::ZERO);
        let late = late.expect("pilots waited").as_secs_f64();
        assert!((late / 600_000.0 - 1.0).abs() < 1e-6, "{late}");
    }

    #[test]
    fn pilot_that_still_waits_lengthens_the_expected_wait() {
        let starts = [5, 6, 7].map(|wait| pilot(wait, true));
        let before = PilotWaits::new(starts.into_iter()).rest(level(0.9), Span::ZERO);
        let still_waits = [pilot(600, false)];
        let waits = PilotWaits::new(starts.into_iter().chain(still_waits));
        assert!(waits.rest(level(0.9), Span::ZERO) > before);
        // One that has waited longer than any is expected to wait as long again.
        let again = waits.rest(level(0.5), secs(900)).expect("pilots waited");
        assert!((again.as_secs_f64() - 900.0).abs() < 1.0, "{again}");
    }

    #[test]
    fn bounds_of_a_forecast_are_kept_and_joined() {
        let bounds = [
            (0.1, secs(1)),
            (0.5, secs(9)),
            (0.9, secs(99)),
            (0.95, secs(999)),
        ];
        let waits = PilotWaits::of_bounds(&bounds);
        assert!(waits.has_starts());
        for (part, bound) in bounds {
            let found = waits.rest(level(part), Span::ZERO).expect("bounds");
            assert!(
                (found - bound).as_secs_f64().abs() < 1e-3,
                "{part}: {found}"
            );
        }
        // Half way between 1 + 9 and 1 + 99 s.
        let between = waits.rest(level(0.7), Span::ZERO).expect("bounds");
        assert!((between.as_secs_f64() - 30.6).abs() < 0.1, "{between}");
        // Of those that wait for more than 9 s, four in five wait for at most 99 s.
        let rest = waits.rest(level(0.799), secs(10)).expect("bounds");
        assert!((rest.as_secs_f64() - 89.0).abs() < 1.0, "{rest}");
        assert_eq!(
            waits
                .rest(level(0.975), Span::ZERO)
                .map(|rest| (rest - secs(2 * 999)).as_secs_f64().abs() < 0.1),
            Some(true)
        );
    }

    #[test]
    fn forecast_of_no_wait_expects_a_start_at_once() {
        let at_once = [0.05, 0.5, 0.95].map(|level| (level, Span::ZERO));
        let waits = PilotWaits::of_bounds(&at_once);
        assert_eq!(
            waits.cautious_rest(level(0.9), Span::ZERO),
            Some(Span::ZERO)
        );
        assert!(waits.cautious_rest(level(0.99), Span::ZERO) > Some(secs(1000)));
    }

    proptest! {
        #[test]
        fn later_levels_and_longer_waits_are_later(
            waits in prop::collection::vec((0..5_000_i64, any::<bool>()), 1..60),
            age in 0..10_000_i64,
            levels in (0.01..0.99_f64, 0.01..0.99_f64),
        ) {
            let known = waits.iter().map(|&(wait, has_started)| pilot(wait, has_started));
            let known = PilotWaits::new(known);
            let (low, high) = (levels.0.min(levels.1), levels.0.max(levels.1));
            let rest = |part| known.rest(level(part), secs(age));
            prop_assert!(rest(low) <= rest(high));
            prop_assert!(rest(high) <= known.cautious_rest(level(high), secs(age)));
            for tail in [EXPECTED_TAIL, CAUTIOUS_TAIL] {
                let part = known.part_beyond(tail, secs(age));
                prop_assert!(part > 0.0 && part <= 1.0);
                prop_assert!(known.part_beyond(tail, secs(age + 1)) <= part);
            }
        }

        #[test]
        fn next_wait_of_a_site_is_within_its_bound_as_often_as_stated(
            seed in prop::collection::vec(1..100_000_i64, 20..40),
        ) {
            // Of all orders of the same waits, each wait is the last one equally often.
            let n_kept = (0..seed.len()).filter(|&last| {
                let before = seed.iter().enumerate().filter(|&(at, _)| at != last);
                let before: Vec<i64> = before.map(|(_, wait)| *wait).collect();
                Some(secs(seed[last])) <= started(&before).rest(level(0.9), Span::ZERO)
            });
            prop_assert!(n_kept.count() as f64 >= 0.9 * seed.len() as f64 - 1.0);
        }
    }
}
