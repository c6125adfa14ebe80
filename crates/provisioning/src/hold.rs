//! For how long a keeper of pilots holds places in a queue, and how early it asks for the next one.

use tollgate_model::{Probability, Span};

use crate::waits::PilotWaits;

/// The probability with which the successor of a pilot starts before that pilot ends.
const HANDED_OVER: Probability = Probability::new(0.9).expect("a probability");

/// The shortest and the longest time for which more pilots wait than are wanted before some are cancelled. Between them it
/// is the expected wait: a place in the queue is kept for as long as it takes to get another.
const SHORTEST_HOLD: Span = Span::from_secs(120);
const LONGEST_HOLD: Span = Span::from_secs(3600);

impl PilotWaits {
    /// Returns the time for which pilots that are too many keep their places.
    pub fn hold(&self) -> Span {
        let wait = self.expected_rest(Span::ZERO);
        wait.unwrap_or(SHORTEST_HOLD)
            .clamp(SHORTEST_HOLD, LONGEST_HOLD)
    }

    /// Returns the time before the end of a pilot of length `time` at which its successor is to wait, which takes `joining` to join:
    /// at most half of it. A successor that comes early costs some idle time, and one that comes late leaves tasks without
    /// cores.
    pub fn lead(&self, joining: Span, time: Span) -> Span {
        let lead = self.rest(HANDED_OVER, Span::ZERO).unwrap_or(Span::ZERO);
        let half = Span::from_micros(time.as_micros() / 2);
        (lead + joining).min(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::PilotWait;

    fn waits(secs: i64) -> PilotWaits {
        let started = PilotWait {
            waited: Span::from_secs(secs),
            has_started: true,
        };
        PilotWaits::new([started; 30].into_iter())
    }

    #[test]
    fn places_are_held_for_as_long_as_it_takes_to_get_another() {
        let hold = |secs| waits(secs).hold().as_secs_f64();
        assert_eq!([5, 600, 9000].map(hold), [120.0, 600.0, 3600.0]);
        assert_eq!(PilotWaits::default().hold(), SHORTEST_HOLD);
    }

    #[test]
    fn successor_is_submitted_a_wait_and_a_join_before_an_end() {
        let lead = |waits: PilotWaits| waits.lead(Span::from_secs(10), Span::from_secs(600));
        assert_eq!(lead(waits(100)), Span::from_secs(110));
        assert_eq!(lead(waits(1000)), Span::from_secs(300));
        assert_eq!(lead(PilotWaits::default()), Span::from_secs(10));
    }
}
