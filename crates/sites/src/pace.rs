//! When the queue of a site is looked at: often just after a change, seldom when nothing happens. Each look costs
//! the engine a few requests, and many users may have sites there.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// The part of the time since the last change after which the next look is due.
const PART: i64 = 4;

/// The looks at the queue of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueQueries {
    /// The instant of the last look. None before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Instant>,
    /// The instant of the last change: a submission, a cancellation, or a pilot in another phase. None before
    /// the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Instant>,
    /// The number of workers of the site that took tasks when the service was last asked.
    #[serde(default)]
    pub workers: u32,
}

impl QueueQueries {
    /// Returns whether a look is due. It is due if a quarter of the time since the last change has passed
    /// since the last look, at most `longest`. It is also due if the number of workers is another one than
    /// before.
    pub fn is_due(&self, now: Instant, longest: Span, workers: u32) -> bool {
        let Some(last) = self.last.filter(|last| *last <= now) else {
            return true;
        };
        let quiet = self.changed.map_or(longest, |changed| {
            Span::from_micros(last.since(changed).as_micros() / PART)
        });
        workers != self.workers || now.since(last) >= quiet.min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_PAUSE: Span = Span::from_secs(60);

    /// Returns the number of looks in a minute that begins at an instant, if a look is possible each second.
    fn looks_in_minute(looks: &mut QueueQueries, from: i64) -> usize {
        let due = (from..from + 60).filter(|&second| {
            let now = Instant::from_secs(second);
            let is_due = looks.is_due(now, MAX_PAUSE, 0);
            if is_due {
                looks.last = Some(now);
            }
            is_due
        });
        due.count()
    }

    #[test]
    fn looks_are_frequent_after_a_change_and_seldom_later() {
        let mut looks = QueueQueries {
            changed: Some(Instant::from_secs(0)),
            ..QueueQueries::default()
        };
        let counts: Vec<usize> = (0..10)
            .map(|minute| looks_in_minute(&mut looks, minute * 60))
            .collect();
        assert!(counts[0] > 10, "{counts:?}");
        assert!(counts[2..].iter().all(|&count| count <= 2), "{counts:?}");
    }

    #[test]
    fn another_number_of_workers_makes_a_look_due() {
        let looks = QueueQueries {
            last: Some(Instant::from_secs(100)),
            changed: None,
            workers: 2,
        };
        let now = Instant::from_secs(101);
        assert!(!looks.is_due(now, MAX_PAUSE, 2));
        assert!(looks.is_due(now, MAX_PAUSE, 1));
        assert!(QueueQueries::default().is_due(now, MAX_PAUSE, 0));
        // The clock went back.
        assert!(looks.is_due(Instant::from_secs(50), MAX_PAUSE, 2));
    }
}
