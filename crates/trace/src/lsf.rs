//! LSF's accounting file `lsb.acct`: `JOB_FINISH` records, `lsb.acct(5)`.
//!
//! Fields are separated by blanks. Text is enclosed in quotation marks (doubled within) and may
//! span several lines. The position of a field depends on the lists before it. Other records, such
//! as those of reservations, are ignored.
//!
//! - Run time is from the start to the time of the record; a start of 0 means that the job never
//!   ran.
//! - Processors: the execution hosts, each as often as it gave a slot (`4*hostA` is four); else the
//!   requested processors.
//! - Estimate: the run limit; else the user's estimate, which LSF writes multiplied by the
//!   processor factor of a host, divided by that of the execution host.
//! - Account: the project. Executable: the name of the job; else the command, up to its first blank,
//!   unless it is the interpreter of a script.
//! - Processor time: user and system time. Peak memory: `maxRMem`. Requested memory: `mem` of
//!   `rusage` in the effective requirement, in MB on every execution host.
//! - The tasks of an array share the number of the array.

mod record;

use std::borrow::Cow;
use std::io::BufRead;

use record::LsfRecord;
use tollgate_model::{Bytes, Instant, Span};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::memory_size;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::program::program;
use crate::record_field::RecordField;
use crate::record_reader::{
    self, JoinedLines, NEVER_RAN, ParsedRecord, RecordContent, RecordFormat,
};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

const KIBI: u64 = 1 << 10;

/// `jStatus` of a job that ended with success (`JOB_STAT_DONE` of `lsbatch.h`).
const DONE: u64 = 0x40;

/// `exitInfo` of jobs that were killed (`TERM_RUNLIMIT`, `TERM_DEADLINE`; `TERM_MEMLIMIT`;
/// `TERM_PREEMPT`; `TERM_FORCE_OWNER`, `TERM_FORCE_ADMIN`, `TERM_OWNER`, `TERM_ADMIN` of
/// `lsbatch.h`).
const RUN_LIMIT: [&[u8]; 2] = [b"5", b"6"];
const MEMORY_LIMIT: &[u8] = b"16";
const PREEMPTED: &[u8] = b"1";
const CANCELLED_BY_USER_OR_ADMIN: [&[u8]; 4] = [b"8", b"9", b"14", b"15"];

/// Reads every record of `reader`; records that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no record was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `sink`.
pub(crate) fn read_to(
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    record_reader::read(LsfFormat, sink, source, reader, options)
}

/// Returns whether `line` begins with a type and a version in quotation marks, and then a time.
pub(crate) fn begins_record(line: &[u8]) -> bool {
    let mut parts = line.splitn(5, |&byte| byte == b'"');
    let mut part = || parts.next().unwrap_or_default();
    let (before, kind, between, version, rest) = (part(), part(), part(), part(), part());
    let is_kind = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    before.is_empty()
        && between == b" "
        && kind.first().is_some_and(u8::is_ascii_uppercase)
        && kind.iter().all(is_kind)
        && !version.is_empty()
        && version.iter().all(is_version)
        && matches!(rest, [b' ', digit, ..] if digit.is_ascii_digit())
}

struct LsfFormat;

impl RecordFormat for LsfFormat {
    fn begins_record(&self, _first: &[u8], line: &[u8]) -> bool {
        begins_record(line)
    }

    fn is_whole_record(&self, line: &[u8]) -> bool {
        begins_record(line)
    }

    /// Joins lines as long as a quoted text is open, if it is closed in one of them.
    fn join(&mut self, lines: &[&[u8]]) -> JoinedLines {
        let quotes = |line: &&[u8]| memchr::memchr_iter(b'"', line).count();
        let mut total = 0;
        let closed = lines.iter().position(|line| {
            total += quotes(line);
            total % 2 == 0
        });
        let count = closed.map_or(1, |at| at + 1);
        JoinedLines {
            text: lines[..count].join(&b'\n'),
            count,
        }
    }

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if !text.starts_with(b"\"JOB_FINISH\" ") {
            return match begins_record(text) {
                true => Ok(RecordContent::Nothing),
                false => Err(Finding::StrayLine),
            };
        }
        parse_record(&LsfRecord::split(text)?, keep).map(RecordContent::Job)
    }
}

fn parse_record<'a>(
    record: &LsfRecord<'a>,
    keep: ColumnSelection,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let number = parse_field::job_number(record.number)?;
    if !matches!(record.index, b"0" | b"") {
        notes.push(Finding::SharedNumber);
    }
    let submit = parse_time::unix_seconds(record.submit, RecordField::Submit)?;
    let start = parse_time::unix_seconds(record.start, RecordField::Start)?;
    let end = parse_time::unix_seconds(record.end, RecordField::End)?;
    let start = (start > Instant::ZERO).then_some(start);
    let requested = parse_field::procs(record.procs);
    Ok(ParsedRecord {
        number,
        key: None,
        submit,
        runtime: start.map_or(NEVER_RAN, |start| {
            record_reader::run_time(start, end, &mut notes)
        }),
        estimate: parse_field::usable(estimate(record), RecordField::Estimate, &mut notes),
        allocated: record.slots,
        requested: parse_field::usable(requested, RecordField::Procs, &mut notes),
        names: RecordNames {
            user: record.user,
            group: &[],
            account: record.project,
            executable: executable(record),
            queue: record.queue,
        },
        usage: keep.usage(|| TraceUsage {
            wait: start.and_then(|start| record_reader::wait_time(submit, start, &mut notes)),
            ..usage(record, &mut notes)
        }),
        attempts: None,
        notes,
    })
}

