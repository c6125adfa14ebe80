//! The fields of one line, and the usage that they record.

use tollgate_model::Span;

use crate::finding::Finding;
use crate::parse_field;
use crate::record_field::RecordField;
use crate::record_reader::NEVER_RAN;
use crate::trace_metadata::RecordNames;
use crate::usage::{TraceStatus, TraceUsage};

/// Unit of memory, in bytes.
const KIBI: u64 = 1024;

/// The fields of one line, as text. Optional fields hold None if they are unknown: missing, or -1 as the
/// format writes it.
#[derive(Default)]
pub(crate) struct SwfRecord<'a> {
    pub(crate) number: &'a [u8],
    pub(crate) submit: &'a [u8],
    wait: Option<&'a [u8]>,
    runtime: &'a [u8],
    pub(crate) allocated: &'a [u8],
    cpu_time: Option<&'a [u8]>,
    memory: Option<&'a [u8]>,
    pub(crate) requested: Option<&'a [u8]>,
    pub(crate) estimate: Option<&'a [u8]>,
    requested_memory: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    group: Option<&'a [u8]>,
    executable: Option<&'a [u8]>,
    queue: Option<&'a [u8]>,
    rest: &'a [u8],
}

impl<'a> SwfRecord<'a> {
    pub(crate) fn split(text: &'a [u8]) -> Result<Self, Finding> {
        let mut fields = BlankSeparatedFields(text);
        let mut required = || fields.next().ok_or(Finding::TooFewFields);
        let [number, submit, wait] = [required()?, required()?, required()?];
        let [runtime, allocated] = [required()?, required()?];
        let mut optional = || known(fields.next());
        Ok(Self {
            number,
            submit,
            wait: known(Some(wait)),
            runtime,
            allocated,
            cpu_time: optional(),
            memory: optional(),
            requested: optional(),
            estimate: optional(),
            requested_memory: optional(),
            status: optional(),
            user: optional(),
            group: optional(),
            executable: optional(),
            queue: optional(),
            rest: fields.0,
        })
    }

    /// Creates a record of which only these fields are known; required fields that are unknown are
    /// empty.
    pub(crate) fn of_fields(fields: [Option<&'a [u8]>; 15]) -> Self {
        let [number, submit, wait, runtime, allocated, rest @ ..] = fields;
        let [cpu_time, memory, requested, estimate, rest @ ..] = rest.map(known);
        let [requested_memory, status, user, group, executable, queue] = rest;
        let [number, submit, runtime, allocated] =
            [number, submit, runtime, allocated].map(Option::unwrap_or_default);
        Self {
            number,
            submit,
            wait: known(wait),
            runtime,
            allocated,
            cpu_time,
            memory,
            requested,
            estimate,
            requested_memory,
            status,
            user,
            group,
            executable,
            queue,
            rest: &[],
        }
    }

    /// Returns whether the line is a partial execution of a job that was checkpointed, which has a
    /// line of its own.
    pub(crate) fn is_partial(&self) -> bool {
        matches!(self.status, Some(b"2" | b"3" | b"4"))
    }

    /// Parses the run time; negative if the job never ran. The format has no start: a job that was
    /// cancelled after 0 s, with no processor time, is taken for one that was cancelled while it waited.
    pub(crate) fn runtime(&self) -> Result<Span, Finding> {
        let runtime = parse_field::span(self.runtime, RecordField::RunTime)?;
        let is_cancelled = self.status == Some(b"5");
        let never_ran = runtime == Span::ZERO && is_cancelled && self.cpu_time.is_none();
        Ok(if never_ran { NEVER_RAN } else { runtime })
    }

    /// Returns the names, where they are known.
    pub(crate) fn names(&self) -> RecordNames<'a> {
        RecordNames {
            user: self.user.unwrap_or_default(),
            group: self.group.unwrap_or_default(),
            account: &[],
            executable: self.executable.unwrap_or_default().into(),
            queue: self.queue.unwrap_or_default(),
        }
    }

    /// Parses the usage on `procs` processors. The fields are times and memory per processor.
    pub(crate) fn usage(&self, procs: u32, notes: &mut Vec<Finding>) -> TraceUsage {
        let whole = self.is_metacentrum();
        let (unit, share) = if whole {
            (1, 1)
        } else {
            (KIBI, u64::from(procs))
        };
        let mut memory = |text: Option<&[u8]>, field| {
            let read = text.map_or(Ok(None), |text| parse_field::bytes(text, unit, field));
            parse_field::usable(read, field, notes).map(|bytes| bytes.times(share))
        };
        let peak_memory = memory(self.memory.filter(|_| !whole), RecordField::PeakMemory);
        let requested_memory = memory(self.requested_memory, RecordField::RequestedMemory);
        let mut span = |text: Option<&[u8]>, field| {
            let read = text.map_or(Ok(None), |text| parse_field::known_span(text, field));
            parse_field::usable(read, field, notes)
        };
        let wait = span(self.wait, RecordField::Wait);
        let cpu_time = span(self.cpu_time.filter(|_| !whole), RecordField::CpuTime)
            .map(|span| Span::from_micros(span.as_micros().saturating_mul(i64::from(procs))));
        let status = parse_field::usable(status(self.status), RecordField::Status, notes);
        let usage = TraceUsage {
            held: None,
            wait,
            cpu_time,
            peak_memory,
            requested_memory,
            status: status.unwrap_or_default(),
        };
        parse_field::resolve_usage(usage, procs, notes)
    }

    /// Returns whether the record is of MetaCentrum's variant: a list of nodes in braces follows
    /// the 18 fields. This variant has the requested memory of the whole job in bytes, and only
    /// placeholders for the used memory.
    fn is_metacentrum(&self) -> bool {
        BlankSeparatedFields(self.rest)
            .nth(3)
            .is_some_and(|field| field.starts_with(b"{"))
    }
}

/// Returns the text of a field, if the value is known.
fn known(text: Option<&[u8]>) -> Option<&[u8]> {
    text.filter(|&text| text != b"-1")
}

/// Parses field 11. For a job that was checkpointed, 2 is a part that was followed by others, and 3
/// and 4 are the final status of the last part.
fn status(text: Option<&[u8]>) -> Result<Option<TraceStatus>, Finding> {
    match text {
        None | Some(b"2") => Ok(None),
        Some(b"1" | b"3") => Ok(Some(TraceStatus::Completed)),
        Some(b"0" | b"4") => Ok(Some(TraceStatus::Failed)),
        Some(b"5") => Ok(Some(TraceStatus::Cancelled)),
        Some(_) => Err(Finding::Unusable(RecordField::Status)),
    }
}

/// An iterator over the fields of a line between blanks.
pub(crate) struct BlankSeparatedFields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for BlankSeparatedFields<'a> {
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

/// Returns whether a byte is a blank, a tab or another control character, such as a carriage
/// return.
const fn is_blank(byte: u8) -> bool {
    byte <= b' '
}
