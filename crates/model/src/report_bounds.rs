//! The range in which the values of a report can be true.
//!
//! A worker runs on another host, with another clock, and may be faulty or stolen. The books add its values
//! up for years, so a value that cannot be true is replaced by the nearest one that can. The service says so
//! in its log. An attempt is not lost for that: its user did nothing wrong.

use crate::{
    AttemptEvent, AttemptOutcome, AttemptReport, AttemptStatus, Instant, LaunchFailure, Span,
};

/// Maximum length of the words of a status, in bytes: a message of the system with a long path fits.
const MAX_TEXT_LEN: usize = 5_000;

/// Time by which a worker's measure of a span may exceed the service's, besides one per cent. Reports and
/// starts are under way for a moment, and no two clocks run at the same pace.
const SLACK: Span = Span::from_secs(60);

/// Processors of the largest host: the maximum of Linux on most machines. A job may use more
/// processors than it asked for, so the number of its own is no bound.
const MAX_HOST_PROCESSORS: i64 = 8_192;

/// The bounds of the reports of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportBounds {
    /// An instant that is not after the order to start the attempt, by the service's clock.
    pub earliest: Instant,
    /// The present, by the service's clock.
    pub now: Instant,
}

/// A report whose values can be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedReport {
    /// The report.
    pub report: AttemptReport,
    /// Names of the values that were out of their range. An instant is not among them: clocks of
    /// hosts differ.
    pub replaced: Vec<&'static str>,
}

impl ReportBounds {
    /// Returns the report with each value in its range.
    pub fn apply(&self, report: AttemptReport) -> BoundedReport {
        let mut replaced = Vec::new();
        let event = match report.event {
            AttemptEvent::Started(mut start) => {
                start.at = self.instant(start.at);
                // The system's numbers of processes are positive and fit into 31 bits.
                if start.pid.is_some_and(|pid| i32::try_from(pid).is_err()) {
                    start.pid = None;
                    replaced.push("pid");
                }
                AttemptEvent::Started(start)
            }
            AttemptEvent::Ended(outcome) => {
                AttemptEvent::Ended(self.outcome(outcome, &mut replaced))
            }
            AttemptEvent::Lost { at } => AttemptEvent::Lost {
                at: self.instant(at),
            },
        };
        let attempt = report.attempt;
        let report = AttemptReport { attempt, event };
        BoundedReport { report, replaced }
    }

    /// Returns the nearest instant between the order to start the attempt and the present.
    fn instant(&self, at: Instant) -> Instant {
        at.min(self.now).max(self.earliest.min(self.now))
    }

    /// Returns the longest time for which the attempt can have run. Not negative.
    pub fn max_wall(&self) -> Span {
        let known = self.now.since(self.earliest).max(Span::ZERO);
        known + Span::from_micros(known.as_micros() / 100) + SLACK
    }

    fn outcome(&self, outcome: AttemptOutcome, replaced: &mut Vec<&'static str>) -> AttemptOutcome {
        let mut bounded = |name, span: Span, max: Span| {
            let nearest = span.clamp(Span::ZERO, max);
            if nearest != span {
                replaced.push(name);
            }
            nearest
        };
        let wall = bounded("wall", outcome.wall, self.max_wall());
        let cpu = bounded("cpu", outcome.cpu, max_cpu(wall));
        let suspended = bounded("suspended", outcome.suspended, wall);
        let peak_memory = outcome
            .peak_memory
            .filter(|&bytes| i64::try_from(bytes).is_ok());
        if peak_memory != outcome.peak_memory {
            replaced.push("peak_memory");
        }
        let status = bounded_status(outcome.status, replaced);
        AttemptOutcome {
            status,
            killed: outcome.killed,
            at: self.instant(outcome.at),
            wall,
            cpu,
            suspended,
            peak_memory,
        }
    }
}

/// Returns the longest time that the processors of one host can spend in `wall`. They are counted in
/// ticks, so a short attempt may have a little more.
fn max_cpu(wall: Span) -> Span {
    let micros = (wall + Span::from_secs(1)).as_micros();
    Span::from_micros(micros.saturating_mul(MAX_HOST_PROCESSORS))
}

fn bounded_status(status: AttemptStatus, replaced: &mut Vec<&'static str>) -> AttemptStatus {
    let AttemptStatus::NotStarted(failure) = &status else {
        return status;
    };
    let bounded = AttemptStatus::NotStarted(LaunchFailure {
        step: plain_text(&failure.step),
        reason: plain_text(&failure.reason),
        fault: failure.fault,
    });
    if bounded != status {
        replaced.push("status");
    }
    bounded
}

