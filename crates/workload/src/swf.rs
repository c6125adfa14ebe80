//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line,
//! comments and header directives after `;`, -1 for what is not known.
//!
//! Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers",
//! JSSPP 1999. Real files bend the format, so: blanks of any kind and number separate fields,
//! fields may have fractions, fewer than 18 will do (fewer than 5 will not), and what comes
//! after them is not looked at, but for MetaCentrum's list of nodes. Neither are fields that
//! tollgate does not use.

use std::io::BufRead;

use tollgate_model::{Instant, Span};

use crate::diagnostics::{Field, Finding};
use crate::error::ReadError;
use crate::field;
use crate::lines::{Line, for_each_line};
use crate::number::millionths;
use crate::open::ReadOptions;
use crate::trace::{Names, Trace, TraceJob};
use crate::usage::{Status, Usage};

/// Memory is counted in units of so many bytes.
const KIBI: u64 = 1024;

/// Reads every record of `reader`; lines that are none are counted and left out.
///
/// - processors: allocated (field 5) if positive, else requested (field 8), else 1;
/// - estimate: requested time (field 9) if positive, else the run time;
/// - usage: wait, processor time, memory, requested memory and status (fields 3, 6, 7, 10 and 11),
///   times and memory multiplied by the processors. The format has only the mean memory, which
///   stands in for the peak.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no line was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    let mut swf = Reader {
        trace: Trace::keeping(options.columns, source),
        latest: Instant::ZERO,
    };
    for_each_line(reader, |number, line| swf.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    swf.trace.not_empty()
}

/// Whether `line` may be the first of such a file: a comment, or a number and then perhaps
/// more. What is wrong with it otherwise is the reader's business.
pub(crate) fn starts_like(line: &[u8]) -> bool {
    let first = Fields(line).next().unwrap_or_default();
    first.starts_with(b";") || millionths(first).is_ok()
}

/// Whether `line` has as many numbers as a record must have.
pub(crate) fn is_record(line: &[u8]) -> bool {
    let numbers = Fields(line).map_while(|field| millionths(field).ok());
    numbers.take(5).count() == 5
}

struct Reader {
    trace: Trace,
    latest: Instant,
}

impl Reader {
    fn line(&mut self, number: u64, line: Line<'_>) {
        let found = match line {
            Line::TooLong => Err(Finding::LineTooLong),
            Line::Text(text) => match text.trim_ascii_start() {
                [] => Ok(()),
                [b';', comment @ ..] => self.directive(comment),
                record => self.record(record, number),
            },
        };
        if let Err(finding) = found {
            self.trace.diagnostics.record(finding, number);
        }
    }

    /// A comment; those of the form `Name: number` that tollgate knows are kept. The number
    /// may be followed by words (`MaxNodes: 400 (48 interactive, ..)`).
    fn directive(&mut self, comment: &[u8]) -> Result<(), Finding> {
        let Some(colon) = memchr::memchr(b':', comment) else {
            return Ok(());
        };
        let (name, value) = (comment[..colon].trim_ascii(), &comment[colon + 1..]);
        if name == b"UnixStartTime" {
            let start = first_number(value).ok_or(Finding::DirectiveNotANumber)?;
            return keep_first(&mut self.trace.unix_start, Instant::from_secs(start));
        }
        let kept = match name {
            b"MaxProcs" => &mut self.trace.max_procs,
            b"MaxNodes" => &mut self.trace.max_nodes,
            _ => return Ok(()),
        };
        let count = first_number(value)
            .and_then(|count| u32::try_from(count).ok())
            .filter(|&count| count > 0)
            .ok_or(Finding::DirectiveNotANumber)?;
        keep_first(kept, count)
    }

    fn record(&mut self, text: &[u8], line: u64) -> Result<(), Finding> {
        let record = Record::split(text)?;
        let job = self.job(&record, line)?;
        self.metadata(&record, job.procs, line);
        self.trace.push_job(job, line, &mut self.latest);
        Ok(())
    }

    fn job(&mut self, record: &Record<'_>, line: u64) -> Result<TraceJob, Finding> {
        let number = field::job_number(record.number)?;
        let submit = field::submit(record.submit)?;
        let runtime = field::span(record.runtime, Field::RunTime)?;
        let allocated = field::procs(record.allocated)?;
        let requested = match (allocated, record.requested) {
            (None, Some(text)) => field::procs(text)?,
            (Some(_), _) | (None, None) => None,
        };
        let estimate = record
            .estimate
            .map(|text| field::span(text, Field::Estimate))
            .transpose()?;

        // The line is a job: only now may something be said about what was assumed.
        let notes = &mut self.trace.diagnostics;
        let (runtime, estimate) = field::settle_times(Some(runtime), estimate, line, notes);
        let procs = allocated.unwrap_or_else(|| {
            let assumed = match requested {
                Some(_) => Finding::RequestedProcs,
                None => Finding::OneProc,
            };
            notes.record(assumed, line);
            requested.unwrap_or(1)
        });
        Ok(TraceJob {
            number,
            submit,
            runtime,
            estimate,
            procs,
        })
    }

