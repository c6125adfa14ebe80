//! Parses spans, instants, memory and rates.

use std::collections::BTreeMap;

use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use tollgate_client::resources::parse_resources;
use tollgate_model::MAX_DEVICES;

use super::cluster::{ClusterJob, parse_cluster_job};
use super::list::SITE_WORD;
use crate::exit::CliFailure;

/// Seconds of each unit of a span.
const UNITS: &[(&str, f64)] = &[
    ("weeks", 604_800.0),
    ("week", 604_800.0),
    ("w", 604_800.0),
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("d", 86_400.0),
    ("hours", 3_600.0),
    ("hour", 3_600.0),
    ("hrs", 3_600.0),
    ("hr", 3_600.0),
    ("h", 3_600.0),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("mins", 60.0),
    ("min", 60.0),
    ("m", 60.0),
    ("seconds", 1.0),
    ("second", 1.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
];

/// Parses a span to seconds: `90`, `20m`, `1h30m`, `2 hours`, `1:30:00`, `1-12:00:00`.
pub(crate) fn parse_span(words: &str) -> Result<f64, String> {
    let text = words.trim();
    let secs = parse_clock(text).or_else(|| parse_units(text));
    secs.filter(|secs| secs.is_finite() && *secs > 0.0)
        .ok_or_else(|| {
            format!("expected a span as in 90s, 20m, 1h30m or 1-12:00:00, got `{words}`")
        })
}

/// Parses `[days-]hours:minutes:seconds` or `minutes:seconds`.
fn parse_clock(text: &str) -> Option<f64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse::<u32>().ok()?, clock),
        None => (0, text),
    };
    if !clock.contains(':') {
        return None;
    }
    let mut secs = 0.0;
    for part in clock.split(':') {
        secs = secs * 60.0 + f64::from(part.parse::<u32>().ok()?);
    }
    (clock.matches(':').count() <= 2).then_some(secs + f64::from(days) * 86_400.0)
}

/// Parses numbers with units. A single number without a unit is in seconds.
fn parse_units(text: &str) -> Option<f64> {
    if let Ok(secs) = text.parse::<f64>() {
        return Some(secs);
    }
    let (mut rest, mut secs) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].trim_start();
        let end = unit
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit.len());
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == &unit[..end])?;
        secs += number * scale;
        rest = unit[end..].trim_start();
    }
    Some(secs)
}

/// The maximum span until a moment, in seconds: a hundred years.
const MAX_RELATIVE_S: f64 = 3.2e9;

/// A moment as the user typed it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeSpec {
    /// A number of seconds after submission, by the service's clock.
    Relative(f64),
    /// An absolute instant.
    Absolute(Timestamp),
}

/// Parses a moment: `+2h`, `now+2hours` and `1-12:00:00` (from now), `17:00` (the next time of
/// day), `tomorrow 9am`, `fri 17:00`, `noon`, `2026-12-01T09:00` in the zone of `now`, or ISO 8601
/// with an offset.
fn parse_time(words: &str, now: &Zoned) -> Result<TimeSpec, String> {
    let text = words.trim();
    let relative = text.strip_prefix("now").unwrap_or(text).trim_start();
    if let Some(later) = relative.strip_prefix('+') {
        return relative_time(parse_span(later)?, words);
    }
    if let Some(at) = parse_day_and_time(&text.to_ascii_lowercase(), now) {
        return Ok(TimeSpec::Absolute(at));
    }
    if let Some(secs) = days_and_clock(text).or_else(|| units_only(text)) {
        return relative_time(secs, words);
    }
    let at = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| parse_civil(text, now));
    at.map(TimeSpec::Absolute).ok_or_else(|| {
        format!(
            "expected an instant as in +2h, 17:00, `tomorrow 9am` or 2026-12-01T09:00, got `{words}`"
        )
    })
}

fn relative_time(secs: f64, words: &str) -> Result<TimeSpec, String> {
    match (0.0..=MAX_RELATIVE_S).contains(&secs) {
        true => Ok(TimeSpec::Relative(secs)),
        false => Err(format!(
            "expected a moment within a hundred years, got `{words}`"
        )),
    }
}

/// Parses a span such as `1-12:00:00`. Without days the text is a time of day.
fn days_and_clock(text: &str) -> Option<f64> {
    parse_clock(text).filter(|_| text.contains('-'))
}