/// Parses the estimate. Fields of later versions may be missing; they are empty then.
fn estimate(record: &LsfRecord<'_>) -> Result<Option<Span>, Finding> {
    let positive = |text: &[u8]| -> Result<Option<Span>, Finding> {
        if text.is_empty() {
            return Ok(None);
        }
        let span = parse_field::span(text, RecordField::Estimate)?;
        Ok((span > Span::ZERO).then_some(span))
    };
    if let Some(limit) = positive(record.run_limit)? {
        return Ok(Some(limit));
    }
    let Some(scaled) = positive(record.estimate)? else {
        return Ok(None);
    };
    let factor = std::str::from_utf8(record.host_factor).ok();
    let factor = factor.and_then(|text| text.parse().ok());
    let factor: f64 = factor.filter(|&factor| factor > 0.0).unwrap_or(1.0);
    let estimate = Span::from_secs_f64(scaled.as_secs_f64() / factor);
    parse_field::in_range(estimate.as_micros(), RecordField::Estimate).map(Some)
}

fn usage(record: &LsfRecord<'_>, notes: &mut Vec<Finding>) -> TraceUsage {
    let mut time = |text| {
        let read = parse_field::known_span(text, RecordField::CpuTime);
        parse_field::usable(read, RecordField::CpuTime, notes)
    };
    let (user, system) = (time(record.user_time), time(record.system_time));
    let peak_memory = match record.max_memory {
        b"" => Ok(None),
        text => parse_field::bytes(text, KIBI, RecordField::PeakMemory),
    };
    let peak_memory = parse_field::usable(peak_memory, RecordField::PeakMemory, notes);
    let peak_memory = peak_memory.filter(|&bytes| bytes > Bytes::ZERO);
    let requested = reserved_memory(record.requirement)
        .map(|size| memory_size::lsf(size, RecordField::RequestedMemory));
    let requested = parse_field::usable(
        requested.unwrap_or(Ok(None)),
        RecordField::RequestedMemory,
        notes,
    );
    let requested = requested.filter(|&bytes| bytes > Bytes::ZERO);
    TraceUsage {
        held: None,
        wait: None,
        cpu_time: user.zip(system).map(|(user, system)| user + system),
        peak_memory,
        requested_memory: requested.map(|size| size.times(record.hosts)),
        status: status(record),
    }
}

fn status(record: &LsfRecord<'_>) -> TraceStatus {
    let Ok(Some(bits)) = crate::parse_number::whole(record.status) else {
        return TraceStatus::Unknown;
    };
    match record.exit_info {
        _ if bits & DONE != 0 => TraceStatus::Completed,
        reason if RUN_LIMIT.contains(&reason) => TraceStatus::TimedOut,
        MEMORY_LIMIT => TraceStatus::OutOfMemory,
        PREEMPTED => TraceStatus::Preempted,
        reason if CANCELLED_BY_USER_OR_ADMIN.contains(&reason) => TraceStatus::Cancelled,
        _ => TraceStatus::Failed,
    }
}

/// Returns the memory in `select[..] rusage[mem=1000.00,swp=100]`; the first of several usages that has
/// one counts.
fn reserved_memory(requirement: &[u8]) -> Option<&[u8]> {
    memchr::memmem::find_iter(requirement, b"rusage[").find_map(|at| {
        let inner = &requirement[at + b"rusage[".len()..];
        let inner = inner.split(|&byte| byte == b']').next()?;
        let mut parts = inner.split(|byte| b",:|".contains(byte));
        parts.find_map(|part| Some(part.trim_ascii().strip_prefix(b"mem=")?.trim_ascii()))
    })
}

/// Returns the name of the job without the index of an array; of a job without a name, which LSF calls
/// by its command, the program that the command runs. A script that was read from standard input is the
/// command itself, and its interpreter says nothing about the job.
fn executable<'a>(record: &LsfRecord<'a>) -> Cow<'a, [u8]> {
    unescaped(quoted_executable(record))
}

/// Returns the text without the doubling of its quotation marks.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    const DOUBLED: &[u8] = b"\"\"";
    let Some(first) = memchr::memmem::find(text, DOUBLED) else {
        return Cow::Borrowed(text);
    };
    let (mut whole, mut rest) = (text[..first].to_vec(), &text[first..]);
    while let Some((&byte, behind)) = rest.split_first() {
        whole.push(byte);
        rest = if rest.starts_with(DOUBLED) {
            &rest[2..]
        } else {
            behind
        };
    }
    Cow::Owned(whole)
}

