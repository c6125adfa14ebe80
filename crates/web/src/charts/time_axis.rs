//! Round instants for an axis.

use tollgate_model::Instant;

/// Distances between two instants, in seconds.
const STEPS: [i64; 22] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 2_592_000, 7_776_000,
];

/// Round instants of an axis, and the form in which the script shows them.
pub(crate) struct TimeTicks {
    pub(crate) instants: Vec<Instant>,
    /// `near` with seconds, `minute` without, `far` with the day.
    pub(crate) form: &'static str,
}

/// Returns at most `most` round instants from `from` to `until`. `offset_s` is the zone of the browser in seconds east
/// of UTC: days begin there.
pub(crate) fn ticks(from: Instant, until: Instant, most: i64, offset_s: i64) -> TimeTicks {
    let (low, high) = (from.as_micros(), until.as_micros());
    let span = (high - low).max(1);
    let fits = |step: &&i64| span / (**step * 1_000_000) < most.max(1);
    let step = *STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
    let (step_us, offset_us) = (step * 1_000_000, offset_s * 1_000_000);
    let first = (low + offset_us).div_euclid(step_us) + 1;
    let instants = (first..)
        .map(|index| index * step_us - offset_us)
        .take_while(|at| *at <= high)
        .take(most.max(1) as usize);
    TimeTicks {
        instants: instants.map(Instant::from_micros).collect(),
        form: match step {
            short if short < 60 => "near",
            middle if middle < 43_200 && span < 86_400_000_000 => "minute",
            _ => "far",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_overview::words::clock;

    fn labels(from: i64, until: i64, offset_s: i64) -> Vec<String> {
        let (from, until) = (Instant::from_secs(from), Instant::from_secs(until));
        let ticks = ticks(from, until, 6, offset_s);
        ticks.instants.into_iter().map(clock).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            labels(3, 70, 0),
            ["00:00:15", "00:00:30", "00:00:45", "00:01:00"]
        );
        assert_eq!(labels(0, 86_399, 0).len(), 3);
    }

    #[test]
    fn days_begin_in_the_zone_of_the_browser() {
        let days = labels(0, 4 * 86_400, 7_200);
        assert_eq!(days.first().map(String::as_str), Some("22:00:00"));
    }

    #[test]
    fn empty_span_has_at_most_one_tick() {
        assert!(labels(5, 5, 0).len() <= 1);
    }
}
