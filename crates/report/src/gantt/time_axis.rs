//! Marks on an axis of time, in whole seconds, minutes, hours, days or weeks.

use tollgate_model::{Instant, Span};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// The steps in which people count time, in seconds.
const STEPS: [i64; 22] = [
    1,
    5,
    15,
    30,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    4 * DAY,
    WEEK,
    2 * WEEK,
    4 * WEEK,
    8 * WEEK,
    16 * WEEK,
    52 * WEEK,
];

/// The approximate number of marks that fit on a line.
const MARKS: i64 = 16;

/// A distance between marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeTickStep {
    secs: i64,
}

impl TimeTickStep {
    /// Returns the shortest step of at least `span`.
    fn at_least(span: Span) -> Self {
        let long_enough = |&secs: &i64| Span::from_secs(secs) >= span;
        let years = || {
            let year = Span::from_secs(52 * WEEK).as_micros();
            let years = (span.as_micros() - 1) / year + 1;
            years * 52 * WEEK
        };
        let secs = STEPS.into_iter().find(long_enough).unwrap_or_else(years);
        Self { secs }
    }

    /// Returns the step that puts at most [`MARKS`] + 1 marks on `span`.
    pub(super) fn dividing(span: Span) -> Self {
        Self::at_least(Span::from_micros(span.as_micros() / MARKS))
    }

    /// Returns the shortest whole number of steps that covers `span`.
    pub(super) fn rounded_up(self, span: Span) -> Span {
        let step = self.span().as_micros();
        let steps = (span.as_micros() - 1) / step + 1;
        Span::from_micros(steps.saturating_mul(step))
    }

    fn span(self) -> Span {
        Span::from_secs(self.secs)
    }

    /// Returns the marks between two instants, counted from `origin`, each with its label.
    pub(super) fn marks(
        self,
        origin: Instant,
        from: Instant,
        to: Instant,
    ) -> impl Iterator<Item = (Instant, String)> {
        let step = self.span().as_micros();
        let first = from.since(origin).as_micros().div_euclid(step);
        (first..)
            .map(move |index| Span::from_micros(index.saturating_mul(step)))
            .map(move |offset| (origin + offset, self.label(offset)))
            .skip_while(move |(mark, _)| *mark < from)
            .take_while(move |(mark, _)| *mark < to)
    }

    /// Formats a span with the precision of the step: days, then hours and minutes, then seconds.
    fn label(self, offset: Span) -> String {
        let secs = offset.as_micros() / 1_000_000;
        let (days, of_day) = (secs / DAY, secs % DAY);
        let (hours, minutes, seconds) = (of_day / HOUR, of_day % HOUR / MINUTE, of_day % MINUTE);
        if self.secs % DAY == 0 {
            format!("day {days}")
        } else if self.secs % MINUTE == 0 {
            format!("{days} d {hours:02}:{minutes:02}")
        } else {
            format!("{days} d {hours:02}:{minutes:02}:{seconds:02}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_are_as_fine_as_the_tick_step() {
        let labels =
            |secs: i64, step: i64| TimeTickStep { secs: step }.label(Span::from_secs(secs));
        assert_eq!(labels(14 * DAY, 2 * DAY), "day 14");
        assert_eq!(labels(DAY + 6 * HOUR, 6 * HOUR), "1 d 06:00");
        assert_eq!(labels(75, 15), "0 d 00:01:15");
    }

    proptest! {
        #[test]
        fn ticks_are_few_and_inside_the_window(span in 1_000_000i64..i64::MAX / 4, start in -1_000_000_000i64..1_000_000_000) {
            let (from, span) = (Instant::from_micros(start), Span::from_micros(span));
            let step = TimeTickStep::dividing(span);
            let marks: Vec<_> = step.marks(from, from, from + span).collect();
            prop_assert!(!marks.is_empty() && marks.len() <= MARKS as usize + 1);
            prop_assert_eq!(marks[0].0, from);
            prop_assert!(marks.iter().all(|(mark, _)| from <= *mark && *mark < from + span));
        }
    }
}
