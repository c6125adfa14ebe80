//! The Grid Workloads Format of the Grid Workloads Archive, in both of its notations.
//!
//! Iosup et al., "The Grid Workloads Archive", Future Generation Computer Systems 24(7), 2008. In
//! the notation with blanks, the first 15 of the 29 fields are those of SWF ([`crate::swf`]), and
//! comments begin with `#`; the project (field 29) is the account. In the notation with commas, a
//! header names the columns, of which `JobID`, `SubmitTime`, `RunTime` and `NProcs` are required.
//! Every task of a workflow is a job; the structure of the workflow is not kept.

use std::io::BufRead;

use tollgate_model::{Instant, Span};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::record_field::RecordField;
use crate::record_reader::{self, ParsedRecord, RecordContent, RecordFormat};
use crate::swf::{BlankSeparatedFields, SwfRecord};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;

/// Index of the job structure, field 19, with its legal values. This field distinguishes a record
/// from an SWF record.
const STRUCTURE: usize = 18;
const STRUCTURES: [&[u8]; 6] = [
    b"UNITARY",
    b"COMPOSITE",
    b"BOT",
    b"BoT",
    b"DAG",
    b"WORKFLOW",
];

/// Fields of a record, the last of which is the project.
const FIELDS: usize = 29;

/// The required columns of the notation with commas.
const REQUIRED: [&[u8]; 4] = [b"JobID", b"SubmitTime", b"RunTime", b"NProcs"];

/// Reads every record of `reader`; lines that are not records are counted and skipped.
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
    record_reader::read(GwfFormat::default(), sink, source, reader, options)
}

/// Returns whether `line` is a header with commas, or a record with blanks.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    GwfHeader::of(line).is_some() || is_record(line)
}

fn is_record(line: &[u8]) -> bool {
    let structure = BlankSeparatedFields(line).nth(STRUCTURE);
    let is_structured = structure.is_some_and(|word| STRUCTURES.contains(&word));
    (is_structured || BlankSeparatedFields(line).count() == FIELDS) && crate::swf::is_record(line)
}

#[derive(Default)]
struct GwfFormat {
    header: Option<GwfHeader>,
}

impl RecordFormat for GwfFormat {
    const ORIGIN: Option<Instant> = None;

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if text.trim_ascii_start().starts_with(b"#") {
            return Ok(RecordContent::Nothing);
        }
        if let Some(header) = GwfHeader::of(text) {
            return match self.header.replace(header) {
                Some(_) => Err(Finding::RepeatedHeader),
                None => Ok(RecordContent::Nothing),
            };
        }
        let (record, project) = match &self.header {
            Some(header) => header.split(text)?,
            None => (
                SwfRecord::split(text)?,
                BlankSeparatedFields(text).nth(FIELDS - 1),
            ),
        };
        parse_record(&record, project, keep).map(RecordContent::Job)
    }
}

fn parse_record<'a>(
    record: &SwfRecord<'a>,
    project: Option<&'a [u8]>,
    keep: ColumnSelection,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let [allocated, requested] = [Some(record.allocated), record.requested].map(|text| {
        let count = text
            .filter(|text| !text.is_empty())
            .map_or(Ok(None), parse_field::procs);
        parse_field::usable(count, RecordField::Procs, &mut notes)
    });
    let procs = allocated.or(requested).unwrap_or(1);
    let estimate = record.estimate;
    let estimate = estimate.map(|text| parse_field::span(text, RecordField::Estimate));
    let estimate = parse_field::usable(estimate.transpose(), RecordField::Estimate, &mut notes);
    Ok(ParsedRecord {
        number: parse_field::job_number(record.number)?,
        submit: parse_field::submit(record.submit)?,
        runtime: record.runtime()?,
        key: None,
        estimate: estimate.filter(|&span| span > Span::ZERO),
        allocated,
        requested,
        names: RecordNames {
            account: project.filter(|&name| name != b"-1").unwrap_or_default(),
            ..record.names()
        },
        usage: keep.usage(|| record.usage(procs, &mut notes)),
        attempts: None,
        notes,
    })
}

