//! The outputs that the service keeps of tasks on other hosts: a file for each stream of a task that has one, with a
//! line of JSON before the bytes. No other user can read the files, and all together they have a limit: the oldest of the user with the
//! most make room.

mod index;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tollgate_engine::output::{AttemptStream, OutputFile, OutputPiece};
use tollgate_host::{guarded, replace_private};
use tollgate_model::{Instant, TaskId};
use tollgate_workers::CollectedOutput;

use self::index::KeptIndex;
pub(crate) use self::index::KeptName;

/// The file with the instant before which outputs may have been removed, in microseconds since 1970.
const REMOVED: &str = "removed";
/// Maximum length of the line before the bytes.
const MAX_HEADER_BYTES: u64 = 4_096;

/// The description of a kept output: the first line of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptHeader {
    /// The number of the attempt.
    pub(crate) attempt: u32,
    /// The position of the first byte in the output.
    pub(crate) start: u64,
    /// The file on the host of the task, at the end of the attempt.
    pub(crate) file: OutputFile,
    /// Why nothing is kept, if the output could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// Some of a kept output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptPiece {
    pub(crate) header: KeptHeader,
    /// The position of the first byte in the output.
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
    /// Whether the rest of the output is missing.
    pub(crate) is_cut: bool,
}

/// The writer of kept outputs.
#[derive(Debug)]
pub struct KeptOutputs {
    dir: PathBuf,
    max_bytes: u64,
    index: KeptIndex,
}

