//! Occupation of computers: log-ins of their owners, and records of their availability.
//!
//! | format | detected by |
//! |---|---|
//! | a table with a header, CSV | a column for the computer or room and one for the time |
//! | event traces of the Failure Trace Archive | `event_start_time` in the header |
//!
//! The column of the computer or room is called `computer`, `location`, `host`, `machine`, `node`
//! or `volunteer`. The log-in is called `login`, `datetime`, `timestamp`, `from` or `start`. The
//! log-out, which may be missing, is called `logout`, `to`, `end` or `stop`. Times are Unix seconds
//! or of the form `2016-01-31 19:57:45`; without a zone they are taken as UTC.

mod fta;
mod login_csv;

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use tollgate_model::{Instant, Span};

use crate::diagnostics::Diagnostics;
use crate::error::excerpt;
use crate::error::{OpenError, ReadError};
use crate::name_column::{NameColumn, NameId};
use crate::open::{open_with, read_with, without_byte_order_mark};

/// Size of the beginning from which the format is detected, in bytes.
const PREFIX: u64 = 1 << 16;

/// A stretch of time at a computer or in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginSession {
    /// The computer or room.
    pub place: NameId,
    /// Beginning of the session, since the Unix epoch.
    pub from: Instant,
    /// End of the session, if it is known; not before its beginning.
    pub to: Option<Instant>,
    /// State of the computer during the session.
    pub presence: ComputerPresence,
}

impl LoginSession {
    /// Returns the duration of the session, if its end is known.
    pub fn span(&self) -> Option<Span> {
        self.to.map(|to| to.since(self.from))
    }
}

/// The state of a computer or room during a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComputerPresence {
    /// A user was logged in.
    LoggedIn,
    /// The computer was available to others.
    Available,
    /// The computer was not available.
    Unavailable,
}

/// The sessions of a file, in order of their beginnings; ties in file order.
#[derive(Clone, Debug, Default)]
pub struct LoginTrace {
    /// The source of the sessions, for messages.
    pub source: String,
    /// The sessions.
    pub sessions: Vec<LoginSession>,
    /// Data that was skipped, repaired or defaulted.
    pub diagnostics: Diagnostics,
    /// The computers and rooms; one row per session, in file order.
    places: NameColumn,
}

impl LoginTrace {
    /// Returns the name of a computer or room.
    pub fn place(&self, place: NameId) -> &str {
        self.places.name(place)
    }

    /// Returns every computer and room, in the order of first occurrence.
    pub fn places(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places.names()
    }

    fn push(
        &mut self,
        place: &str,
        from: Instant,
        to: Option<Instant>,
        presence: ComputerPresence,
    ) {
        self.places.push(Some(place));
        if let Some(place) = self.places.id(self.places.len() - 1) {
            self.sessions.push(LoginSession {
                place,
                from,
                to,
                presence,
            });
        }
    }
}

/// Reads the log-ins at `path`, gzip or not; `-` is standard input.
///
/// # Errors
/// [`OpenError`] if the file cannot be read, has no known format, or has no usable line.
pub fn open(path: &Path) -> Result<LoginTrace, OpenError> {
    open_with(path, from_reader)
}

/// Reads log-ins from any stream of bytes, gzip or not; `name` names the stream in messages.
///
/// # Errors
/// As [`open`].
pub fn read(name: &str, bytes: impl Read) -> Result<LoginTrace, OpenError> {
    read_with(name, bytes, from_reader)
}

/// Returns whether `line` is the header of a file of log-ins.
pub(crate) fn matches_format(line: &[u8]) -> bool {
    fta::is_header(line) || login_csv::LoginHeader::of_line(line).is_some()
}

