//! The journal of an agent: the state of its site on disk.
//!
//! A line is a checksum and a JSON value. The first line is a snapshot of the state, each further one a
//! record. A record is on disk before the agent acts on it, and one record is written at a time. So a crash
//! damages at most the last line, on which nothing was based; that line is left out. Damage before the last
//! line is an error, because a site that forgets a transfer loses or doubles a pilot.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_federation::SiteRecord;
use tollgate_federation::durable::DurableState;
use tollgate_host::{checked_line, text_of_checked_line};
use tollgate_sites::replace_file;

use crate::AgentError;

/// The version of the format.
const VERSION: u32 = 1;
/// The number of records after which the journal is replaced by a snapshot.
const MAX_RECORDS: usize = 1000;

/// The place where an agent keeps its records.
pub trait RecordLog {
    /// Appends a record. It is on disk when this returns.
    ///
    /// # Errors
    /// The system's error. The agent must not go on then.
    fn append(&mut self, record: SiteRecord) -> io::Result<()>;

    /// Replaces all records by the state that they sum up to, if there are many.
    ///
    /// # Errors
    /// The system's error.
    fn cut(&mut self, state: &DurableState) -> io::Result<()>;
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentJournalEntry {
    /// The first line: the state before the records that follow.
    Snapshot {
        /// The version of the format.
        version: u32,
        /// The session.
        session: String,
        /// The site.
        site: String,
        /// The state.
        state: DurableState,
    },
    /// A record.
    Record(SiteRecord),
}

/// The contents of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadJournal {
    /// The session.
    pub session: String,
    /// The site.
    pub site: String,
    /// The state: the snapshot and all records.
    pub state: DurableState,
    /// The number of records.
    pub records: usize,
    /// The length of the legal lines in bytes. A crash cut off the bytes behind them.
    pub len: usize,
}

/// An error in a line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct JournalFault {
    /// The number of the line.
    pub line: usize,
    /// Description of the problem.
    pub problem: &'static str,
}

/// The journal in a file, open for appending.
#[derive(Debug)]
pub struct AgentJournal {
    path: PathBuf,
    file: File,
    session: String,
    site: String,
    records: usize,
}

impl AgentJournal {
    /// Opens the journal of a site, and returns the site's state. Without a file, the site begins with
    /// `first`.
    ///
    /// # Errors
    /// An error if the file cannot be used, is damaged, or belongs to another site or session.
    pub fn open(
        path: &Path,
        session: &str,
        site: &str,
        first: DurableState,
    ) -> Result<(Self, DurableState), AgentError> {
        let failed = |error| AgentError::file(path, error);
        let read = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => Some(read.map_err(failed)?),
        };
        let (state, records) = match read {
            None => {
                let text = snapshot(session, site, &first);
                replace_file(path, &text)?;
                (first, 0)
            }
            Some(bytes) => {
                let fault = |line, problem: String| AgentError::Journal {
                    path: path.to_owned(),
                    line,
                    problem,
                };
                let read = read_journal(&bytes)
                    .map_err(|error| fault(error.line, error.problem.to_owned()))?;
                if (read.session.as_str(), read.site.as_str()) != (session, site) {
                    let owner = format!(
                        "it is that of site {} of session {}",
                        read.site, read.session
                    );
                    return Err(fault(1, owner));
                }
                if read.len < bytes.len() {
                    let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                    file.set_len(read.len as u64).map_err(failed)?;
                    file.sync_all().map_err(failed)?;
                }
                (read.state, read.records)
            }
        };
        let file = OpenOptions::new().append(true).mode(0o600).open(path);
        let journal = Self {
            path: path.to_owned(),
            file: file.map_err(failed)?,
            session: session.to_owned(),
            site: site.to_owned(),
            records,
        };
        Ok((journal, state))
    }
}

impl RecordLog for AgentJournal {
    fn append(&mut self, record: SiteRecord) -> io::Result<()> {
        self.file
            .write_all(&encode(&AgentJournalEntry::Record(record)))?;
        self.file.sync_data()?;
        self.records += 1;
        Ok(())
    }

    fn cut(&mut self, state: &DurableState) -> io::Result<()> {
        if self.records < MAX_RECORDS {
            return Ok(());
        }
        let text = snapshot(&self.session, &self.site, state);
        replace_file(&self.path, &text).map_err(io::Error::other)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.records = 0;
        Ok(())
    }
}

/// Returns a journal that is a snapshot alone.
pub fn snapshot(session: &str, site: &str, state: &DurableState) -> Vec<u8> {
    encode(&AgentJournalEntry::Snapshot {
        version: VERSION,
        session: session.to_owned(),
        site: site.to_owned(),
        state: state.clone(),
    })
}

