//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line, comments
//! and header directives after `;`, -1 for unknown values.
//!
//! Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP
//! 1999. Real files bend the format, so the reader is lenient: fields are separated by blanks of
//! any kind and number, and may have fractions. At least 5 fields are required. Further fields and
//! fields that tollgate does not use are ignored, except MetaCentrum's list of nodes.

mod name_numbers;
mod number_set;
mod record;
mod write;

use std::io::BufRead;

use tollgate_model::{Instant, Span};

pub use write::SwfWriter;

use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::{MAX_LINE, TextLine, for_each_line};
use crate::options::ReadOptions;
use crate::parse_field;
use crate::parse_number::{millionths, without_thousands};
use crate::record_field::RecordField;
use crate::trace::{Trace, TraceJob};
use crate::trace_sink::TraceSink;

use number_set::NumberSet;
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

/// Reads as [`read`] does, through `sink`.
pub(crate) fn read_to(
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut swf = SwfReader {
        trace: sink.new_trace(source, options),
        sink,
        latest: Instant::ZERO,
        comments: MAX_LINE,
        jobs: NumberSet::default(),
    };
    for_each_line(reader, |number, line| swf.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    swf.sink.finish(swf.trace)
}

/// Returns whether `line` may be the first of an SWF file: a comment, or a number, perhaps with more
/// text. The reader reports any other problem of the line. Words between tabs are the cells of another
/// format.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    let is_number = |field| millionths(field).is_ok();
    let mut fields = BlankSeparatedFields(line).take(NUMBERS);
    let first = fields.next().unwrap_or_default();
    let mut is_table = || line.contains(&b'\t') && !fields.all(is_number);
    first.starts_with(b";") || (is_number(first) && !is_table())
}

/// Returns whether `line` has the required numbers of a record.
pub(crate) fn is_record(line: &[u8]) -> bool {
    let numbers = BlankSeparatedFields(line).map_while(|field| millionths(field).ok());
    numbers.take(5).count() == 5
}

/// Returns whether `line` has all fields of a record, which no other text has.
pub(crate) fn is_whole_record(line: &[u8]) -> bool {
    is_record(line) && BlankSeparatedFields(line).count() >= FIELDS
}

/// Returns whether `line` is the header of a table whose other lines have the shape of `record`: words,
/// as many as the record has fields.
pub(crate) fn is_header_of(line: &[u8], record: &[u8]) -> bool {
    let is_tabbed = line.contains(&b'\t') && record.contains(&b'\t');
    let count = |line| BlankSeparatedFields(line).count();
    is_tabbed || (count(line) > 2 && count(line) == count(record))
}

/// Number of fields of the format.
const FIELDS: usize = 18;

/// Number of fields before those of users and programs, which are names in some files.
const NUMBERS: usize = 11;

struct SwfReader<'a, 'v> {
    sink: &'a mut TraceSink<'v>,
    trace: Trace,
    latest: Instant,
    /// Number of bytes of comments that may still be kept; 0 after the first job.
    comments: usize,
    /// The numbers of the jobs so far, which their partial executions share.
    jobs: NumberSet,
}

impl SwfReader<'_, '_> {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let found = match line {
            TextLine::TooLong => Err(Finding::LineTooLong),
            TextLine::BehindZeros(_) => Err(Finding::ZeroBytes),
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
        self.sink.after_line(&mut self.trace);
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
        self.sink.before_job(&mut self.trace);
        let number = parse_field::job_number(record.number)?;
        if record.is_partial() && self.jobs.contains(number) {
            return Err(Finding::PartOfJob);
        }
        let job = self.job(&record, line)?;
        self.jobs.insert(number);
        self.metadata(&record, job.procs, line);
        self.trace.push_job(job, line, &mut self.latest);
        Ok(())
    }

    /// Returns the job of a record.
    fn job(&mut self, record: &SwfRecord<'_>, line: u64) -> Result<TraceJob, Finding> {
        let number = parse_field::job_number(record.number)?;
        let submit = parse_field::submit(record.submit)?;
        let runtime = record.runtime()?;

        // The line is a job, so the assumptions can be noted from here on.
        let mut found = Vec::new();
        let mut procs =
            |text| parse_field::usable(parse_field::procs(text), RecordField::Procs, &mut found);
        let allocated = procs(record.allocated);
        let requested = match (allocated, record.requested) {
            (None, Some(text)) => procs(text),
            (Some(_), _) | (None, None) => None,
        };
        let estimate = record.estimate;
        let estimate = estimate.map(|text| parse_field::span(text, RecordField::Estimate));
        let estimate = parse_field::usable(estimate.transpose(), RecordField::Estimate, &mut found)
            .filter(|&estimate| estimate > Span::ZERO);
        let notes = &mut self.trace.diagnostics;
        for finding in found {
            notes.record(finding, line);
        }
        let is_estimated = estimate.is_some();
        let (runtime, estimate) = parse_field::resolve_times(Some(runtime), estimate, line, notes);
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
            is_estimated,
            procs,
        })
    }

    fn metadata(&mut self, record: &SwfRecord<'_>, procs: u32, line: u64) {
        let Some(metadata) = &mut self.trace.metadata else {
            return;
        };
        let mut notes = Vec::new();
        let usage = record.usage(procs, &mut notes);
        if metadata.push(record.names(), usage) {
            notes.push(Finding::NameNotUtf8);
        }
        for note in notes {
            self.trace.diagnostics.record(note, line);
        }
    }
}

fn first_number(text: &[u8]) -> Option<i64> {
    let word = without_thousands(BlankSeparatedFields(text).next()?);
    std::str::from_utf8(&word).ok()?.parse().ok()
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