fn from_reader(name: &str, mut bytes: Box<dyn Read + '_>) -> Result<LoginTrace, ReadError> {
    let mut prefix = Vec::new();
    let read = bytes.by_ref().take(PREFIX).read_to_end(&mut prefix);
    read.map_err(|error| ReadError::Io { line: 1, error })?;
    without_byte_order_mark(&mut prefix);
    let mut lines = (1..).zip(prefix.split(|&byte| byte == b'\n'));
    let (line, first) = lines
        .find(|(_, line)| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
        .ok_or(ReadError::Empty)?;
    let (is_fta, is_sheet) = (fta::is_header(first), matches_format(first));
    let found = excerpt(first);
    let reader = BufReader::new(Cursor::new(prefix).chain(bytes));
    let mut logins = if is_fta {
        fta::read(reader)?
    } else if is_sheet {
        login_csv::read(reader)?
    } else {
        return Err(ReadError::UnknownLogins { line, found });
    };
    if logins.sessions.is_empty() {
        let diagnostics = logins.diagnostics;
        return Err(ReadError::NoLogins { diagnostics });
    }
    logins.source = name.to_owned();
    logins.sessions.sort_by_key(|session| session.from);
    Ok(logins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::record_field::RecordField;

    #[test]
    fn tables_are_read_with_and_without_log_outs() {
        let text = "\"datetime\",\"location\"\n\"2016-01-31 19:57:45\",\"HAL\"\n\
                    \"2016-01-31 18:20:06\",\"Roo, 2\"\n";
        let logins = read("here", text.as_bytes()).unwrap();
        assert_eq!(logins.sessions[0].from, Instant::from_secs(1_454_264_406));
        assert_eq!(logins.place(logins.sessions[0].place), "Roo, 2");
        assert_eq!(logins.sessions[0].span(), None);
        assert_eq!(logins.diagnostics.count(Finding::AssumedUtc), 1);

        let text = "computer,login,logout\na,2016-02-28T08:09:53.5Z,2016-02-28T08:10:00Z\nb,100,\n\
                    c,100,50\nd,soon,\n,5,6\ne,7\n";
        let logins = read("here", text.as_bytes()).unwrap();
        let [b, a] = logins.sessions[..] else {
            panic!("{logins:?}");
        };
        assert_eq!((b.from, b.to), (Instant::from_secs(100), None));
        assert_eq!(a.span(), Some(Span::from_micros(6_500_000)));
        assert_eq!(logins.places().len(), 2);
        for finding in [
            Finding::OutOfRange(RecordField::Logout),
            Finding::NotATime(RecordField::Login),
            Finding::Missing(RecordField::Computer),
            Finding::FieldCount,
        ] {
            assert_eq!(
                logins.diagnostics.count(finding),
                1,
                "{}",
                logins.diagnostics
            );
        }
        assert_eq!(logins.diagnostics.iter().count(), 4);
    }

    #[test]
    fn event_traces_have_both_states() {
        let text = "# Failure Trace Archive\n\
            event_id component_id node_id platform_id node_name event_type event_start_time \
            event_stop_time event_end_reason\n\
            0\t0\t655\t3\t10.000\t0\t1099755300\t1099906200\t8000\n\
            1 0 655 3 10.000 1 1099906200 1112096400 4022\n1 0 655 3 10.000 7 5 6 1\n1 0\n";
        let logins = read("here", text.as_bytes()).unwrap();
        let presences: Vec<_> = logins.sessions.iter().map(|one| one.presence).collect();
        assert_eq!(
            presences,
            [ComputerPresence::Unavailable, ComputerPresence::Available]
        );
        assert_eq!(logins.sessions[0].span(), Some(Span::from_secs(150_900)));
        assert_eq!(logins.diagnostics.count(Finding::UnknownState), 1);
        assert_eq!(logins.diagnostics.count(Finding::FieldCount), 1);
    }

    #[test]
    fn other_files_are_rejected() {
        let error = read("here", b"a,b\n1,2\n".as_slice()).unwrap_err();
        assert!(
            error.to_string().contains("`computer,login,logout`"),
            "{error}"
        );
        let error = read("here", b"computer,login\na,x\n".as_slice()).unwrap_err();
        assert!(
            error.to_string().contains("log-in time is not a time"),
            "{error}"
        );
        assert!(matches!(
            read("here", b"\n".as_slice()).unwrap_err().cause,
            ReadError::Empty
        ));
    }
}