/// Parses a span with units, such as `2h` or `90 min`. A number without a unit is ambiguous.
fn units_only(text: &str) -> Option<f64> {
    parse_units(text).filter(|secs| text.parse::<f64>().is_err() && *secs > 0.0)
}

/// Parses a time of day, with an optional day before or after it. Without a day the result is the
/// next such time.
fn parse_day_and_time(text: &str, now: &Zoned) -> Option<Timestamp> {
    let (first, second) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (day, time) = match (parse_day(first, now), parse_day(second, now)) {
        (Some(days), None) => (Some(days), second.trim()),
        (None, Some(days)) => (Some(days), first),
        (None, None) => (None, text),
        (Some(_), Some(_)) => return None,
    };
    let time = parse_time_of_day(time)?;
    let at = |days: i32| {
        let date = now.date().checked_add(days.days()).ok()?;
        let zoned = date
            .to_datetime(time)
            .to_zoned(now.time_zone().clone())
            .ok()?;
        Some(zoned.timestamp())
    };
    let to_come = |days: i32| at(days).filter(|&at| at > now.timestamp());
    match day {
        Some(DaySpec::DaysFromToday(days)) => at(days),
        Some(DaySpec::Weekday(days)) => to_come(days).or_else(|| at(days + 7)),
        None => to_come(0).or_else(|| at(1)),
    }
}

/// A day from today on.
enum DaySpec {
    /// A number of days from today.
    DaysFromToday(i32),
    /// A weekday, which comes in this number of days or a week later.
    Weekday(i32),
}

fn parse_day(word: &str, now: &Zoned) -> Option<DaySpec> {
    const WEEKDAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    match word {
        "today" => return Some(DaySpec::DaysFromToday(0)),
        "tomorrow" => return Some(DaySpec::DaysFromToday(1)),
        _ if word.len() < 3 => return None,
        _ => {}
    }
    let place = WEEKDAYS.iter().position(|name| name.starts_with(word))?;
    let today = i32::from(now.date().weekday().to_monday_zero_offset());
    Some(DaySpec::Weekday((place as i32 - today).rem_euclid(7)))
}

/// Parses a time of day: `17:00`, `17:00:30`, `9am`, `9:30pm`, `noon`, `midnight`.
fn parse_time_of_day(text: &str) -> Option<Time> {
    match text {
        "midnight" => return Time::new(0, 0, 0, 0).ok(),
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        _ => {}
    }
    let (clock, noon) = match text.strip_suffix("am") {
        Some(clock) => (clock, Some(0)),
        None => match text.strip_suffix("pm") {
            Some(clock) => (clock, Some(12)),
            None => (text, None),
        },
    };
    let mut parts = clock.trim().split(':').map(|part| part.parse::<i8>().ok());
    let hour = parts.next()??;
    let minute = parts.next();
    let second = parts.next();
    if parts.next().is_some() || (minute.is_none() && noon.is_none()) {
        return None;
    }
    let hour = match noon {
        Some(noon) if (1..=12).contains(&hour) => hour % 12 + noon,
        Some(_) => return None,
        None => hour,
    };
    Time::new(
        hour,
        minute.unwrap_or(Some(0))?,
        second.unwrap_or(Some(0))?,
        0,
    )
    .ok()
}

fn parse_civil(text: &str, now: &Zoned) -> Option<Timestamp> {
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp())
}

/// Parses a moment to an instant by this host's clock.
pub(super) fn parse_moment(words: &str, now: &Zoned) -> Result<Timestamp, String> {
    match parse_time(words, now)? {
        TimeSpec::Relative(secs) => {
            let later = SignedDuration::from_secs_f64(secs);
            let at = now.timestamp().checked_add(later);
            at.map_err(|error| error.to_string())
        }
        TimeSpec::Absolute(at) => Ok(at),
    }
}

/// Parses a deadline into the fields of a request: a span, or an instant. A relative deadline counts by the
/// service's clock, whatever this host's clock shows.
pub(super) fn parse_deadline(
    words: &str,
    now: &Zoned,
) -> Result<(Option<f64>, Option<String>), CliFailure> {
    match parse_time(words, now) {
        Ok(TimeSpec::Relative(secs)) => Ok((Some(secs), None)),
        Ok(TimeSpec::Absolute(at)) => Ok((None, Some(at.to_string()))),
        Err(message) => Err(CliFailure::invalid_flag("deadline", message)),
    }
}

