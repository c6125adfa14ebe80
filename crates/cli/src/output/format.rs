//! Formats instants and spans.

use std::io::{self, Write};

use jiff::{Timestamp, Zoned};
use serde::Serialize;
use tollgate_client::types::{JobDetails, JobForecast, JobState};
use tollgate_model::Probability;

use crate::parse::time_zone;

/// Formats an instant of the protocol in the user's zone: the time of day if the instant is within
/// a day of `now`, and otherwise with the date.
pub(crate) fn format_local_time(at: &str, now: &Zoned) -> String {
    let Ok(read) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let zoned = read.to_zoned(now.time_zone().clone());
    if zoned.date() == now.date() {
        return zoned.strftime("%H:%M:%S %Z").to_string();
    }
    zoned.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

/// Formats the expected start of a job that waits: an interval, because what comes later may start before the job.
pub(crate) fn format_waiting_start(expected: &JobForecast, now: &Zoned) -> String {
    let start = format_local_time(&expected.expected_start_at, now);
    match &expected.latest_start_at {
        Some(latest) if *latest != expected.expected_start_at => {
            format!(
                "between now and {}, 9 in 10",
                format_local_time(latest, now)
            )
        }
        Some(_) | None => start,
    }
}

/// Formats an instant of the protocol in the user's zone for a narrow table, without the zone. It is the time
/// of day if the instant is within a day of `now`, and otherwise the date, in another year without the time.
pub(crate) fn format_short_time(at: &str, now: &Zoned) -> String {
    let Ok(read) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let zoned = read.to_zoned(now.time_zone().clone());
    let pattern = match (zoned.date() == now.date(), zoned.year() == now.year()) {
        (true, _) => "%H:%M:%S",
        (false, true) => "%m-%d %H:%M",
        (false, false) => "%Y-%m-%d",
    };
    zoned.strftime(pattern).to_string()
}

/// Returns the present time in the user's zone.
pub(crate) fn now() -> Zoned {
    Timestamp::now().to_zoned(time_zone::local())
}

/// Formats seconds as `45s`, `20m`, `1h30m` or `2d5h`, with at most two units.
pub(crate) fn format_span(secs: f64) -> String {
    let whole = secs.round() as i64;
    let parts = [
        (whole / 86_400, "d"),
        (whole / 3_600 % 24, "h"),
        (whole / 60 % 60, "m"),
        (whole % 60, "s"),
    ];
    if secs < 10.0 {
        return format!("{}s", (secs * 10.0).round() / 10.0);
    }
    let words: Vec<String> = parts
        .iter()
        .skip_while(|(count, _)| *count == 0)
        .take(2)
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    words.concat()
}

/// Formats bytes as `16.0 MiB`.
pub(crate) fn mebibytes(bytes: u64) -> String {
    const MEBIBYTE: f64 = 1024.0 * 1024.0;
    format!("{:.1} MiB", bytes as f64 / MEBIBYTE)
}

/// Formats a probability as [`Probability`] does: `0.01` to `0.99`.
pub(crate) fn format_probability(probability: f64) -> String {
    Probability::new(probability).map_or_else(String::new, |known| known.to_string())
}

/// The beginning of the status of a job whose program never ran.
const NOT_STARTED: &str = "not started";

/// Returns the state of a job as users read it. A job whose program never ran is not called finished, and a
/// job that is held because the site could not start it says so.
pub(crate) fn state_word(job: &JobDetails) -> &str {
    let status = job.status.as_deref().unwrap_or_default();
    let never_ran = status.starts_with(NOT_STARTED);
    if never_ran && job.state == JobState::Held {
        return "held (not started)";
    }
    if never_ran && job.finished_at.is_some() {
        return NOT_STARTED;
    }
    if job.state == JobState::Running && job.suspended.is_some() {
        return "suspended";
    }
    let is_timed = job.begin_at.is_some() && job.after.is_empty();
    match job.state == JobState::Dependent && is_timed {
        true => "deferred",
        false => job.state.key(),
    }
}

/// Formats the name of a job or of a task: `7`, `7_3`.
pub(crate) fn format_job_id(job: &JobDetails) -> String {
    match job.task {
        Some(task) => format!("{}_{task}", job.id),
        None => job.id.to_string(),
    }
}

/// Writes an answer as JSON.
pub(crate) fn write_json(out: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer).map_err(io::Error::from)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        for (secs, words) in [
            (0.0, "0s"),
            (1.25, "1.3s"),
            (45.0, "45s"),
            (1200.0, "20m"),
            (5400.0, "1h30m"),
            (190_859.0, "2d5h"),
        ] {
            assert_eq!(format_span(secs), words);
        }
    }

    #[test]
    fn short_times_have_the_date_where_they_need_it() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (at, text) in [
            ("2026-11-21T16:30:00Z", "17:30:00"),
            ("2026-11-22T16:30:00Z", "11-22 17:30"),
            ("2025-11-22T16:30:00Z", "2025-11-22"),
        ] {
            assert_eq!(format_short_time(at, &now), text);
        }
    }

    #[test]
    fn times_of_today_have_no_date() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        assert_eq!(
            format_local_time("2026-11-21T16:30:00Z", &now),
            "17:30:00 CET"
        );
        assert_eq!(
            format_local_time("2026-11-22T16:30:00Z", &now),
            "2026-11-22 17:30:00 CET"
        );
    }
}
