//! The runner's journal: an append-only file of attempts taken, ended and acknowledged.
//!
//! A line is a checksum and a JSON value. A line that does not match its checksum was being written when the
//! machine went down, or is damaged. Such a line is skipped, which is safe. An attempt without its first
//! entry has its `started` file, which prevents a second start. An attempt without its end is reported as
//! lost.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};
use tollgate_engine::{EngineError, LaunchSpec};
use tollgate_host::{checked_line, replace_private, text_of_checked_line};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStart};

/// An entry of the journal, one per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunnerJournalEntry {
    /// The first line: the version of the format.
    Version(u32),
    /// A runner started during this boot of the machine.
    Boot(String),
    /// An attempt was submitted.
    Taken(Box<LaunchSpec>),
    /// An attempt ended or was lost; `started` if it had started before.
    Over {
        attempt: AttemptId,
        started: Option<AttemptStart>,
        event: AttemptEvent,
    },
    /// The attempt gets the signal before its time limit now.
    Warned(AttemptId),
    /// The attempt is suspended from this time after the boot on.
    Suspended { attempt: AttemptId, at_micros: u64 },
    /// The attempt goes on from this time after the boot on.
    Resumed { attempt: AttemptId, at_micros: u64 },
    /// The caller has acknowledged the end.
    Acknowledged(AttemptId),
}

const VERSION: u32 = 1;

/// Disk space reserved beyond the end of the file, so that ends can be recorded on a full disk. An
/// end takes less than 500 bytes, because error messages of the operating system are short.
const RESERVE_BYTES: u64 = 64 << 10;
const BYTES_PER_END: u64 = 512;

/// The file, open for appending.
pub(crate) struct RunnerJournal {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Whether the last write was incomplete, so that the next one has to begin a new line.
    torn: bool,
}

