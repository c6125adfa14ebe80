//! The job in a ClassAd, in any notation.
//!
//! - Number: `ClusterId`, which the processes of a cluster share. Submission: `QDate`.
//! - Run time: `CommittedTime`, the run time of the attempt that counted, without its suspensions. Else, for
//!   a job that was removed, `LastRemoteWallClockTime`, that of the last attempt, or `RemoteWallClockTime`,
//!   that of all attempts. Else the span of the last attempt, or 0 if the job once started.
//! - Processors: `CpusProvisioned`, else `RequestCpus` times `MaxHosts`.
//! - Estimate: `AllowedExecuteDuration`, else `AllowedJobDuration`, else `MaxWallTime` in minutes.
//! - Wait: until `JobStartDate`. Peak memory: `ResidentSetSize`, else `MemoryUsage`, else
//!   `ImageSize`, which counts address space.
//! - Attempts: the last, from `JobCurrentStartDate`; an ad does not record when earlier ones ended.

use std::borrow::Cow;

use tollgate_model::{Bytes, Instant, Span};

use crate::attempts::{TraceAttempt, TraceAttemptEnd};
use crate::finding::Finding;
use crate::options::ColumnSelection;
use crate::parse_field;
use crate::parse_time;
use crate::program::program;
use crate::record_field::RecordField;
use crate::record_reader::{self, NEVER_RAN, ParsedRecord};
use crate::trace_metadata::RecordNames;
use crate::usage::{TraceStatus, TraceUsage};

const KIBI: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;

const SECONDS_PER_MINUTE: i64 = 60;

/// The attributes that are read. Case does not matter.
const ATTRIBUTES: [&str; 38] = [
    "ClusterId",
    "ProcId",
    "QDate",
    "JobStatus",
    "JobStartDate",
    "JobCurrentStartDate",
    "CompletionDate",
    "EnteredCurrentStatus",
    "CommittedTime",
    "CommittedSuspensionTime",
    "RemoteWallClockTime",
    "LastRemoteWallClockTime",
    "CumulativeSuspensionTime",
    "LastJobStatus",
    "CpusProvisioned",
    "RequestCpus",
    "MaxHosts",
    "AllowedExecuteDuration",
    "AllowedJobDuration",
    "MaxWallTime",
    "Owner",
    "User",
    "AcctGroup",
    "x509UserProxyVOName",
    "AccountingGroup",
    "ProjectName",
    "Cmd",
    "RemoteUserCpu",
    "RemoteSysCpu",
    "ResidentSetSize_RAW",
    "ResidentSetSize",
    "MemoryUsage",
    "ImageSize_RAW",
    "ImageSize",
    "RequestMemory",
    "ExitBySignal",
    "ExitCode",
    "ExitStatus",
];

/// The attributes of a job that are read.
#[derive(Clone, Debug)]
pub(super) struct JobAd<'a> {
    /// The values in the order of `ATTRIBUTES`.
    values: [Option<Cow<'a, [u8]>>; ATTRIBUTES.len()],
}

impl Default for JobAd<'_> {
    fn default() -> Self {
        Self {
            values: [const { None }; ATTRIBUTES.len()],
        }
    }
}

impl<'a> JobAd<'a> {
    /// Returns whether an attribute of this name is read.
    pub(super) fn is_known_attribute(name: &[u8]) -> bool {
        attribute_index(name).is_some()
    }

    /// Sets an attribute. The last value of a repeated attribute counts.
    pub(super) fn set(&mut self, name: &[u8], value: Cow<'a, [u8]>) {
        if let Some(place) = attribute_index(name) {
            self.values[place] = Some(value);
        }
    }