fn quoted_executable<'a>(record: &LsfRecord<'a>) -> &'a [u8] {
    let name = record.name.trim_ascii();
    let name = name.split(|&byte| byte == b'[').next().unwrap_or_default();
    if !name.is_empty() && name != record.command.trim_ascii() && !name.starts_with(b"#!") {
        return name;
    }
    match record.command.trim_ascii() {
        interpreter if interpreter.starts_with(b"#!") => &[],
        command => program(&[], command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(hosts: &str, status: &str, exit_info: &str, tail: &str) -> String {
        format!(
            "\"JOB_FINISH\" \"10.108\" 220 101 1501 33554434 8 100 0 0 160 \"ann\" \"normal\" \"\" \"\" \
             \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.101\" 0 {hosts} {status} 2.0 \"\" \
             \"a.out say \"\"hello\nworld\"\"\" 1.5 0.5 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 \"\" \
             \"proj\" 0 1 \"\" \"\" 0 4096 0 \"\" \"\" \"\" \"\" 0 \"\" {exit_info} \"\" -1 \"\" \"\" \"\" \
             \"\" {tail}\n"
        )
    }

    const TAIL: &str = "-1 \"\" \"\" 7184 \"\" 160 \"\" \"\" 1 1058 \"1\" 1 \"n1\" 10 20 0.5 0.1 57 3600 \
         4194304 2048 \"select[a] rusage[mem=1000.00,swp=1]\" \"\" -1";

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn lists_of_any_length_shift_later_fields() {
        let trace = parsed(&record("2 \"3*n1\" \"n2\"", "64", "0", TAIL));
        let job = trace.jobs[0];
        assert_eq!((job.number, job.procs), (101, 4));
        assert_eq!(job.runtime, Span::from_secs(60));
        assert_eq!(job.estimate, Span::from_secs(3600));
        let metadata = trace.metadata.unwrap();
        assert_eq!(metadata.executable.get(0), Some("a.out"));
        assert_eq!(metadata.account.get(0), Some("proj"));
        let usage = TraceUsage {
            held: None,
            wait: Some(Span::from_secs(60)),
            cpu_time: Some(Span::from_secs(2)),
            peak_memory: Some(Bytes::from_kibibytes(4096)),
            requested_memory: Some(Bytes::new(2000 << 20)),
            status: TraceStatus::Completed,
        };
        assert_eq!(metadata.usage.iter().collect::<Vec<_>>(), [usage]);
    }

    #[test]
    fn jobs_are_called_by_their_name_and_not_by_an_interpreter() {
        let executable = |name: &str, command: &str| {
            let text = record("0", "64", "0", TAIL).replace(
                "2.0 \"\" \"a.out say \"\"hello\nworld\"\"\"",
                &format!("2.0 \"{name}\" \"{command}\""),
            );
            let names = parsed(&text).metadata.unwrap().executable;
            names.get(0).map(str::to_owned)
        };
        let of = |name, command| executable(name, command);
        assert_eq!(
            of("relax[1-10]", "#!/bin/tcsh;#BSUB -n 4"),
            Some("relax".into())
        );
        assert_eq!(of("", "#!/bin/tcsh;#BSUB -n 4"), None);
        assert_eq!(of("", "./model -x 3"), Some("./model".into()));
        assert_eq!(of("", "python model.py 3"), Some("model.py".into()));
        assert_eq!(of("./model -x 3", "./model -x 3"), Some("./model".into()));
    }

    #[test]
    fn records_without_later_fields_keep_the_kill_reason() {
        let text = record("0", "32", "5", "7200")
            + &record("0", "32", "16", "")
            + &record("0", "32", "14", "")
            + &record("0", "32", "0", "");
        let trace = parsed(&text);
        assert_eq!(trace.jobs[0].estimate, Span::from_secs(3600));
        assert_eq!(trace.jobs[0].procs, 8);
        let usage = trace.metadata.unwrap().usage;
        let statuses: Vec<TraceStatus> = usage.iter().map(|usage| usage.status).collect();
        use TraceStatus::{Cancelled, Failed, OutOfMemory, TimedOut};
        assert_eq!(statuses, [TimedOut, OutOfMemory, Cancelled, Failed]);
    }

    #[test]
    fn non_job_records_are_distinguished() {
        let text = "\"EVENT_ADRSV_FINISH\" \"10.1\" 5 6\n".to_owned()
            + &record("1 \"n1\"", "64", "0", TAIL)
            + "\"JOB_FINISH\" \"10.108\" 220 101\n"
            + &record("99999999", "64", "0", TAIL)
            + &record("1 \"n1\"", "64", "0", TAIL).replace(" 160 \"ann\"", " x \"ann\"");
        let trace = parsed(&text);
        assert_eq!(trace.jobs.len(), 1);
        assert_eq!(trace.diagnostics.count(Finding::ShortRecord), 2);
        assert_eq!(
            trace
                .diagnostics
                .count(Finding::NotANumber(RecordField::Start)),
            1
        );
        assert_eq!(trace.diagnostics.iter().count(), 2, "{}", trace.diagnostics);
    }
}
