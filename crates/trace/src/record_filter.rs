//! The selection of a part of a record: a period, users, queues.

use std::str::FromStr;

use tollgate_model::{Instant, Span};

use crate::parse_time;
use crate::record_field::RecordField;
use crate::trace::Trace;

/// The jobs of a record that take part; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Jobs submitted at this time or later.
    pub start: Option<RecordTime>,
    /// Jobs submitted before this time.
    pub end: Option<RecordTime>,
    /// Jobs of these users; of all if empty.
    pub users: Vec<String>,
    /// Jobs of these queues; of all if empty.
    pub queues: Vec<String>,
}

/// A point of time of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTime {
    /// A calendar time, since the Unix epoch.
    Date(Instant),
    /// A time on the record's own clock.
    Clock(Instant),
}

/// An error for a word that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a date, as 2026-05-31 or 2026-05-31T12:00:00 (UTC), or seconds of the record's clock"
)]
pub struct RecordTimeError;

impl FromStr for RecordTime {
    type Err = RecordTimeError;

    fn from_str(word: &str) -> Result<Self, RecordTimeError> {
        if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            let seconds = word.parse().map_err(|_| RecordTimeError)?;
            let clock = Span::from_secs_f64(seconds);
            return Ok(Self::Clock(Instant::ZERO + clock));
        }
        let whole = if word.len() == "2026-05-31".len() {
            format!("{word}T00:00:00")
        } else {
            word.to_owned()
        };
        let read = parse_time::instant(whole.as_bytes(), RecordField::Submit);
        read.map(|(at, _)| Self::Date(at))
            .map_err(|_| RecordTimeError)
    }
}

/// An error for a date in a record whose clock has none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: the record does not say when its clock began, so a date selects nothing")]
pub struct DatelessRecord {
    /// Source of the record.
    pub source_name: String,
}

impl RecordFilter {
    /// Returns true if all jobs take part.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the jobs that take part, in file order. The names are compared with those of the record,
    /// which must have been read with all columns.
    ///
    /// # Errors
    /// If a date is given and the record has no calendar.
    pub fn select(&self, trace: Trace) -> Result<Trace, DatelessRecord> {
        if self.is_empty() {
            return Ok(trace);
        }
        let on_clock = |time: Option<RecordTime>| match time {
            None => Ok(None),
            Some(RecordTime::Clock(at)) => Ok(Some(at)),
            Some(RecordTime::Date(at)) => match trace.unix_start {
                Some(origin) => Ok(Some(Instant::ZERO + at.since(origin))),
                None => Err(DatelessRecord {
                    source_name: trace.source.clone(),
                }),
            },
        };
        let (start, end) = (on_clock(self.start)?, on_clock(self.end)?);
        let is_one_of = |chosen: &[String], name: Option<&str>| {
            chosen.is_empty() || name.is_some_and(|name| chosen.iter().any(|one| one == name))
        };
        let names = trace.metadata.as_ref();
        let keeps = |row: usize| {
            let submit = trace.jobs[row].submit;
            start.is_none_or(|start| start <= submit)
                && end.is_none_or(|end| submit < end)
                && is_one_of(&self.users, names.and_then(|names| names.user.get(row)))
                && is_one_of(&self.queues, names.and_then(|names| names.queue.get(row)))
        };
        let kept: Vec<bool> = (0..trace.jobs.len()).map(keeps).collect();
        Ok(trace.retain(|row| kept[row]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{ColumnSelection, ReadOptions};

    const TABLE: &str = "job_id,submit_s,runtime_s,procs,user,queue,site,deadline_s\n\
         1,0,5,1,ann,long,n,10\n2,10,6,2,bob,short,s,20\n3,20,7,3,ann,short,e,30\n4,30,8,4,,,w,40\n";

    fn numbers(filter: &RecordFilter) -> Vec<u64> {
        let options = ReadOptions {
            columns: ColumnSelection::All,
        };
        let trace = crate::job_table::read("jobs", TABLE.as_bytes(), options).unwrap();
        let trace = filter.select(trace).unwrap();
        for (row, job) in trace.jobs.iter().enumerate() {
            let place = (job.number - 1) as usize;
            let site = trace.extra.as_ref().unwrap().row(row).next();
            assert_eq!(site, Some(["n", "s", "e", "w"][place]));
            let deadline = trace.slas.as_ref().unwrap()[row].deadline;
            assert_eq!(deadline, Some(Span::from_secs(10 * job.number as i64)));
        }
        trace.jobs.iter().map(|job| job.number).collect()
    }

    #[test]
    fn period_users_and_queues_are_selected() {
        let of = |change: fn(&mut RecordFilter)| {
            let mut filter = RecordFilter::default();
            change(&mut filter);
            numbers(&filter)
        };
        assert_eq!(of(|_| ()), [1, 2, 3, 4]);
        assert_eq!(of(|f| f.users = vec!["ann".into()]), [1, 3]);
        assert_eq!(of(|f| f.queues = vec!["short".into()]), [2, 3]);
        assert_eq!(
            of(|f| {
                f.start = "10".parse().ok();
                f.end = "30".parse().ok();
            }),
            [2, 3]
        );
    }

    #[test]
    fn dates_need_a_calendar() {
        assert_eq!(
            "1970-01-02".parse(),
            Ok(RecordTime::Date(Instant::from_secs(86_400)))
        );
        assert!("yesterday".parse::<RecordTime>().is_err());
        let filter = RecordFilter {
            start: "1970-01-02".parse().ok(),
            ..RecordFilter::default()
        };
        let mut trace = Trace::empty("jobs");
        assert!(filter.select(trace.clone()).is_err());
        trace.unix_start = Some(Instant::ZERO);
        assert!(filter.select(trace).is_ok());
    }
}