    /// Returns the job, if it has ended.
    ///
    /// # Errors
    /// If the ad is unusable.
    pub(super) fn to_record(&self, keep: ColumnSelection) -> Result<ParsedRecord<'_>, Finding> {
        let mut notes = Vec::new();
        let number = record_reader::required(self.get("ClusterId"), RecordField::JobNumber)?;
        let number = parse_field::job_number(number)?;
        if self.get("ProcId").is_some_and(|process| process != b"0") {
            notes.push(Finding::SharedNumber);
        }
        let submit = record_reader::required(self.get("QDate"), RecordField::Submit)?;
        let submit = parse_time::unix_seconds(submit, RecordField::Submit)?;
        let status = self.status()?;
        let runtime = self.runtime(status)?;
        let requested = self.requested(&mut notes);
        Ok(ParsedRecord {
            number,
            key: None,
            submit,
            runtime,
            estimate: self.limit(&mut notes),
            allocated: self.procs("CpusProvisioned", &mut notes),
            requested: parse_field::usable(requested, RecordField::Procs, &mut notes),
            names: self.names(),
            usage: keep.usage(|| self.usage(submit, status, &mut notes)),
            attempts: Some(self.attempts(status)),
            notes,
        })
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        let at = attribute_index(name.as_bytes())?;
        let value = self.values[at].as_deref()?;
        (!value.is_empty() && !value.eq_ignore_ascii_case(b"undefined")).then_some(value)
    }

    /// Parses the status: 3 is removed and 4 is completed; every other status is temporary.
    fn status(&self) -> Result<TraceStatus, Finding> {
        match self.get("JobStatus") {
            Some(b"3") => Ok(TraceStatus::Cancelled),
            Some(b"4") => Ok(self.exit()),
            Some(b"1" | b"2" | b"5" | b"6" | b"7") => Err(Finding::NotEnded),
            Some(_) => Err(Finding::UnknownState),
            None => Err(Finding::Missing(RecordField::Status)),
        }
    }

    fn exit(&self) -> TraceStatus {
        let signal = self.get("ExitBySignal");
        if signal.is_some_and(|value| value.eq_ignore_ascii_case(b"true")) {
            return TraceStatus::Failed;
        }
        match self.get("ExitCode").or(self.get("ExitStatus")) {
            Some(b"0") => TraceStatus::Completed,
            Some(_) => TraceStatus::Failed,
            None => TraceStatus::Unknown,
        }
    }

    fn runtime(&self, status: TraceStatus) -> Result<Span, Finding> {
        let positive = |name| Ok(self.span(name)?.filter(|&span| span > Span::ZERO));
        let less = |whole: Span, suspended| {
            let suspended = self.span(suspended)?.unwrap_or(Span::ZERO);
            Ok((whole - suspended).max(Span::ZERO))
        };
        if let Some(committed) = positive("CommittedTime")? {
            return less(committed, "CommittedSuspensionTime");
        }
        let last = positive("LastRemoteWallClockTime")?;
        match (last, positive("RemoteWallClockTime")?) {
            // How long the last of several attempts was suspended is not recorded.
            (Some(last), Some(all)) if last < all => Ok(last),
            (_, Some(all)) => less(all, "CumulativeSuspensionTime"),
            (Some(last), None) => less(last, "CumulativeSuspensionTime"),
            (None, None) => Ok(match self.attempts(status).last() {
                Some(attempt) => attempt.end.since(attempt.start),
                None if self.first_start().is_some() => Span::ZERO,
                None => NEVER_RAN,
            }),
        }
    }

    fn span(&self, name: &str) -> Result<Option<Span>, Finding> {
        let read = self
            .get(name)
            .map(|text| parse_field::span(text, RecordField::RunTime));
        read.transpose()
    }

    fn instant(&self, name: &str) -> Option<Instant> {
        let instant = parse_time::unix_seconds(self.get(name)?, RecordField::Start).ok()?;
        (instant > Instant::ZERO).then_some(instant)
    }

    /// Returns when the job first started, or nothing if it never did.
    fn first_start(&self) -> Option<Instant> {
        let first = self.instant("JobStartDate");
        first.or_else(|| self.instant("JobCurrentStartDate"))
    }

    fn limit(&self, notes: &mut Vec<Finding>) -> Option<Span> {
        let limits = [
            ("AllowedExecuteDuration", 1),
            ("AllowedJobDuration", 1),
            ("MaxWallTime", SECONDS_PER_MINUTE),
        ];
        let mut limits = limits.into_iter().filter_map(|(name, unit)| {
            let text = self.literal(name, RecordField::Estimate, notes)?;
            let span = parse_field::span(text, RecordField::Estimate).ok()?;
            let micros = span.as_micros().saturating_mul(unit);
            let limit = parse_field::in_range(micros, RecordField::Estimate).ok()?;
            (limit > Span::ZERO).then_some(limit)
        });
        limits.next()
    }

    fn requested(&self, notes: &mut Vec<Finding>) -> Result<Option<u32>, Finding> {
        let each = self.procs("RequestCpus", notes);
        let hosts = self.procs("MaxHosts", notes);
        let count = each.map(|each| u64::from(each) * u64::from(hosts.unwrap_or(1)));
        let count = count.map(|count| parse_field::procs(count.to_string().as_bytes()));
        Ok(count.transpose()?.flatten())
    }

    fn procs(&self, name: &str, notes: &mut Vec<Finding>) -> Option<u32> {
        let text = self.literal(name, RecordField::Procs, notes)?;
        parse_field::procs(text).ok().flatten()
    }

    /// Returns the value of an attribute. An expression instead of a value is noted.
    fn literal(&self, name: &str, field: RecordField, notes: &mut Vec<Finding>) -> Option<&[u8]> {
        let value = self.get(name)?;
        if crate::parse_number::millionths(value).is_err() {
            notes.push(Finding::Expression(field));
            return None;
        }
        Some(value)
    }

    fn names(&self) -> RecordNames<'_> {
        let first = |names: [&str; 2]| {
            let mut values = names.into_iter().filter_map(|name| self.get(name));
            values.next().unwrap_or_default()
        };
        RecordNames {
            user: first(["Owner", "User"]),
            group: first(["AcctGroup", "x509UserProxyVOName"]),
            account: first(["ProjectName", "AccountingGroup"]),
            executable: program(
                self.get("Cmd").unwrap_or_default(),
                first(["Arguments", "Args"]),
            )
            .into(),
            queue: &[],
        }
    }

    fn usage(&self, submit: Instant, status: TraceStatus, notes: &mut Vec<Finding>) -> TraceUsage {
        let start = self.first_start();
        let mut time = |name| {
            let read = self.get(name).map_or(Ok(None), |text| {
                parse_field::known_span(text, RecordField::CpuTime)
            });
            parse_field::usable(read, RecordField::CpuTime, notes)
        };
        let (user, system) = (time("RemoteUserCpu"), time("RemoteSysCpu"));
        let mut memory = |name, unit, field| {
            let text = self.literal(name, field, notes)?;
            parse_field::usable(parse_field::bytes(text, unit, field), field, notes)
                .filter(|&bytes| bytes > Bytes::ZERO)
        };
        let peak = RecordField::PeakMemory;
        let sizes = [
            ("ResidentSetSize_RAW", KIBI),
            ("ResidentSetSize", KIBI),
            ("MemoryUsage", MEBI),
            ("ImageSize_RAW", KIBI),
            ("ImageSize", KIBI),
        ];
        let peak_memory = sizes
            .into_iter()
            .find_map(|(name, unit)| memory(name, unit, peak));
        TraceUsage {
            held: None,
            requested_memory: memory("RequestMemory", MEBI, RecordField::RequestedMemory),
            wait: start.and_then(|start| record_reader::wait_time(submit, start, notes)),
            cpu_time: user.zip(system).map(|(user, system)| user + system),
            peak_memory,
            status,
        }
    }

    fn attempts(&self, status: TraceStatus) -> Vec<TraceAttempt> {
        let start = self.instant("JobCurrentStartDate");
        let (end, ended) = match status {
            TraceStatus::Cancelled => (
                self.instant("EnteredCurrentStatus"),
                TraceAttemptEnd::Removed,
            ),
            TraceStatus::Unknown
            | TraceStatus::Completed
            | TraceStatus::Failed
            | TraceStatus::TimedOut
            | TraceStatus::OutOfMemory
            | TraceStatus::NodeFailed
            | TraceStatus::Preempted => (self.instant("CompletionDate"), TraceAttemptEnd::Finished),
        };
        // A job that was removed while it waited ran before; its ad does not record until when.
        let ran_last = matches!(self.get("LastJobStatus"), None | Some(b"2" | b"6" | b"7"));
        let is_last = ended == TraceAttemptEnd::Finished || ran_last;
        let known = start
            .zip(end)
            .filter(|(start, end)| is_last && end >= start);
        let attempt = known.map(|(start, end)| TraceAttempt { start, end, ended });
        attempt.into_iter().collect()
    }
}

fn attribute_index(name: &[u8]) -> Option<usize> {
    ATTRIBUTES
        .iter()
        .position(|known| known.as_bytes().eq_ignore_ascii_case(name))
}