/// Reads a journal. A last line that is not whole is left out.
///
/// # Errors
/// An error if a line before the last one is damaged, or there is no snapshot.
pub fn read_journal(bytes: &[u8]) -> Result<ReadJournal, JournalFault> {
    let fault = |line, problem| Err(JournalFault { line, problem });
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    let first = lines.next().unwrap_or_default();
    let Some(AgentJournalEntry::Snapshot {
        version,
        session,
        site,
        state,
    }) = decode(first)
    else {
        return fault(1, "expected a snapshot");
    };
    if version > VERSION {
        return fault(1, "it was written by a newer version of this program");
    }
    let mut read = ReadJournal {
        session,
        site,
        state,
        records: 0,
        len: first.len(),
    };
    let mut number = 1;
    while let Some(line) = lines.next() {
        number += 1;
        match decode(line) {
            Some(AgentJournalEntry::Record(record)) => read.state.apply(record),
            Some(AgentJournalEntry::Snapshot { .. }) => return fault(number, "a second snapshot"),
            None if lines.peek().is_none() => break,
            None => return fault(number, "the checksum does not match"),
        }
        read.records += 1;
        read.len += line.len();
    }
    Ok(read)
}

/// Returns the line of an entry.
pub fn encode(entry: &AgentJournalEntry) -> Vec<u8> {
    let json = serde_json::to_vec(entry).expect("an own type is representable in JSON");
    checked_line(&json)
}

fn decode(line: &[u8]) -> Option<AgentJournalEntry> {
    let line = line.strip_suffix(b"\n")?;
    serde_json::from_slice(text_of_checked_line(line)?).ok()
}

/// Reads `data` as a journal, once as it is and once as if its checksums were right. Each entry must
/// survive a round trip. Returns whether all of it was read.
#[cfg(feature = "fuzz")]
pub(crate) fn check(data: &[u8]) -> bool {
    let lines = data.split(|byte| *byte == b'\n');
    let summed: Vec<u8> = lines
        .flat_map(|line| checked_line(tollgate_host::text_of_unchecked_line(line)))
        .collect();
    for text in [data, summed.as_slice()] {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let entry = decode(line);
            assert_eq!(
                entry.as_ref().and_then(|entry| decode(&encode(entry))),
                entry
            );
        }
        if let Ok(read) = read_journal(text) {
            let again = snapshot(&read.session, &read.site, &read.state);
            let again = read_journal(&again).expect("a snapshot of one's own");
            assert_eq!(again.state, read.state);
        }
    }
    read_journal(data).is_ok_and(|read| read.len == data.len())
}

#[cfg(test)]
mod tests {
    use tollgate_federation::{Ballot, SiteId};
    use tollgate_model::Instant;

    use super::*;

    fn records() -> Vec<SiteRecord> {
        let first = Ballot::NONE.next(SiteId(1));
        vec![
            SiteRecord::Promised { ballot: first },
            SiteRecord::Given {
                ballot: first,
                to: SiteId(1),
                cool_until: Instant::from_secs(9),
            },
            SiteRecord::Confirmed { ballot: first },
        ]
    }

    fn open(path: &Path) -> Result<(AgentJournal, DurableState), AgentError> {
        AgentJournal::open(path, "fit", "north", DurableState::new(1, 6))
    }

    #[test]
    fn journal_that_is_cut_at_any_byte_has_its_whole_records() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        let (mut journal, mut state) = open(&path).expect("a new journal");
        let mut states = vec![(fs::metadata(&path).expect("a file").len(), state.clone())];
        for record in records() {
            journal.append(record).expect("a writable file");
            state.apply(record);
            states.push((fs::metadata(&path).expect("a file").len(), state.clone()));
        }
        let whole = fs::read(&path).expect("a file");
        for cut in states[0].0..=whole.len() as u64 {
            fs::write(&path, &whole[..cut as usize]).expect("a writable file");
            let (mut journal, read) = open(&path).expect("a whole first line");
            let expected = states.iter().rfind(|(len, _)| *len <= cut);
            assert_eq!(
                Some(&read),
                expected.map(|(_, state)| state),
                "cut at {cut}"
            );
            // The journal goes on after the last whole record.
            let late = SiteRecord::Promised {
                ballot: Ballot::LAST,
            };
            journal.append(late).expect("a writable file");
            let again = open(&path).expect("a whole journal").1;
            assert_eq!(again.promised, Ballot::LAST, "cut at {cut}");
        }
    }

    #[test]
    fn damage_before_the_last_line_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        let (mut journal, _) = open(&path).expect("a new journal");
        for record in records() {
            journal.append(record).expect("a writable file");
        }
        let whole = fs::read(&path).expect("a file");
        let first_line = whole
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("a line");
        for at in [5, first_line + 20] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("a writable file");
            assert!(
                matches!(open(&path), Err(AgentError::Journal { .. })),
                "{at}"
            );
        }
        fs::write(&path, &whole).expect("a writable file");
        let other = AgentJournal::open(&path, "fit", "south", DurableState::new(1, 6));
        assert!(matches!(other, Err(AgentError::Journal { .. })));
    }

    #[test]
    fn long_journal_is_cut_to_a_snapshot() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        let (mut journal, mut state) = open(&path).expect("a new journal");
        journal.records = MAX_RECORDS;
        for record in records() {
            state.apply(record);
        }
        journal.cut(&state).expect("a writable file");
        let more = SiteRecord::Promised {
            ballot: Ballot::NONE.next(SiteId(2)),
        };
        journal.append(more).expect("a writable file");
        state.apply(more);
        assert_eq!(open(&path).expect("a whole journal").1, state);
        let lines = fs::read_to_string(&path).expect("text").lines().count();
        assert_eq!(lines, 2);
    }
}