impl RunnerJournal {
    /// Reads the journal at `path`, if it exists, and opens it for appending.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<RunnerJournalEntry>), EngineError> {
        let failed = |step| {
            move |source| EngineError::Setup {
                path: path.to_owned(),
                step,
                source,
            }
        };
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("reading it")(error)),
        };
        let entries: Vec<RunnerJournalEntry> = entries(&text).collect();
        if let Some(RunnerJournalEntry::Version(theirs)) = entries.first()
            && *theirs > VERSION
        {
            return Err(EngineError::Damaged {
                path: path.to_owned(),
                reason: format!("it is of version {theirs}, and this program reads {VERSION}"),
            });
        }
        let mut journal = Self {
            path: path.to_owned(),
            file: open_for_appending(path).map_err(failed("opening it"))?,
            bytes: text.len() as u64,
            torn: text.last().is_some_and(|byte| *byte != b'\n'),
        };
        if entries.is_empty() {
            journal
                .append(&[RunnerJournalEntry::Version(VERSION)])
                .map_err(failed("writing to it"))?;
        }
        Ok((journal, entries))
    }

    /// Reserves disk space for `entries` and for the ends of `attempts` attempts, so that both can
    /// be appended even if the disk fills up meanwhile.
    pub(crate) fn reserve(
        &self,
        entries: &[RunnerJournalEntry],
        attempts: usize,
    ) -> io::Result<()> {
        let now: usize = entries.iter().map(|entry| encode(entry).len()).sum();
        let room = RESERVE_BYTES + now as u64 + BYTES_PER_END * attempts as u64;
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.bytes, room) {
            // Some file systems cannot reserve space; there a full disk loses the ends of that
            // time.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends `entries`. They survive the end of this process, but not a power failure.
    pub(crate) fn append<'a>(
        &mut self,
        entries: impl IntoIterator<Item = &'a RunnerJournalEntry>,
    ) -> io::Result<()> {
        let lines: Vec<u8> = entries.into_iter().flat_map(encode).collect();
        self.write(&lines)
    }

    /// Flushes the appended entries to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Returns the size of the file in bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Replaces the file with one that contains `entries`.
    pub(crate) fn rewrite(&mut self, entries: &[RunnerJournalEntry]) -> io::Result<()> {
        let all = std::iter::once(&RunnerJournalEntry::Version(VERSION)).chain(entries);
        let lines: Vec<u8> = all.flat_map(encode).collect();
        replace_private(&self.path, &lines)?;
        self.file = open_for_appending(&self.path)?;
        self.bytes = lines.len() as u64;
        self.torn = false;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.write_all(b"\n")?;
            self.bytes += 1;
        }
        self.torn = true;
        self.file.write_all(bytes)?;
        self.torn = false;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn open_for_appending(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Returns the entries in the lines of `data`, read once as it is and once as if its checksums were
/// right. Each entry must survive a round trip.
#[cfg(feature = "fuzz")]
pub(crate) fn parse_all(data: &[u8]) -> Vec<RunnerJournalEntry> {
    let lines = data.split(|byte| *byte == b'\n');
    let summed = lines.filter_map(|line| decode(&checked_line(line)));
    let entries: Vec<RunnerJournalEntry> = entries(data).chain(summed).collect();
    for entry in &entries {
        let line = encode(entry);
        assert_eq!(decode(line.trim_ascii_end()).as_ref(), Some(entry));
    }
    entries
}

fn entries(text: &[u8]) -> impl Iterator<Item = RunnerJournalEntry> {
    text.split(|byte| *byte == b'\n').filter_map(decode)
}

fn encode(entry: &RunnerJournalEntry) -> Vec<u8> {
    checked_line(crate::protocol::encode_line(entry).trim_ascii_end())
}

fn decode(line: &[u8]) -> Option<RunnerJournalEntry> {
    serde_json::from_slice(text_of_checked_line(line)?).ok()
}

#[cfg(test)]
mod tests {
    use tollgate_model::NodeId;

    use super::*;

    fn entries() -> Vec<RunnerJournalEntry> {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        vec![
            RunnerJournalEntry::Boot("b".to_owned()),
            RunnerJournalEntry::Taken(Box::new(LaunchSpec::new(
                attempt,
                vec![NodeId(0)],
                ["true"],
                "/",
            ))),
            RunnerJournalEntry::Acknowledged(attempt),
        ]
    }

    #[test]
    fn truncated_journal_keeps_its_complete_entries() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let (mut journal, found) = RunnerJournal::open(&path).expect("a new one");
        assert_eq!(found, []);
        journal.append(&entries()).expect("appended");
        let whole = std::fs::read(&path).expect("it is there");
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("cut");
            let (mut journal, found) = RunnerJournal::open(&path).expect("it opens");
            journal
                .append(&[RunnerJournalEntry::Boot("c".to_owned())])
                .expect("appended");
            let (_, after) = RunnerJournal::open(&path).expect("it opens");
            let kept = found.len().max(1);
            assert_eq!(after[..kept][..found.len()], found, "cut at {cut}");
            assert_eq!(
                after.last(),
                Some(&RunnerJournalEntry::Boot("c".to_owned())),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn damaged_journal_line_is_skipped() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let (mut journal, _) = RunnerJournal::open(&path).expect("a new one");
        journal.append(&entries()).expect("appended");
        let mut bytes = std::fs::read(&path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).expect("damaged");
        let (_, found) = RunnerJournal::open(&path).expect("it opens");
        assert_eq!(found.len(), 3, "one of four is gone: {found:?}");
    }

    #[test]
    fn journal_of_a_newer_version_is_rejected() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        std::fs::write(&path, encode(&RunnerJournalEntry::Version(2))).expect("written");
        assert!(matches!(
            RunnerJournal::open(&path),
            Err(EngineError::Damaged { .. })
        ));
    }

    #[test]
    fn rewritten_journal_holds_the_given_entries() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let (mut journal, _) = RunnerJournal::open(&path).expect("a new one");
        journal.append(&entries()).expect("appended");
        journal.rewrite(&entries()[..1]).expect("rewritten");
        journal.append(&entries()[2..]).expect("appended");
        let (_, found) = RunnerJournal::open(&path).expect("it opens");
        assert_eq!(found[1..], [entries()[0].clone(), entries()[2].clone()]);
    }
}