/// Parses devices and licences: `gpu:2`, `gpu:a100:1,matlab`.
pub(super) fn parse_resource_list(words: &str) -> Result<BTreeMap<String, u8>, String> {
    parse_resources(words).map_err(|error| error.to_string())
}

/// Parses devices of a host: `gpu:2`.
pub(super) fn parse_device_list(words: &str) -> Result<BTreeMap<String, u8>, String> {
    let devices = parse_resource_list(words)?;
    match devices.values().all(|count| *count <= MAX_DEVICES) {
        true => Ok(devices),
        false => Err(format!(
            "expected at most {MAX_DEVICES} devices of each kind"
        )),
    }
}

/// Parses a size in bytes: `2G`, `500M`, `1.5GiB`, `1048576`. Units are powers of 1024.
pub(super) fn parse_memory(words: &str) -> Result<u64, String> {
    let text = words.trim().to_ascii_lowercase();
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let power = match text[end..].trim_end_matches('b').trim_end_matches('i') {
        "" => Some(0),
        "k" => Some(1),
        "m" => Some(2),
        "g" => Some(3),
        "t" => Some(4),
        _ => None,
    };
    let number: Option<f64> = text[..end].trim().parse().ok();
    let bytes = number
        .zip(power)
        .map(|(number, power)| number * 1024_f64.powi(power));
    bytes
        .filter(|bytes| (1.0..=1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("expected memory as in 2G or 500M, got `{words}`"))
}

/// Parses what is to be explained: a job or tasks of an array, or the word for a site.
pub(super) fn parse_explained(words: &str) -> Result<ClusterJob, String> {
    parse_cluster_job(words, |job| match job {
        SITE_WORD => Ok(job.to_owned()),
        job => parse_job_id(job),
    })
}

/// Parses a job or tasks of an array: `7`, `7_3`, `7_1-5,9`. The service checks that they exist.
pub(super) fn parse_job_id(words: &str) -> Result<String, String> {
    let (id, tasks) = words.split_once('_').unwrap_or((words, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let ranges = tasks.split([',', '-', ':']).all(digits);
    if digits(id) && ranges {
        return Ok(words.to_owned());
    }
    Err(format!(
        "expected the number of a job as in 7, or tasks of an array as in 7_3 or 7_1-5,9, got `{words}`"
    ))
}

/// Parses a job or tasks of an array, with the cluster that has them if it is named: `7`, `north:7_3`.
pub(super) fn parse_cluster_job_id(words: &str) -> Result<ClusterJob, String> {
    parse_cluster_job(words, parse_job_id)
}

/// Parses jobs as [`parse_job_numbers`] does, with the cluster that has them if it is named.
pub(super) fn parse_cluster_job_numbers(words: &str) -> Result<ClusterJob<JobNumbers>, String> {
    parse_cluster_job(words, parse_job_numbers)
}

/// The numbers of jobs, as a user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobNumbers {
    /// A job, or tasks of an array: `7`, `7_3`, `7_1-5,9`.
    One(String),
    /// The jobs between two numbers, with both.
    Range(u64, u64),
}

/// Parses a job, tasks of an array, or a range of jobs: `7`, `7_1-5,9`, `10-20`.
pub(super) fn parse_job_numbers(words: &str) -> Result<JobNumbers, String> {
    let range = words.split_once('-').filter(|_| !words.contains('_'));
    let Some((first, last)) = range else {
        return parse_job_id(words).map(JobNumbers::One);
    };
    let ends = first.parse().ok().zip(last.parse().ok());
    ends.filter(|(first, last)| first <= last)
        .map(|(first, last)| JobNumbers::Range(first, last))
        .ok_or_else(|| format!("expected a range of jobs as in 10-20, got `{words}`"))
}

/// Parses credits per second: `0.1/s`, `6/min`, `360/h`, `0.1`.
pub(super) fn parse_rate(words: &str) -> Result<f64, String> {
    let (number, unit) = words.split_once('/').unwrap_or((words, "s"));
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim());
    let number = number.trim().parse::<f64>().ok();
    number
        .zip(scale)
        .map(|(number, (_, scale))| number / scale)
        .filter(|rate| rate.is_finite() && *rate >= 0.0)
        .ok_or_else(|| format!("expected credits over time as in 0.1/s or 360/h, got `{words}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_span_formats_are_parsed() {
        for (words, secs) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("20m", 1200.0),
            ("1h30m", 5400.0),
            ("2 hours", 7200.0),
            ("1.5h", 5400.0),
            ("1 day 2h", 93_600.0),
            ("2:30", 150.0),
            ("1:30:00", 5400.0),
            ("1-12:00:00", 129_600.0),
        ] {
            assert_eq!(parse_span(words), Ok(secs), "{words}");
        }
        for words in [
            "",
            "0",
            "-5",
            "soon",
            "5 parsecs",
            "1:2:3:4",
            "m",
            "inf",
            "5h!",
        ] {
            assert!(parse_span(words).is_err(), "{words}");
        }
    }

    #[test]
    fn times_are_parsed_in_the_zone_of_the_user() {
        let now: Zoned = "2026-11-21T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (words, expected) in [
            ("+2h", "7200 s"),
            ("now+2hours", "7200 s"),
            ("17:00", "2026-11-21T16:00:00Z"),
            ("15:00", "2026-11-22T14:00:00Z"),
            ("tomorrow 9am", "2026-11-22T08:00:00Z"),
            ("today 11:30pm", "2026-11-21T22:30:00Z"),
            ("12am", "2026-11-21T23:00:00Z"),
            ("midnight", "2026-11-21T23:00:00Z"),
            ("noon tomorrow", "2026-11-22T11:00:00Z"),
            ("9AM Tomorrow", "2026-11-22T08:00:00Z"),
            ("sat 16:00", "2026-11-21T15:00:00Z"),
            ("saturday 9am", "2026-11-28T08:00:00Z"),
            ("fri 17:00", "2026-11-27T16:00:00Z"),
            ("1-12:00:00", "129600 s"),
            ("90 min", "5400 s"),
            ("2026-12-01T09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01T09:00Z", "2026-12-01T09:00:00Z"),
        ] {
            let read = parse_time(words, &now).map(|moment| match moment {
                TimeSpec::Absolute(at) => at.to_string(),
                TimeSpec::Relative(secs) => format!("{secs} s"),
            });
            assert_eq!(read.as_deref(), Ok(expected), "{words}");
        }
        for words in [
            "",
            "noon-ish",
            "90",
            "today tomorrow",
            "someday 9am",
            "tomorrow",
            "25:00",
            "13pm",
            "+",
            "+soon",
            "+1e300s",
            "yesterday 5pm",
        ] {
            assert!(parse_time(words, &now).is_err(), "{words}");
        }
    }

    #[test]
    fn job_and_task_ids_are_parsed() {
        for words in ["7", "7_3", "7_1-5,9", "7_0-9:3"] {
            assert_eq!(parse_job_id(words).as_deref(), Ok(words));
        }
        for words in ["", "x", "7_", "7_a", "_3", "7_1-", "-7", "7/cancel"] {
            assert!(parse_job_id(words).is_err(), "{words}");
            assert!(parse_job_numbers(words).is_err(), "{words}");
        }
        assert_eq!(parse_job_numbers("10-20"), Ok(JobNumbers::Range(10, 20)));
        let tasks = JobNumbers::One("7_1-5".to_owned());
        assert_eq!(parse_job_numbers("7_1-5"), Ok(tasks));
        assert!(parse_job_numbers("20-10").is_err());
    }

    #[test]
    fn memory_and_rates_are_parsed_with_their_units() {
        assert_eq!(parse_memory("2G"), Ok(2 << 30));
        assert_eq!(parse_memory("512MiB"), Ok(512 << 20));
        assert_eq!(parse_memory("1.5k"), Ok(1536));
        assert!(
            parse_memory("lots").is_err()
                && parse_memory("0").is_err()
                && parse_memory("-1G").is_err()
        );
        assert_eq!(parse_rate("0.1/s"), Ok(0.1));
        assert_eq!(parse_rate("360/h"), Ok(0.1));
        assert_eq!(parse_rate("2"), Ok(2.0));
        assert!(parse_rate("2/fortnight").is_err() && parse_rate("-1/s").is_err());
    }
}
