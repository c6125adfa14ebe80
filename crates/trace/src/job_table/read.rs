//! Reader for a job table.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use csv::{ByteRecord, ReaderBuilder};
use tollgate_model::{Instant, Span};

use super::header::{JobTableColumn, JobTableHeader, separator};
use crate::diagnostics::Diagnostics;
use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::MAX_LINE;
use crate::options::ReadOptions;
use crate::parse_field;
use crate::passthrough_columns::PassthroughColumns;
use crate::record_field::RecordField;
use crate::trace::{Trace, TraceJob, TraceSla};
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::{TraceStatus, TraceUsage};

/// Reads every line of the job table in `reader`; lines that are not jobs are counted and skipped.
/// `reader` is buffered here.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::MissingColumn`] or
/// [`ReadError::DuplicateColumn`] if the header is unusable, [`ReadError::NoUsableLine`] if no line
/// was a job.
pub fn read(source: &str, reader: impl Read, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `sink`.
pub(crate) fn read_to(
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl Read,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut reader = BufReader::new(reader);
    let first = first_lines(&mut reader)?;
    let separator = first.split(|&byte| byte == b'\n').find_map(separator);
    let mut csv = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator.unwrap_or(b','))
        .from_reader(Cursor::new(first).chain(reader));
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| {
        let line = csv.position().line();
        csv.read_byte_record(record)
            .map_err(|error| io_error(error, line))
    };
    if !next(&mut record)? {
        return Err(ReadError::Empty);
    }
    let header = JobTableHeader::parse(&record, line_of(&record))?;
    let trace = sink.new_trace(source, options);
    let mut table = JobTableReader::new(trace, header, record.len());
    while next(&mut record)? {
        sink.before_job(&mut table.trace);
        table.line(&record);
        sink.after_line(&mut table.trace);
    }
    sink.finish(table.trace)
}

/// Returns the lines up to the first that is not blank.
fn first_lines(reader: &mut impl BufRead) -> Result<Vec<u8>, ReadError> {
    let mut lines = Vec::new();
    loop {
        let read = reader
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut lines);
        let n = read.map_err(|error| ReadError::Io { line: 1, error })?;
        if n == 0 || !lines.trim_ascii().is_empty() {
            return Ok(lines);
        }
    }
}

/// Unwraps the reader's own error: its kind identifies damaged compression.
pub(crate) fn io_error(error: csv::Error, line: u64) -> ReadError {
    let text = error.to_string();
    let error = if let csv::ErrorKind::Io(error) = error.into_kind() {
        error
    } else {
        // With flexible records of bytes no other error can occur.
        io::Error::other(text)
    };
    ReadError::Io { line, error }
}

/// Returns the finding for a record of the wrong width. A line break within a cell is legal; in
/// such a record it indicates an unclosed quotation mark.
fn wrong_width(record: &ByteRecord) -> Finding {
    if record.iter().any(|cell| cell.contains(&b'\n')) {
        Finding::OpenQuote
    } else {
        Finding::FieldCount
    }
}

fn line_of(record: &ByteRecord) -> u64 {
    record.position().map_or(1, csv::Position::line)
}

struct JobTableReader {
    header: JobTableHeader,
    width: usize,
    trace: Trace,
    latest: Instant,
}

impl JobTableReader {
    fn new(mut trace: Trace, header: JobTableHeader, width: usize) -> Self {
        let any_sla = [
            JobTableColumn::Deadline,
            JobTableColumn::Budget,
            JobTableColumn::Penalty,
        ]
        .into_iter()
        .any(|column| header.has(column));
        trace.slas = any_sla.then(Vec::new);
        if !header.extra.is_empty() {
            let names = header.extra.iter().map(|(name, _)| name.clone());
            trace.extra = Some(PassthroughColumns::new(names.collect()));
        }
        Self {
            header,
            width,
            trace,
            latest: Instant::ZERO,
        }
    }

    fn line(&mut self, record: &ByteRecord) {
        let line = line_of(record);
        if let Err(finding) = self.record(record, line) {
            self.trace.diagnostics.record(finding, line);
        }
    }

    fn record(&mut self, record: &ByteRecord, line: u64) -> Result<(), Finding> {
        if record.len() != self.width {
            return Err(wrong_width(record));
        }
        if self.header.is_repeated(record) {
            return Err(Finding::RepeatedHeader);
        }
        let job = self.job(record, line)?;
        self.sla(record, line);
        let mut lossy = false;
        self.metadata(record, job.procs, line, &mut lossy);
        self.extra(record, &mut lossy);
        if lossy {
            self.trace.diagnostics.record(Finding::NameNotUtf8, line);
        }
        self.trace.push_job(job, line, &mut self.latest);
        Ok(())
    }