/// Returns a text without control characters, which a terminal would obey, and cut to a length that
/// fits into a row.
pub fn plain_text(text: &str) -> String {
    let plain = text.chars().map(|letter| match letter.is_control() {
        true => ' ',
        false => letter,
    });
    let mut length = 0;
    let short = plain.take_while(|letter| {
        length += letter.len_utf8();
        length <= MAX_TEXT_LEN
    });
    short.collect()
}

#[cfg(test)]
mod tests {
    use crate::{AttemptId, AttemptStart};
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: ReportBounds = ReportBounds {
        earliest: Instant::from_secs(1_000),
        now: Instant::from_secs(2_000),
    };

    fn report(event: AttemptEvent) -> AttemptReport {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        AttemptReport { attempt, event }
    }

    fn ended(wall: i64, cpu: i64, at: i64, peak_memory: Option<u64>) -> AttemptReport {
        report(AttemptEvent::Ended(AttemptOutcome {
            status: AttemptStatus::Exited(0),
            killed: None,
            at: Instant::from_micros(at),
            wall: Span::from_micros(wall),
            cpu: Span::from_micros(cpu),
            suspended: Span::from_micros(wall),
            peak_memory,
        }))
    }

    #[test]
    fn honest_report_is_not_changed() {
        let honest = ended(1_000_000_000, 64_000_000_000, 2_000_000_000, Some(1 << 40));
        let bounded = BOUNDS.apply(honest.clone());
        assert_eq!((bounded.report, bounded.replaced), (honest, Vec::new()));
    }

    #[test]
    fn impossible_values_are_replaced_by_the_nearest_possible() {
        let bounded = BOUNDS.apply(ended(i64::MAX, i64::MAX, i64::MAX, Some(u64::MAX)));
        // 1,000 s, one per cent and a minute; 8,192 processors for a second more than that.
        let nearest = ended(1_070_000_000, 8_773_632_000_000, 2_000_000_000, None);
        assert_eq!(bounded.report, nearest);
        assert_eq!(
            bounded.replaced,
            ["wall", "cpu", "suspended", "peak_memory"]
        );
    }

    #[test]
    fn clock_of_another_host_is_no_impossible_value() {
        let start = AttemptStart {
            pid: Some(7),
            at: Instant::from_secs(5),
        };
        let bounded = BOUNDS.apply(report(AttemptEvent::Started(start)));
        let at = BOUNDS.earliest;
        let nearest = AttemptEvent::Started(AttemptStart { at, ..start });
        assert_eq!(bounded.report.event, nearest);
        assert_eq!(bounded.replaced, [] as [&str; 0]);
    }

    #[test]
    fn words_of_a_status_are_short_and_plain() {
        let reason = format!("\u{1b}[2J{}", "ü".repeat(MAX_TEXT_LEN));
        let event = AttemptOutcome::not_started(LaunchFailure::of_job("dir", reason), BOUNDS.now);
        let bounded = BOUNDS.apply(report(AttemptEvent::Ended(event)));
        let AttemptEvent::Ended(outcome) = bounded.report.event else {
            panic!("an end stays an end");
        };
        let text = outcome.status.to_string();
        assert!(text.starts_with("not started: dir:  [2Jü"), "{text}");
        assert!(text.len() <= MAX_TEXT_LEN + 20);
        assert_eq!(bounded.replaced, ["status"]);
    }

    proptest! {
        #[test]
        fn bounded_report_is_within_its_bounds(
            wall: i64, cpu: i64, at: i64, peak: Option<u64>, earliest: i64, now: i64,
        ) {
            let (earliest, now) = (Instant::from_micros(earliest), Instant::from_micros(now));
            let bounds = ReportBounds { earliest, now };
            let bounded = bounds.apply(ended(wall, cpu, at, peak));
            let again = bounds.apply(bounded.report.clone());
            prop_assert_eq!(&again.report, &bounded.report);
            prop_assert_eq!(again.replaced, Vec::<&str>::new());
            let AttemptEvent::Ended(outcome) = bounded.report.event else {
                panic!("an end stays an end");
            };
            prop_assert!(outcome.wall >= Span::ZERO && outcome.wall <= bounds.max_wall());
            prop_assert!(outcome.cpu >= Span::ZERO);
            prop_assert!(outcome.suspended >= Span::ZERO && outcome.suspended <= outcome.wall);
            prop_assert!(outcome.at <= now && (outcome.at >= earliest || earliest > now));
        }
    }
}
