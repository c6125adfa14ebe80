//! Common parts of the readers of accounting records: lines become drafts, drafts become jobs.

use std::io::BufRead;

use tollgate_model::{Instant, Span};

use crate::attempts::TraceAttempt;
use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::{MAX_LINE, TextLine, for_each_line};
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parts::{JobKey, JobPart, JobParts};
use crate::record_field::RecordField;
use crate::trace::{Trace, TraceJob};
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::TraceUsage;

/// The run time of a job that never started, as SWF writes it.
pub(crate) const NEVER_RAN: Span = Span::from_secs(-1);

/// The parsed data of one record of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedRecord<'a> {
    /// Public number.
    pub(crate) number: u64,
    /// The identity by which parts of the job are found, if the format has parts.
    pub(crate) key: Option<JobKey>,
    /// Submission time, since the Unix epoch.
    pub(crate) submit: Instant,
    /// Run time; [`NEVER_RAN`] if the job did not run.
    pub(crate) runtime: Span,
    /// Limit on the run time, if there was one.
    pub(crate) estimate: Option<Span>,
    /// Allocated processors.
    pub(crate) allocated: Option<u32>,
    /// Requested processors.
    pub(crate) requested: Option<u32>,
    /// Names: user, group, account, executable and queue.
    pub(crate) names: RecordNames<'a>,
    /// Usage, if it was requested.
    pub(crate) usage: TraceUsage,
    /// Attempts, if the format records them.
    pub(crate) attempts: Option<Vec<TraceAttempt>>,
    /// Assumptions made so far.
    pub(crate) notes: Vec<Finding>,
}

/// The meaning of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RecordContent<'a> {
    /// A job.
    Job(ParsedRecord<'a>),
    /// A part of a job that has a record of its own.
    Part(JobPart),
    /// No job, such as a comment or the record of another event.
    Nothing,
}

/// The lines of one record, joined.
pub(crate) struct JoinedLines {
    /// The record without line breaks that do not belong to it.
    pub(crate) text: Vec<u8>,
    /// Number of lines that belong to the record, at least 1. The others are stray.
    pub(crate) count: usize,
}

/// A format of consecutive records, each beginning on a new line.
pub(crate) trait RecordFormat {
    /// Origin of the records' clock, if all records have the same.
    const ORIGIN: Option<Instant> = Some(Instant::ZERO);

    /// Returns whether `line` begins a record, behind a record that has begun with `first`. Any
    /// other line may continue that record, or is stray.
    fn begins_record(&self, _first: &[u8], _line: &[u8]) -> bool {
        true
    }

    /// Returns whether `line`, of which the beginning may be lost, is a whole record.
    fn is_whole_record(&self, _line: &[u8]) -> bool {
        false
    }

    /// Joins the `lines` from the beginning of a record to that of the next, two or more. A line
    /// belongs to the record only if the text before it proves that.
    fn join(&mut self, lines: &[&[u8]]) -> JoinedLines {
        JoinedLines {
            text: lines[0].to_vec(),
            count: 1,
        }
    }

    /// Parses the record `text`, with the columns that are to be kept.
    ///
    /// # Errors
    /// If the record is unusable.
    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding>;
}

/// Reads every record of `reader`; records that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no record was a job.
pub(crate) fn read<F: RecordFormat>(
    format: F,
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut trace = sink.new_trace(source, options);
    trace.unix_start = F::ORIGIN;
    let mut records = RecordReader {
        format,
        keep: options.columns,
        trace,
        sink,
        latest: Instant::ZERO,
        pending: Vec::new(),
        lines: Vec::new(),
        parts: JobParts::default(),
    };
    for_each_line(reader, |number, line| records.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    records.finish_record();
    records.parts.finish(&mut records.trace.diagnostics);
    records.sink.finish(records.trace)
}

struct RecordReader<'a, 'v, F> {
    format: F,
    keep: ColumnSelection,
    trace: Trace,
    sink: &'a mut TraceSink<'v>,
    latest: Instant,
    /// The lines since the beginning of the current record.
    pending: Vec<u8>,
    /// The end of each of these lines, and its number.
    lines: Vec<(usize, u64)>,
    parts: JobParts,
}

impl<F: RecordFormat> RecordReader<'_, '_, F> {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let text = match line {
            TextLine::Text(text) => text.strip_suffix(b"\r").unwrap_or(text),
            TextLine::TooLong => return self.unusable_line(Finding::LineTooLong, number),
            TextLine::BehindZeros(text) => {
                self.unusable_line(Finding::ZeroBytes, number);
                if !self.format.is_whole_record(text) {
                    return;
                }
                text
            }
        };
        let first = self.lines.first().map(|&(end, _)| &self.pending[..end]);
        if first.is_some_and(|first| !self.format.begins_record(first, text)) {
            // A record that never ends must not be held in memory: it is too long already.
            if self.pending.len() <= MAX_LINE {
                self.push_line(text, number);
            } else {
                self.stray_line(text.trim_ascii().is_empty(), number);
            }
            return;
        }
        self.finish_record();
        if !text.trim_ascii().is_empty() {
            self.push_line(text, number);
        }
    }

    fn unusable_line(&mut self, finding: Finding, number: u64) {
        self.finish_record();
        self.trace.diagnostics.record(finding, number);
    }

    fn push_line(&mut self, text: &[u8], number: u64) {
        self.pending.extend_from_slice(text);
        self.lines.push((self.pending.len(), number));
    }

    fn stray_line(&mut self, is_blank: bool, number: u64) {
        if !is_blank {
            self.trace.diagnostics.record(Finding::StrayLine, number);
        }
        self.sink.after_line(&mut self.trace);
    }

    fn finish_record(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        let mut lines = std::mem::take(&mut self.lines);
        match lines[..] {
            [] => {}
            [(_, begun)] => self.record(&pending, begun),
            [(_, begun), ..] => {
                let joined = self.format.join(&split_lines(&pending, &lines));
                self.record(&joined.text, begun);
                let mut start = lines[joined.count - 1].0;
                for &(end, number) in &lines[joined.count..] {
                    self.stray_line(pending[start..end].trim_ascii().is_empty(), number);
                    start = end;
                }
            }
        }
        pending.clear();
        lines.clear();
        (self.pending, self.lines) = (pending, lines);
    }

    fn record(&mut self, text: &[u8], begun: u64) {
        let content = match text.len() <= MAX_LINE {
            true => self.format.parse(text, self.keep),
            false => Err(Finding::LineTooLong),
        };
        match content {
            Ok(RecordContent::Job(draft)) => {
                // This must not happen earlier: the parts of a job come after it.
                self.sink.before_job(&mut self.trace);
                let key = draft.key;
                push(&mut self.trace, draft, begun, &mut self.latest);
                if let Some(key) = key {
                    self.parts.add_job(key, &mut self.trace);
                }
            }
            Ok(RecordContent::Part(part)) => self.parts.add_part(part, begun, &mut self.trace),
            Ok(RecordContent::Nothing) => {}
            Err(finding) => self.trace.diagnostics.record(finding, begun),
        }
        self.sink.after_line(&mut self.trace);
    }
}