    fn job(&mut self, record: &ByteRecord, line: u64) -> Result<TraceJob, Finding> {
        let cell = |column| self.header.number(record, column);
        let number = parse_field::job_number(&cell(JobTableColumn::JobId).unwrap_or_default())?;
        let submit = parse_field::submit(&cell(JobTableColumn::Submit).unwrap_or_default())?;
        let span = |column, field| -> Result<Option<Span>, Finding> {
            cell(column)
                .map(|text| parse_field::span(&text, field))
                .transpose()
        };
        let runtime = span(JobTableColumn::Runtime, RecordField::RunTime)?;

        // The line is a job, so the assumptions can be noted from here on.
        let mut found = Vec::new();
        let estimate = span(JobTableColumn::Estimate, RecordField::Estimate);
        let estimate = parse_field::usable(estimate, RecordField::Estimate, &mut found)
            .filter(|&estimate| estimate > Span::ZERO);
        let is_estimated = estimate.is_some();
        let procs = cell(JobTableColumn::Procs).map_or(Ok(None), |text| parse_field::procs(&text));
        let procs = parse_field::usable(procs, RecordField::Procs, &mut found);
        let notes = &mut self.trace.diagnostics;
        for finding in found {
            notes.record(finding, line);
        }
        let (runtime, estimate) = parse_field::resolve_times(runtime, estimate, line, notes);
        if procs.is_none() {
            notes.record(Finding::OneProc, line);
        }
        Ok(TraceJob {
            number,
            submit,
            runtime,
            estimate,
            is_estimated,
            procs: procs.unwrap_or(1),
        })
    }

    fn sla(&mut self, record: &ByteRecord, line: u64) {
        let Self { header, trace, .. } = self;
        let Some(slas) = &mut trace.slas else {
            return;
        };
        let notes = &mut trace.diagnostics;
        let cell = |column| header.cell(record, column);
        slas.push(TraceSla {
            deadline: usable(
                cell(JobTableColumn::Deadline),
                parse_field::deadline,
                RecordField::Deadline,
                line,
                notes,
            ),
            budget: usable(
                cell(JobTableColumn::Budget),
                parse_field::budget,
                RecordField::Budget,
                line,
                notes,
            ),
            penalty: usable(
                cell(JobTableColumn::Penalty),
                parse_field::penalty,
                RecordField::Penalty,
                line,
                notes,
            ),
        });
    }

    fn metadata(&mut self, record: &ByteRecord, procs: u32, line: u64, lossy: &mut bool) {
        let Self { header, trace, .. } = self;
        let Some(metadata) = &mut trace.metadata else {
            return;
        };
        let mut notes = Vec::new();
        let usage = usage(header, record, &mut notes);
        let usage = parse_field::resolve_usage(usage, procs, &mut notes);
        for note in notes {
            trace.diagnostics.record(note, line);
        }
        let name = |column| header.cell(record, column).unwrap_or_default();
        let names = RecordNames {
            user: name(JobTableColumn::User),
            group: name(JobTableColumn::Group),
            account: name(JobTableColumn::Account),
            executable: name(JobTableColumn::Executable).into(),
            queue: name(JobTableColumn::Queue),
        };
        *lossy |= metadata.push(names, usage);
    }

    fn extra(&mut self, record: &ByteRecord, lossy: &mut bool) {
        let Some(extra) = &mut self.trace.extra else {
            return;
        };
        for &(_, place) in &self.header.extra {
            extra.push(&parse_field::utf8(&record[place], lossy));
        }
    }
}

fn usage(header: &JobTableHeader, record: &ByteRecord, notes: &mut Vec<Finding>) -> TraceUsage {
    let cell = |column| -> Option<Cow<'_, [u8]>> { header.number(record, column) };
    let mut span = |column, field| {
        let read = cell(column).map_or(Ok(None), |text| parse_field::known_span(&text, field));
        parse_field::usable(read, field, notes)
    };
    let wait = span(JobTableColumn::Wait, RecordField::Wait);
    let held = span(JobTableColumn::Held, RecordField::Held);
    let cpu_time = span(JobTableColumn::CpuTime, RecordField::CpuTime);
    let mut memory = |column, field| {
        let read = cell(column).map_or(Ok(None), |text| parse_field::bytes(&text, 1, field));
        parse_field::usable(read, field, notes)
    };
    let peak_memory = memory(JobTableColumn::PeakMemory, RecordField::PeakMemory);
    let requested_memory = memory(
        JobTableColumn::RequestedMemory,
        RecordField::RequestedMemory,
    );
    let status = cell(JobTableColumn::Status).map_or(Ok(None), |word| {
        let status = TraceStatus::of_words(&word);
        status
            .ok_or(Finding::Unusable(RecordField::Status))
            .map(Some)
    });
    TraceUsage {
        wait,
        held,
        cpu_time,
        peak_memory,
        requested_memory,
        status: parse_field::usable(status, RecordField::Status, notes).unwrap_or_default(),
    }
}

/// Returns the value of a cell that may be empty. An illegal value counts as empty, and is noted.
fn usable<T>(
    cell: Option<&[u8]>,
    parse: impl Fn(&[u8]) -> Option<T>,
    field: RecordField,
    line: u64,
    notes: &mut Diagnostics,
) -> Option<T> {
    let text = cell?;
    let value = parse(text);
    if value.is_none() {
        notes.record(Finding::Unusable(field), line);
    }
    value
}