impl KeptOutputs {
    /// Opens the directory. Removes the files of jobs without an owner, which do not exist, and those beyond
    /// `max_bytes`. So no job that gets such a number later has the output of another one.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub fn open(
        dir: PathBuf,
        max_bytes: u64,
        mut owner_of: impl FnMut(u64) -> io::Result<Option<u32>>,
    ) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let mut found = Vec::new();
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let metadata = entry.metadata()?;
            match name.to_str().and_then(name_of) {
                Some(kept) => found.push((metadata.modified()?, kept, metadata.len())),
                None if name == REMOVED => {}
                None => fs::remove_file(entry.path())?,
            }
        }
        found.sort_by_key(|&(modified, name, _)| (modified, name));
        let mut kept = Self {
            dir,
            max_bytes,
            index: KeptIndex::default(),
        };
        let mut owners = BTreeMap::new();
        for (_, name, bytes) in found {
            let job = name.task.job;
            let owner = match owners.get(&job) {
                Some(&owner) => owner,
                None => {
                    let owner = owner_of(job)?;
                    owners.insert(job, owner);
                    owner
                }
            };
            match owner {
                Some(owner) => kept.index.insert(name, owner, bytes),
                None => fs::remove_file(path(&kept.dir, name))?,
            }
        }
        kept.make_room()?;
        Ok(kept)
    }

    /// Adds a piece to the output of a task of `owner`. The first piece of an attempt replaces what is kept
    /// of an earlier one.
    ///
    /// # Errors
    /// If the file cannot be written. Then nothing is kept of the output.
    pub(crate) fn add(
        &mut self,
        output: &CollectedOutput,
        owner: u32,
        now: Instant,
    ) -> io::Result<()> {
        let added = self.try_add(output, owner);
        if added.is_err() {
            self.forget(kept_name(output))?;
            self.note_removal(now.as_micros())?;
        }
        added?;
        self.make_room()
    }

    fn try_add(&mut self, output: &CollectedOutput, owner: u32) -> io::Result<()> {
        let attempt = output.output.attempt;
        let name = kept_name(output);
        let known = match self.index.contains(name) {
            true => read_header(&path(&self.dir, name))?,
            false => None,
        };
        let known = known.filter(|known| known.attempt == attempt.attempt);
        let bytes = match (&output.piece, known) {
            // A piece that comes again after a restart of the service.
            (Ok(piece), Some(_)) if self.is_behind(name, piece)? => return Ok(()),
            (Ok(piece), Some(_)) => self.append(name, &piece.bytes.0)?,
            (Ok(piece), None) => {
                let header = KeptHeader {
                    attempt: attempt.attempt,
                    start: piece.start,
                    file: piece.file,
                    problem: None,
                };
                self.create(name, &header, &piece.bytes.0)?
            }
            // The file shows by its length that it is not complete.
            (Err(_), Some(_)) => return Ok(()),
            (Err(problem), None) => {
                let header = KeptHeader {
                    attempt: attempt.attempt,
                    start: 0,
                    file: OutputFile::default(),
                    problem: Some(problem.chars().take(1_000).collect()),
                };
                self.create(name, &header, &[])?
            }
        };
        self.index.insert(name, owner, bytes);
        Ok(())
    }

    /// Returns whether the kept bytes end elsewhere than the piece begins.
    fn is_behind(&self, name: KeptName, piece: &OutputPiece) -> io::Result<bool> {
        let kept = KeptPiece::read(&self.dir, name, u64::MAX, 0)?;
        Ok(kept.is_none_or(|kept| kept.start != piece.start))
    }

    fn create(&self, name: KeptName, header: &KeptHeader, bytes: &[u8]) -> io::Result<u64> {
        let mut text = serde_json::to_vec(header)?;
        text.push(b'\n');
        text.extend(bytes);
        let mut file = guarded::open_or_create(&path(&self.dir, name))?;
        file.set_len(0)?;
        file.write_all(&text)?;
        Ok(text.len() as u64)
    }

    fn append(&self, name: KeptName, bytes: &[u8]) -> io::Result<u64> {
        let mut file = guarded::open_append(&path(&self.dir, name))?;
        file.write_all(bytes)?;
        Ok(file.metadata()?.len())
    }

    /// Removes the outputs of a job.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(crate) fn remove_job(&mut self, job: u64) -> io::Result<()> {
        for name in self.index.names_of(job) {
            self.forget(name)?;
        }
        Ok(())
    }

    /// Removes old outputs if there is more than the limit: some at a time, because each removal is
    /// noted.
    fn make_room(&mut self) -> io::Result<()> {
        if self.index.total() <= self.max_bytes {
            return Ok(());
        }
        let mut newest = None;
        while self.index.total() > self.max_bytes - self.max_bytes / 16
            && let Some(name) = self.index.next_to_remove()
        {
            let metadata = fs::metadata(path(&self.dir, name));
            let modified = metadata.and_then(|metadata| metadata.modified()).ok();
            newest = modified.max(newest);
            self.forget(name)?;
        }
        let since = newest.and_then(|newest| newest.duration_since(UNIX_EPOCH).ok());
        let micros = since.map_or(0, |since| since.as_micros());
        self.note_removal(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    fn note_removal(&self, micros: i64) -> io::Result<()> {
        let before = removed_until(&self.dir).as_micros();
        let text = before.max(micros).to_string();
        replace_private(&self.dir.join(REMOVED), text.as_bytes())
    }

    fn forget(&mut self, name: KeptName) -> io::Result<()> {
        self.index.remove(name);
        match fs::remove_file(path(&self.dir, name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl KeptPiece {
    /// Reads at most `most` bytes of what is kept of an output, from a position in the output on;
    /// None if nothing is kept.
    pub(crate) fn read(
        dir: &Path,
        name: KeptName,
        from: u64,
        most: u64,
    ) -> io::Result<Option<Self>> {
        let file = match guarded::open(&path(dir, name)) {
            Err(error) if error.is_not_found() => return Ok(None),
            opened => opened?,
        };
        let mut file = BufReader::new(file);
        let (header, header_bytes) = parse_header(&mut file)?;
        let kept = file.get_ref().metadata()?.len() - header_bytes;
        // A damaged header may have any number.
        let end = header.start.saturating_add(kept);
        let start = from.clamp(header.start, end);
        file.seek(SeekFrom::Start(header_bytes + (start - header.start)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Some(Self {
            start,
            is_cut: end < header.file.size,
            bytes,
            header,
        }))
    }
}

/// Returns the instant before which outputs may have been removed.
pub(crate) fn removed_until(dir: &Path) -> Instant {
    let text = guarded::read(&dir.join(REMOVED)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Instant::from_micros(text.trim().parse().unwrap_or(0))
}

fn read_header(path: &Path) -> io::Result<Option<KeptHeader>> {
    match guarded::open(path) {
        Err(error) if error.is_not_found() => Ok(None),
        // A file that a crash has cut off is written anew.
        opened => Ok(parse_header(&mut BufReader::new(opened?))
            .ok()
            .map(|(header, _)| header)),
    }
}

fn parse_header(file: &mut impl BufRead) -> io::Result<(KeptHeader, u64)> {
    let mut line = Vec::new();
    file.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
    Ok((serde_json::from_slice(&line)?, line.len() as u64))
}

/// What the name of the file of standard error ends in.
const ERROR_SUFFIX: &str = ".err";

fn path(dir: &Path, name: KeptName) -> PathBuf {
    let TaskId { job, task } = name.task;
    let suffix = match name.stream {
        AttemptStream::Output => "",
        AttemptStream::Error => ERROR_SUFFIX,
    };
    dir.join(format!("{job}.{task}{suffix}"))
}

fn name_of(file: &str) -> Option<KeptName> {
    let (file, stream) = match file.strip_suffix(ERROR_SUFFIX) {
        Some(file) => (file, AttemptStream::Error),
        None => (file, AttemptStream::Output),
    };
    let (job, task) = file.split_once('.')?;
    let task = TaskId {
        job: job.parse().ok()?,
        task: task.parse().ok()?,
    };
    Some(KeptName { task, stream })
}

fn kept_name(output: &CollectedOutput) -> KeptName {
    KeptName {
        task: output.output.attempt.task(),
        stream: output.output.stream,
    }
}

#[cfg(test)]
mod tests;
