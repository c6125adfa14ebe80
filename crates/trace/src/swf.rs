//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line, comments
//! and header directives after `;`, -1 for unknown values.
//!
//! Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP
//! 1999. Real files bend the format, so the reader is lenient: fields are separated by blanks of
//! any kind and number, and may have fractions. At least 5 fields are required. Further fields and
//! fields that tollgate does not use are ignored, except MetaCentrum's list of nodes.

mod name_numbers;
mod record;
mod write;

use std::io::BufRead;

use tollgate_model::{Instant, Span};

pub use write::SwfWriter;

use crate::diagnostics::{Finding, RecordField};
use crate::error::ReadError;
use crate::line_reader::{MAX_LINE, TextLine, for_each_line};
use crate::options::ReadOptions;
use crate::parse_field;
use crate::parse_number::millionths;
use crate::trace::{Trace, TraceJob};
use crate::trace_sink::TraceSink;

pub(crate) use record::{BlankSeparatedFields, SwfRecord};

/// Reads every record of `reader`; lines that are not records are counted and skipped.
///
/// - processors: allocated (field 5) if positive, else requested (field 8), else 1;
/// - estimate: requested time (field 9) if positive, else the run time;
/// - usage: wait, processor time, memory, requested memory and status (fields 3, 6, 7, 10 and 11),
///   times and memory multiplied by the processors. The format has only the mean memory, which
///   replaces the peak.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no line was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `outlet`.
pub(crate) fn read_to(
    outlet: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut swf = SwfReader {
        trace: outlet.new_trace(source, options),
        outlet,
        latest: Instant::ZERO,
        comments: MAX_LINE,
    };
    for_each_line(reader, |number, line| swf.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    swf.outlet.finish(swf.trace)
}

/// Returns whether `line` may be the first of an SWF file: a comment, or a number, perhaps with
/// more text. The reader reports any other problem of the line.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    let first = BlankSeparatedFields(line).next().unwrap_or_default();
    first.starts_with(b";") || millionths(first).is_ok()
}

/// Returns whether `line` has the required numbers of a record.
pub(crate) fn is_record(line: &[u8]) -> bool {
    let numbers = BlankSeparatedFields(line).map_while(|field| millionths(field).ok());
    numbers.take(5).count() == 5
}

struct SwfReader<'a, 'v> {
    outlet: &'a mut TraceSink<'v>,
    trace: Trace,
    latest: Instant,
    /// Number of bytes of comments that may still be kept; 0 after the first job.
    comments: usize,
}

impl SwfReader<'_, '_> {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let found = match line {
            TextLine::TooLong => Err(Finding::LineTooLong),
            TextLine::Text(text) => match text.trim_ascii_start() {
                [] => Ok(()),
                [b';', comment @ ..] => {
                    self.comment(comment);
                    self.directive(comment)
                }
                record => self.record(record, number),
            },
        };
        if let Err(finding) = found {
            self.trace.diagnostics.record(finding, number);
        }
        self.outlet.after_line(&mut self.trace);
    }

    fn comment(&mut self, text: &[u8]) {
        if self.trace.metadata.is_some() && text.len() < self.comments {
            self.comments -= text.len() + 1;
            let text = String::from_utf8_lossy(text.trim_ascii_end());
            self.trace.comments.push(text.into_owned());
        }
    }

    /// Parses a comment; known directives of the form `Name: number` are kept. Text may follow the
    /// number (`MaxNodes: 400 (48 interactive, ..)`).
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
        let record = SwfRecord::split(text)?;
        self.comments = 0;
        self.outlet.before_job(&mut self.trace);
        let (job, estimated) = self.job(&record, line)?;
        self.metadata(&record, job.procs, estimated, line);
        self.trace.push_job(job, line, &mut self.latest);
        Ok(())
    }

    /// Returns the job of a record, and whether the user estimated its run time.
    fn job(&mut self, record: &SwfRecord<'_>, line: u64) -> Result<(TraceJob, bool), Finding> {
        let number = parse_field::job_number(record.number)?;
        let submit = parse_field::submit(record.submit)?;
        let runtime = parse_field::span(record.runtime, RecordField::RunTime)?;
        let allocated = parse_field::procs(record.allocated)?;
        let requested = match (allocated, record.requested) {
            (None, Some(text)) => parse_field::procs(text)?,
            (Some(_), _) | (None, None) => None,
        };
        let estimate = record
            .estimate
            .map(|text| parse_field::span(text, RecordField::Estimate))
            .transpose()?
            .filter(|&estimate| estimate > Span::ZERO);

        // The line is a job, so the assumptions can be noted from here on.
        let notes = &mut self.trace.diagnostics;
        let estimated = estimate.is_some();
        let (runtime, estimate) = parse_field::resolve_times(Some(runtime), estimate, line, notes);
        let procs = allocated.unwrap_or_else(|| {
            let assumed = match requested {
                Some(_) => Finding::RequestedProcs,
                None => Finding::OneProc,
            };
            notes.record(assumed, line);
            requested.unwrap_or(1)
        });
        let job = TraceJob {
            number,
            submit,
            runtime,
            estimate,
            procs,
        };
        Ok((job, estimated))
    }

    fn metadata(&mut self, record: &SwfRecord<'_>, procs: u32, estimated: bool, line: u64) {
        let Some(metadata) = &mut self.trace.metadata else {
            return;
        };
        let mut notes = Vec::new();
        let usage = record.usage(procs, &mut notes);
        if metadata.push(record.names(), usage, estimated) {
            notes.push(Finding::NameNotUtf8);
        }
        for note in notes {
            self.trace.diagnostics.record(note, line);
        }
    }
}

fn first_number(text: &[u8]) -> Option<i64> {
    let word = BlankSeparatedFields(text).next()?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn keep_first<T: Copy + PartialEq>(kept: &mut Option<T>, value: T) -> Result<(), Finding> {
    match *kept {
        Some(first) if first != value => Err(Finding::ConflictingDirective),
        Some(_) => Ok(()),
        None => {
            *kept = Some(value);
            Ok(())
        }
    }
}