/// The position of each column of the notation with commas.
struct GwfHeader {
    /// The positions in the order of SWF's fields; the project comes last.
    places: [Option<usize>; COLUMNS.len()],
    width: usize,
}

const COLUMNS: [&[u8]; 16] = [
    b"JobID",
    b"SubmitTime",
    b"WaitTime",
    b"RunTime",
    b"NProcs",
    b"AverageCPUTimeUsed",
    b"UsedMemory",
    b"ReqNProcs",
    b"ReqTime",
    b"ReqMemory",
    b"Status",
    b"UserID",
    b"GroupID",
    b"ExecutableID",
    b"QueueID",
    b"ProjectID",
];

impl GwfHeader {
    fn of(line: &[u8]) -> Option<Self> {
        let names = || cells(line);
        let is_header = REQUIRED
            .iter()
            .all(|required| names().any(|name| name == *required));
        is_header.then(|| Self {
            places: COLUMNS.map(|column| names().position(|name| name == column)),
            width: names().count(),
        })
    }

    fn split<'a>(&self, line: &'a [u8]) -> Result<(SwfRecord<'a>, Option<&'a [u8]>), Finding> {
        let mut found = [None; COLUMNS.len()];
        let mut width = 0;
        for (place, cell) in cells(line).enumerate() {
            width += 1;
            if let Some(column) = self.places.iter().position(|&at| at == Some(place)) {
                found[column] = Some(cell).filter(|cell| !cell.is_empty());
            }
        }
        if width != self.width {
            return Err(Finding::FieldCount);
        }
        let [record @ .., project] = found;
        Ok((SwfRecord::of_fields(record), project))
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLANKS: &str = "1 1136073600 5 40 4 35 1000 4 900 2000 1 U7 G2 X11 Q3 -1 -1 -1 UNITARY \
        -1 -1 -1 -1 -1 -1 -1 -1 -1 P9";
    const COMMAS: &str =
        "WorkflowID, JobID , SubmitTime, RunTime , NProcs , ReqNProcs, Dependencies";

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn both_notations_are_distinguished_from_swf() {
        assert!(matches_format(BLANKS.as_bytes()) && matches_format(COMMAS.as_bytes()));
        assert!(!matches_format(
            b"1 0 5 40 4 35 1000 4 900 2000 1 7 2 11 3 -1 -1 -1 {1,2} q 1:ppn=4"
        ));
        assert!(!matches_format(b"job_id,submit_s,runtime_s,procs"));
    }

    #[test]
    fn blank_separated_records_are_read_like_swf_with_a_project() {
        let trace = parsed(&format!("# Version: 1.0\n{BLANKS}\n"));
        let swf = crate::swf::read(
            "jobs",
            BLANKS.as_bytes(),
            ReadOptions {
                columns: ColumnSelection::All,
            },
        );
        let swf = swf.unwrap();
        assert_eq!(trace.jobs, swf.jobs);
        let (names, swf_names) = (trace.metadata.unwrap(), swf.metadata.unwrap());
        assert_eq!(names.usage, swf_names.usage);
        assert_eq!(names.executable.get(0), Some("X11"));
        assert_eq!(names.account.get(0), Some("P9"));
    }

    #[test]
    fn comma_separated_records_are_read_by_header() {
        let text =
            format!("{COMMAS}\n0, 1 , 16, 11, 1, 1,  \n0, 2, 40, 0, 0, 3, 1 4\n{COMMAS}\n0,3\n");
        let trace = parsed(&text);
        assert_eq!(trace.jobs.len(), 2);
        assert_eq!(trace.jobs[0].runtime, Span::from_secs(11));
        assert_eq!(trace.jobs[1].procs, 3);
        assert_eq!(trace.diagnostics.count(Finding::RepeatedHeader), 1);
        assert_eq!(trace.diagnostics.count(Finding::FieldCount), 1);
    }
}
