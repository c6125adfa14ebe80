//! Event traces of the Failure Trace Archive (Javadi et al., "The Failure Trace Archive", Journal
//! of Parallel and Distributed Computing 73(8), 2013): the availability of each node over time.

use std::io::BufRead;

use super::{ComputerPresence, LoginTrace};
use crate::error::ReadError;
use crate::finding::Finding;
use crate::line_reader::{TextLine, for_each_line};
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::swf::BlankSeparatedFields;

/// The columns that are read.
const NODE: &[u8] = b"node_id";
const TYPE: &[u8] = b"event_type";
const START: &[u8] = b"event_start_time";
const STOP: &[u8] = b"event_stop_time";

/// Returns whether `line` names these columns.
pub(super) fn is_header(line: &[u8]) -> bool {
    FtaColumns::of(line).is_some()
}

struct FtaColumns {
    node: usize,
    kind: usize,
    start: usize,
    stop: usize,
}

impl FtaColumns {
    fn of(line: &[u8]) -> Option<Self> {
        let place = |name: &[u8]| BlankSeparatedFields(line).position(|field| field == name);
        Some(Self {
            node: place(NODE)?,
            kind: place(TYPE)?,
            start: place(START)?,
            stop: place(STOP)?,
        })
    }
}

/// Reads every event of `reader`.
pub(super) fn read(reader: impl BufRead) -> Result<LoginTrace, ReadError> {
    let mut logins = LoginTrace::default();
    let mut columns = None;
    for_each_line(reader, |number, line| {
        let found = match line {
            TextLine::TooLong => Err(Finding::LineTooLong),
            TextLine::BehindZeros(_) => Err(Finding::ZeroBytes),
            TextLine::Text(text) if text.trim_ascii().is_empty() || text.starts_with(b"#") => {
                Ok(())
            }
            TextLine::Text(text) => match &columns {
                Some(columns) => event(&mut logins, columns, text, number),
                None => {
                    columns = FtaColumns::of(text);
                    columns.is_some().then_some(()).ok_or(Finding::FieldCount)
                }
            },
        };
        if let Err(finding) = found {
            logins.diagnostics.record(finding, number);
        }
    })
    .map_err(|(line, error)| ReadError::Io { line, error })?;
    Ok(logins)
}

fn event(
    logins: &mut LoginTrace,
    columns: &FtaColumns,
    text: &[u8],
    line: u64,
) -> Result<(), Finding> {
    let field = |at| {
        BlankSeparatedFields(text)
            .nth(at)
            .ok_or(Finding::FieldCount)
    };
    let (node, kind) = (field(columns.node)?, field(columns.kind)?);
    let (start, stop) = (field(columns.start)?, field(columns.stop)?);
    let presence = match kind {
        b"0" => ComputerPresence::Unavailable,
        b"1" => ComputerPresence::Available,
        _ => return Err(Finding::UnknownState),
    };
    let from = parse_time::unix_seconds(start, RecordField::Start)?;
    let to = parse_time::unix_seconds(stop, RecordField::End)?;
    if to < from {
        return Err(Finding::OutOfRange(RecordField::End));
    }
    let mut lossy = false;
    let node = parse_field::utf8(node, &mut lossy);
    logins.push(&node, from, Some(to), presence);
    if lossy {
        logins.diagnostics.record(Finding::NameNotUtf8, line);
    }
    Ok(())
}
