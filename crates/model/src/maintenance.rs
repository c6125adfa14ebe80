//! Times in which no job runs, because the machine is maintained.

use serde::{Deserialize, Serialize};

use crate::{Instant, Span};

/// A time in which no job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MaintenanceWindow {
    /// Its beginning: jobs end by then.
    pub from: Instant,
    /// Its end, after `from`: jobs start from then on.
    pub until: Instant,
}

/// All windows that are known, in order, none of them touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaintenanceCalendar {
    windows: Vec<MaintenanceWindow>,
}

impl MaintenanceCalendar {
    /// Creates a calendar. Windows that touch become one, and empty ones are left out.
    pub fn new(mut windows: Vec<MaintenanceWindow>) -> Self {
        windows.retain(|window| window.from < window.until);
        windows.sort_unstable();
        let mut joined: Vec<MaintenanceWindow> = Vec::with_capacity(windows.len());
        for window in windows {
            match joined.last_mut() {
                Some(last) if window.from <= last.until => {
                    last.until = last.until.max(window.until);
                }
                Some(_) | None => joined.push(window),
            }
        }
        Self { windows: joined }
    }

    /// Returns the windows.
    pub fn windows(&self) -> &[MaintenanceWindow] {
        &self.windows
    }

    /// Returns the calendar with each window later by `span`.
    #[must_use]
    pub fn later_by(&self, span: Span) -> Self {
        let windows = self.windows.iter();
        let windows = windows.map(|window| MaintenanceWindow {
            from: window.from + span,
            until: window.until + span,
        });
        Self::new(windows.collect())
    }

    /// Returns the window at `now`, or the next one.
    pub fn next(&self, now: Instant) -> Option<MaintenanceWindow> {
        let passed = self.windows.partition_point(|window| window.until <= now);
        self.windows.get(passed).copied()
    }

    /// Returns the time from `now` to the next window: the longest that a job may run that starts now. Zero
    /// in a window.
    pub fn room(&self, now: Instant) -> Span {
        self.next(now)
            .map_or(Span::MAX, |next| next.from.since(now).max(Span::ZERO))
    }

    /// Returns the first instant from `at` on from which a job can run for `length` before a window.
    pub fn first_start(&self, at: Instant, length: Span) -> Instant {
        let mut start = at;
        while let Some(next) = self.next(start)
            && self.room(start) < length
        {
            start = next.until;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: i64, until: i64) -> MaintenanceWindow {
        MaintenanceWindow {
            from: Instant::from_secs(from),
            until: Instant::from_secs(until),
        }
    }

    #[test]
    fn windows_that_touch_are_one() {
        let windows = vec![window(50, 60), window(10, 20), window(20, 30), window(5, 5)];
        let calendar = MaintenanceCalendar::new(windows);
        assert_eq!(calendar.windows(), [window(10, 30), window(50, 60)]);
    }

    #[test]
    fn job_starts_where_it_ends_before_a_window() {
        let calendar = MaintenanceCalendar::new(vec![window(10, 30), window(50, 60)]);
        let start = |at: i64, length: i64| {
            let start = calendar.first_start(Instant::from_secs(at), Span::from_secs(length));
            start.as_micros() / 1_000_000
        };
        assert_eq!(start(0, 10), 0);
        assert_eq!(start(0, 11), 30);
        assert_eq!(start(15, 20), 30);
        assert_eq!(start(31, 20), 60);
        assert_eq!(calendar.room(Instant::from_secs(4)), Span::from_secs(6));
        assert_eq!(calendar.room(Instant::from_secs(20)), Span::ZERO);
        assert_eq!(calendar.room(Instant::from_secs(60)), Span::MAX);
    }
}