fn split_lines<'t>(text: &'t [u8], lines: &[(usize, u64)]) -> Vec<&'t [u8]> {
    let mut start = 0;
    let cut = |&(end, _): &(usize, u64)| &text[std::mem::replace(&mut start, end)..end];
    lines.iter().map(cut).collect()
}

/// Appends the job of `draft`, which began on `line`, and notes the assumptions.
pub(crate) fn push(
    trace: &mut Trace,
    mut draft: ParsedRecord<'_>,
    line: u64,
    latest: &mut Instant,
) {
    let job = job(trace, &draft, line);
    if let Some(metadata) = &mut trace.metadata {
        let usage = parse_field::resolve_usage(draft.usage, job.procs, &mut draft.notes);
        if metadata.push(draft.names, usage) {
            draft.notes.push(Finding::NameNotUtf8);
        }
        if let Some(attempts) = &draft.attempts {
            metadata.push_attempts(attempts);
        }
    }
    for note in draft.notes {
        trace.diagnostics.record(note, line);
    }
    trace.push_job(job, line, latest);
}

fn job(trace: &mut Trace, draft: &ParsedRecord<'_>, line: u64) -> TraceJob {
    let notes = &mut trace.diagnostics;
    let (runtime, estimate) =
        parse_field::resolve_times(Some(draft.runtime), draft.estimate, line, notes);
    let procs = draft.allocated.unwrap_or_else(|| {
        let assumed = match draft.requested {
            Some(_) => Finding::RequestedProcs,
            None => Finding::OneProc,
        };
        notes.record(assumed, line);
        draft.requested.unwrap_or(1)
    });
    TraceJob {
        number: draft.number,
        submit: draft.submit,
        runtime,
        estimate,
        is_estimated: draft.estimate.is_some_and(|estimate| estimate > Span::ZERO),
        procs,
    }
}

/// Returns the run time of a job from `start` to `end`. An end before the start is noted, and the
/// job then counts as one that never ran.
pub(crate) fn run_time(start: Instant, end: Instant, notes: &mut Vec<Finding>) -> Span {
    if end < start {
        notes.push(Finding::NegativeRunTime);
        return NEVER_RAN;
    }
    end.since(start)
}

/// Returns the wait of a job from `submit` to `start`; a start before the submission is noted.
pub(crate) fn wait_time(submit: Instant, start: Instant, notes: &mut Vec<Finding>) -> Option<Span> {
    let wait = start.since(submit);
    let sound = (wait >= Span::ZERO).then_some(wait);
    parse_field::usable(
        sound.ok_or(Finding::Unusable(RecordField::Wait)).map(Some),
        RecordField::Wait,
        notes,
    )
}

/// Parses the whole number at the beginning of a job's identifier (`123` of `123_4`, `123[4].host`
/// and `123.host`). The tasks of an array share the number, which is noted.
///
/// # Errors
/// If the identifier does not begin with a digit, or the number is too large.
pub(crate) fn leading_number(id: &[u8], notes: &mut Vec<Finding>) -> Result<u64, Finding> {
    let digits = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = id.split_at(digits);
    if matches!(rest, [b'_' | b'[' | b'+', ..]) {
        notes.push(Finding::SharedNumber);
    }
    parse_field::job_number(number)
}

/// Returns a required value.
///
/// # Errors
/// If the record lacks the value.
pub(crate) fn required(value: Option<&[u8]>, field: RecordField) -> Result<&[u8], Finding> {
    value.ok_or(Finding::Missing(field))
}
