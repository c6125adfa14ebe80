//! A filter for repeated events: the first is written, the others are counted.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The time for which a repeated warning or error is counted before its count is written.
pub const PERIOD: Duration = Duration::from_secs(10);

/// Maximum number of different events that are counted at a time; further events are written each
/// time.
const MAX_REPEATED_EVENTS: usize = 1_000;

/// The target of the lines with counts, which are not counted themselves.
const SUMMARY: &str = "tollgate::repeated";

/// A layer that omits repeated warnings and errors from the log, and writes their counts.
#[derive(Default)]
pub(super) struct RepeatFilter {
    shared: Arc<RepeatState>,
    writer: OnceLock<()>,
}

#[derive(Default)]
struct RepeatState {
    repeats: Mutex<RepeatTable>,
    /// Signalled when there is a new event to count.
    counting: Condvar,
    clock: RepeatClock,
}

/// A clock that starts with the log.
struct RepeatClock(Instant);

impl Default for RepeatClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl RepeatFilter {
    /// Starts the thread that writes the counts, with the first event that is counted: a process
    /// may have to block signals before it starts any other thread.
    fn start_writer(&self) {
        self.writer.get_or_init(|| {
            let shared = Arc::clone(&self.shared);
            // Without the thread, counts are not written; all other lines are.
            let _ = thread::Builder::new()
                .name("log".to_owned())
                .spawn(move || shared.write_summaries_loop());
        });
    }
}

impl<S: Subscriber> Layer<S> for RepeatFilter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        // Events below the level of a warning are not counted: two equal ones are two events.
        if *metadata.level() > Level::WARN || metadata.target() == SUMMARY {
            return true;
        }
        let mut text = EventText::default();
        event.record(&mut text);
        let now = self.shared.clock.0.elapsed();
        let mut repeats = self.shared.lock();
        let is_first = repeats.admit(&text.0, *metadata.level(), now);
        drop(repeats);
        if is_first {
            self.start_writer();
            self.shared.counting.notify_one();
        }
        is_first
    }
}

impl RepeatState {
    fn lock(&self) -> MutexGuard<'_, RepeatTable> {
        self.repeats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_summaries_loop(&self) {
        loop {
            for summary in self.next_summaries() {
                summary.write();
            }
        }
    }

    /// Waits until counts are due.
    fn next_summaries(&self) -> Vec<RepeatSummary> {
        let mut repeats = self.lock();
        loop {
            let now = self.clock.0.elapsed();
            let due = repeats.due(now);
            if !due.is_empty() {
                return due;
            }
            repeats = match repeats.next_due() {
                None => self.counting.wait(repeats),
                Some(at) => self
                    .counting
                    .wait_timeout(repeats, at.saturating_sub(now))
                    .map(|(repeats, _)| repeats)
                    .map_err(|poisoned| PoisonError::new(poisoned.into_inner().0)),
            }
            .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The message and the fields of an event. Its origin is in its spans and not part of this text: a
/// request that is rejected again is the same event, whichever client sends it.
#[derive(Default)]
struct EventText(String);

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// The events that were written in the last period, each with the number of its repetitions.
#[derive(Debug, Default)]
struct RepeatTable(BTreeMap<String, RepeatEntry>);

#[derive(Debug)]
struct RepeatEntry {
    level: Level,
    /// The time at which the event or its last count was written.
    since: Duration,
    count: u64,
}

/// The number of repetitions of an event in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RepeatSummary {
    text: String,
    level: Level,
    count: u64,
}

impl RepeatTable {
    /// Returns whether an event is to be written; counts it if not.
    fn admit(&mut self, text: &str, level: Level, now: Duration) -> bool {
        if let Some(repeat) = self.0.get_mut(text) {
            repeat.count += 1;
            return false;
        }
        if self.0.len() < MAX_REPEATED_EVENTS {
            let repeat = RepeatEntry {
                level,
                since: now,
                count: 0,
            };
            self.0.insert(text.to_owned(), repeat);
        }
        true
    }

    /// Removes and returns the counts whose period has ended. An event without repetitions is
    /// forgotten.
    fn due(&mut self, now: Duration) -> Vec<RepeatSummary> {
        self.0
            .retain(|_, repeat| repeat.count > 0 || now < repeat.since + PERIOD);
        let over = self.0.iter_mut();
        let over = over.filter(|(_, repeat)| now >= repeat.since + PERIOD);
        over.map(|(text, repeat)| {
            repeat.since = now;
            RepeatSummary {
                text: text.clone(),
                level: repeat.level,
                count: std::mem::take(&mut repeat.count),
            }
        })
        .collect()
    }

    /// Returns the end of the next period; None if no event is counted.
    fn next_due(&self) -> Option<Duration> {
        self.0.values().map(|repeat| repeat.since + PERIOD).min()
    }
}

impl RepeatSummary {
    fn write(self) {
        let Self { level, count, .. } = self;
        if level == Level::ERROR {
            tracing::error!(target: SUMMARY, repeated = count, "{self}");
        } else {
            tracing::warn!(target: SUMMARY, repeated = count, "{self}");
        }
    }
}

impl fmt::Display for RepeatSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.count == 1 { "time" } else { "times" };
        let (text, count, period) = (&self.text, self.count, PERIOD.as_secs());
        write!(f, "{text}: repeated {count} {times} in the last {period} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "cannot be written: disk full";

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn repeated_event_is_written_once_and_then_counted() {
        let mut repeats = RepeatTable::default();
        assert_eq!(repeats.next_due(), None);
        let written = (0..189).filter(|n| repeats.admit(FULL, Level::ERROR, at(n * 50)));
        assert_eq!(written.count(), 1);
        assert_eq!(repeats.due(at(9_999)), []);
        assert_eq!(repeats.next_due(), Some(PERIOD));
        let due = repeats.due(PERIOD);
        let words: Vec<String> = due.iter().map(RepeatSummary::to_string).collect();
        let expected = "cannot be written: disk full: repeated 188 times in the last 10 s";
        assert_eq!(words, [expected]);
        // The event continues: no line but the count of the next period.
        assert!(!repeats.admit(FULL, Level::ERROR, at(10_001)));
        assert_eq!(repeats.due(at(20_000))[0].count, 1);
    }

    #[test]
    fn event_is_written_again_after_a_quiet_period() {
        let mut repeats = RepeatTable::default();
        assert!(repeats.admit(FULL, Level::WARN, at(0)));
        assert_eq!(repeats.due(PERIOD), []);
        assert!(repeats.admit(FULL, Level::WARN, PERIOD));
    }

    #[test]
    fn different_events_are_counted_separately_up_to_the_maximum() {
        let mut repeats = RepeatTable::default();
        for n in 0..2 * MAX_REPEATED_EVENTS {
            assert!(repeats.admit(&n.to_string(), Level::WARN, at(0)));
        }
        assert_eq!(repeats.0.len(), MAX_REPEATED_EVENTS);
        assert!(!repeats.admit("0", Level::WARN, at(1)));
        assert_eq!(repeats.due(PERIOD).len(), 1);
    }
}