    fn metadata(&mut self, record: &Record<'_>, procs: u32, line: u64) {
        let Some(metadata) = &mut self.trace.metadata else {
            return;
        };
        let mut notes = Vec::new();
        let usage = usage(record, procs, &mut notes);
        let estimated = field::is_positive_span(record.estimate, Field::Estimate);
        if metadata.push(names(record), usage, estimated) {
            notes.push(Finding::NameNotUtf8);
        }
        for note in notes {
            self.trace.diagnostics.record(note, line);
        }
    }
}

fn names<'a>(record: &Record<'a>) -> Names<'a> {
    let known = |text: Option<&'a [u8]>| text.filter(|&text| text != b"-1").unwrap_or_default();
    Names {
        user: known(record.user),
        group: known(record.group),
        account: &[],
        executable: known(record.executable),
        queue: known(record.queue),
    }
}

/// How a job on `procs` processors went. Times and memory are given by processor.
fn usage(record: &Record<'_>, procs: u32, notes: &mut Vec<Finding>) -> Usage {
    let (unit, share) = match record.is_metacentrum() {
        true => (1, 1),
        false => (KIBI, u64::from(procs)),
    };
    let mut memory = |text: Option<&[u8]>, field| {
        let read = text.map_or(Ok(None), |text| field::bytes(text, unit, field));
        field::usable(read, field, notes).map(|bytes| bytes.times(share))
    };
    let used = record.memory.filter(|_| !record.is_metacentrum());
    let peak_memory = memory(used, Field::PeakMemory);
    let requested_memory = memory(record.requested_memory, Field::RequestedMemory);
    let mut span = |text: Option<&[u8]>, field| {
        let read = text.map_or(Ok(None), |text| field::known_span(text, field));
        field::usable(read, field, notes)
    };
    let wait = span(Some(record.wait), Field::Wait);
    let cpu_time = record.cpu_time.filter(|_| !record.is_metacentrum());
    let cpu_time = span(cpu_time, Field::CpuTime)
        .map(|span| Span::from_micros(span.as_micros().saturating_mul(i64::from(procs))));
    let status = field::usable(status(record.status), Field::Status, notes);
    let usage = Usage {
        wait,
        cpu_time,
        peak_memory,
        requested_memory,
        status: status.unwrap_or_default(),
    };
    field::settle_usage(usage, procs, notes)
}

/// Field 11. Of a job that was checkpointed, 2 is a part that was followed by others, and 3 and
/// 4 are how the last part ended.
fn status(text: Option<&[u8]>) -> Result<Option<Status>, Finding> {
    match text {
        None | Some(b"-1" | b"2") => Ok(None),
        Some(b"1" | b"3") => Ok(Some(Status::Completed)),
        Some(b"0" | b"4") => Ok(Some(Status::Failed)),
        Some(b"5") => Ok(Some(Status::Cancelled)),
        Some(_) => Err(Finding::Unusable(Field::Status)),
    }
}

/// The fields of one line, as text; whatever comes after the fifth may be missing.
#[derive(Default)]
struct Record<'a> {
    number: &'a [u8],
    submit: &'a [u8],
    wait: &'a [u8],
    runtime: &'a [u8],
    allocated: &'a [u8],
    cpu_time: Option<&'a [u8]>,
    memory: Option<&'a [u8]>,
    requested: Option<&'a [u8]>,
    estimate: Option<&'a [u8]>,
    requested_memory: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    group: Option<&'a [u8]>,
    executable: Option<&'a [u8]>,
    queue: Option<&'a [u8]>,
    rest: &'a [u8],
}

impl<'a> Record<'a> {
    fn split(text: &'a [u8]) -> Result<Self, Finding> {
        let mut fields = Fields(text);
        let mut required = || fields.next().ok_or(Finding::TooFewFields);
        Ok(Self {
            number: required()?,
            submit: required()?,
            wait: required()?,
            runtime: required()?,
            allocated: required()?,
            cpu_time: fields.next(),
            memory: fields.next(),
            requested: fields.next(),
            estimate: fields.next(),
            requested_memory: fields.next(),
            status: fields.next(),
            user: fields.next(),
            group: fields.next(),
            executable: fields.next(),
            queue: fields.next(),
            rest: fields.0,
        })
    }

    /// Whether the record is of MetaCentrum's variant: a list of nodes in braces follows the 18
    /// fields. It has the requested memory of the whole job in bytes, and mere placeholders for
    /// what was used.
    fn is_metacentrum(&self) -> bool {
        Fields(self.rest)
            .nth(3)
            .is_some_and(|field| field.starts_with(b"{"))
    }
}

/// The pieces of a line between blanks.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| !is_blank(byte))?;
        let rest = &self.0[start..];
        let end = rest
            .iter()
            .position(|&byte| is_blank(byte))
            .unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.0 = rest;
        Some(field)
    }
}

/// Blanks, tabs and whatever else below them ends up in files, such as carriage returns.
const fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

fn first_number(text: &[u8]) -> Option<i64> {
    let word = Fields(text).next()?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn keep_first<T: Copy + PartialEq>(kept: &mut Option<T>, value: T) -> Result<(), Finding> {
    match *kept {
        Some(first) if first != value => Err(Finding::DirectiveAgain),
        Some(_) => Ok(()),
        None => {
            *kept = Some(value);
            Ok(())
        }
    }
}
