//! Log-ins as a table with a header.

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};

use super::{ComputerPresence, LoginTrace};
use crate::error::ReadError;
use crate::finding::Finding;
use crate::job_table::io_error;
use crate::parse_field;
use crate::parse_field::unquoted;
use crate::parse_time::{self, ZoneOrigin};
use crate::record_field::RecordField;

const PLACES: [&str; 6] = [
    "computer",
    "location",
    "host",
    "machine",
    "node",
    "volunteer",
];
const LOGINS: [&str; 5] = ["login", "datetime", "timestamp", "from", "start"];
const LOGOUTS: [&str; 4] = ["logout", "to", "end", "stop"];

/// The positions of the columns.
pub(super) struct LoginHeader {
    place: usize,
    login: usize,
    logout: Option<usize>,
    width: usize,
}

impl LoginHeader {
    /// Returns the header in `line`, if it is one.
    pub(super) fn of_line(line: &[u8]) -> Option<Self> {
        Self::of(|| line.split(|&byte| byte == b',').map(unquoted))
    }

    fn of<'a, I: Iterator<Item = &'a [u8]>>(cells: impl Fn() -> I) -> Option<Self> {
        let find = |names: &[&str]| {
            cells().position(|cell| {
                let known = |name: &&str| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
                names.iter().any(known)
            })
        };
        Some(Self {
            place: find(&PLACES)?,
            login: find(&LOGINS)?,
            logout: find(&LOGOUTS),
            width: cells().count(),
        })
    }
}

/// Reads every line of the table in `reader`.
pub(super) fn read(reader: impl BufRead) -> Result<LoginTrace, ReadError> {
    let mut csv = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(reader);
    let mut logins = LoginTrace::default();
    let mut header: Option<LoginHeader> = None;
    let mut record = ByteRecord::new();
    loop {
        let line = csv.position().line();
        let more = csv.read_byte_record(&mut record);
        if !more.map_err(|error| io_error(error, line))? {
            return Ok(logins);
        }
        let line = record.position().map_or(line, csv::Position::line);
        let found = match &header {
            Some(header) => session(&mut logins, header, &record, line),
            None => {
                header = LoginHeader::of(|| record.iter());
                header.is_some().then_some(()).ok_or(Finding::FieldCount)
            }
        };
        if let Err(finding) = found {
            logins.diagnostics.record(finding, line);
        }
    }
}

fn session(
    logins: &mut LoginTrace,
    header: &LoginHeader,
    record: &ByteRecord,
    line: u64,
) -> Result<(), Finding> {
    if record.len() != header.width {
        return Err(Finding::FieldCount);
    }
    let cell = |at| record.get(at).unwrap_or_default().trim_ascii();
    let place = cell(header.place);
    if place.is_empty() {
        return Err(Finding::Missing(RecordField::Computer));
    }
    let (from, mut zone) = parse_time::instant(cell(header.login), RecordField::Login)?;
    let mut to = None;
    if let Some(text) = header.logout.map(cell).filter(|text| !text.is_empty()) {
        let (logout, logout_zone) = parse_time::instant(text, RecordField::Logout)?;
        if logout < from {
            return Err(Finding::OutOfRange(RecordField::Logout));
        }
        (to, zone) = (Some(logout), zone.max(logout_zone));
    }
    let mut lossy = false;
    let place = parse_field::utf8(place, &mut lossy);
    logins.push(&place, from, to, ComputerPresence::LoggedIn);
    let notes = &mut logins.diagnostics;
    if lossy {
        notes.record(Finding::NameNotUtf8, line);
    }
    if zone == ZoneOrigin::Assumed && notes.count(Finding::AssumedUtc) == 0 {
        notes.record(Finding::AssumedUtc, line);
    }
    Ok(())
}
