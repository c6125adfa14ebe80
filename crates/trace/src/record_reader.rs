//! Common parts of the readers of accounting records: lines become drafts, drafts become jobs.

use std::io::BufRead;

use tollgate_model::{Instant, Span};

use crate::attempts::TraceAttempt;
use crate::diagnostics::{Finding, RecordField};
use crate::error::ReadError;
use crate::line_reader::{MAX_LINE, TextLine, for_each_line};
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::trace::{RecordNames, Trace, TraceJob};
use crate::trace_sink::TraceSink;
use crate::usage::TraceUsage;

/// The run time of a job that never started, as SWF writes it.
pub(crate) const NEVER_RAN: Span = Span::from_secs(-1);

/// The parsed data of one record of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedRecord<'a> {
    /// Public number.
    pub(crate) number: u64,
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

/// A format of consecutive records, each beginning on a new line.
pub(crate) trait RecordFormat {
    /// Origin of the records' clock, if all records have the same.
    const ORIGIN: Option<Instant> = Some(Instant::ZERO);

    /// Returns whether `line` begins a record; any other line belongs to the record before it.
    fn begins_record(&self, line: &[u8]) -> bool;

    /// Appends a further line to a record.
    fn join(&self, record: &mut Vec<u8>, line: &[u8]) {
        record.extend_from_slice(line);
    }

    /// Parses the job in the record `text`, with the columns that are to be kept; None if the
    /// record is not a job, such as a comment.
    ///
    /// # Errors
    /// If the record is unusable.
    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<Option<ParsedRecord<'a>>, Finding>;

    /// Returns the usage in `text`, a part of the job whose draft came last.
    fn parse_part(&self, _text: &[u8]) -> Option<TraceUsage> {
        None
    }
}

/// Reads every record of `reader`; records that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no record was a job.
pub(crate) fn read<F: RecordFormat>(
    format: F,
    outlet: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut trace = outlet.new_trace(source, options);
    trace.unix_start = F::ORIGIN;
    let mut log = RecordReader {
        format,
        keep: options.columns,
        trace,
        outlet,
        latest: Instant::ZERO,
        pending: Vec::new(),
        begun: 1,
    };
    for_each_line(reader, |number, line| log.line(number, line))
        .map_err(|(line, error)| ReadError::Io { line, error })?;
    log.finish_record();
    log.outlet.finish(log.trace)
}

struct RecordReader<'a, 'v, F> {
    format: F,
    keep: ColumnSelection,
    trace: Trace,
    outlet: &'a mut TraceSink<'v>,
    latest: Instant,
    /// The record whose last line may not have been read yet, and its first line number.
    pending: Vec<u8>,
    begun: u64,
}

impl<F: RecordFormat> RecordReader<'_, '_, F> {
    fn line(&mut self, number: u64, line: TextLine<'_>) {
        let text = match line {
            TextLine::Text(text) => text.strip_suffix(b"\r").unwrap_or(text),
            TextLine::TooLong => {
                self.finish_record();
                return self.trace.diagnostics.record(Finding::LineTooLong, number);
            }
        };
        if !self.pending.is_empty() && !self.format.begins_record(text) {
            // A record that never ends must not be held in memory: it is too long already.
            if self.pending.len() <= MAX_LINE {
                self.format.join(&mut self.pending, text);
            }
            return;
        }
        self.finish_record();
        self.pending.extend_from_slice(text);
        self.begun = number;
    }

    fn finish_record(&mut self) {
        let record = std::mem::take(&mut self.pending);
        if let Err(finding) = self.record(&record) {
            self.trace.diagnostics.record(finding, self.begun);
        }
        self.pending = record;
        self.pending.clear();
        self.outlet.after_line(&mut self.trace);
    }

    fn record(&mut self, text: &[u8]) -> Result<(), Finding> {
        if text.len() > MAX_LINE {
            return Err(Finding::LineTooLong);
        }
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        let draft = self.format.parse(text, self.keep);
        if draft == Err(Finding::PartOfJob) {
            self.merge_part(text);
        }
        if let Some(draft) = draft? {
            // This must not happen earlier: the parts of a job come after it.
            self.outlet.before_job(&mut self.trace);
            push(&mut self.trace, draft, self.begun, &mut self.latest);
        }
        Ok(())
    }

    fn merge_part(&mut self, text: &[u8]) {
        let metadata = self.trace.metadata.as_mut();
        if let Some((metadata, part)) = metadata.zip(self.format.parse_part(text)) {
            metadata.usage.merge_into_last(part);
        }
    }
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
        let estimated = draft.estimate.is_some_and(|estimate| estimate > Span::ZERO);
        if metadata.push(draft.names, usage, estimated) {
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
