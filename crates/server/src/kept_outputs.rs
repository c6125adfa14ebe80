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
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tollgate_engine::output::{AttemptOutput, OutputBytes};
    use tollgate_model::AttemptId;

    use super::index::BLOCK_BYTES;
    use super::*;

    /// The owner of the jobs of these tests.
    const OWNER: u32 = 1_000;

    fn attempt(job: u64, attempt: u32) -> AttemptId {
        let task = 0;
        AttemptId { job, task, attempt }
    }

    fn piece(attempt: AttemptId, start: u64, bytes: &[u8], size: u64) -> CollectedOutput {
        let file = OutputFile {
            size,
            ..OutputFile::default()
        };
        let bytes = OutputBytes(bytes.to_owned());
        CollectedOutput {
            output: output_of(attempt),
            piece: Ok(OutputPiece { start, bytes, file }),
        }
    }

    fn output_of(attempt: AttemptId) -> AttemptOutput {
        let stream = AttemptStream::Output;
        AttemptOutput { attempt, stream }
    }

    fn name(job: u64) -> KeptName {
        let stream = AttemptStream::Output;
        let task = TaskId { job, task: 0 };
        KeptName { task, stream }
    }

    fn open(dir: &Path, max_bytes: u64) -> KeptOutputs {
        KeptOutputs::open(dir.to_owned(), max_bytes, |_| Ok(Some(OWNER))).unwrap()
    }

    fn text(dir: &Path, job: u64) -> Option<(u64, String, bool)> {
        let kept = KeptPiece::read(dir, name(job), 0, 100).unwrap()?;
        let text = String::from_utf8(kept.bytes).unwrap();
        Some((kept.start, text, kept.is_cut))
    }

    #[test]
    fn pieces_of_an_attempt_are_one_output_and_the_next_attempt_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut kept = open(dir, 1 << 20);
        let (first, second) = (attempt(7, 1), attempt(7, 2));
        kept.add(&piece(first, 90, b"abc", 100), OWNER, Instant::ZERO)
            .unwrap();
        assert_eq!(text(dir, 7), Some((90, "abc".into(), true)));
        kept.add(&piece(first, 93, b"defghij", 100), OWNER, Instant::ZERO)
            .unwrap();
        let whole = Some((90, "abcdefghij".into(), false));
        assert_eq!(text(dir, 7), whole);
        // The worker did not hear that it was taken.
        kept.add(&piece(first, 90, b"abc", 100), OWNER, Instant::ZERO)
            .unwrap();
        assert_eq!(text(dir, 7), whole);
        let mode = fs::metadata(dir.join("7.0")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        let part = KeptPiece::read(dir, name(7), 98, 1);
        let part = part.unwrap().unwrap();
        assert_eq!((part.start, &part.bytes[..]), (98, &b"i"[..]));
        let problem = CollectedOutput {
            output: output_of(second),
            piece: Err("it is a symbolic link".to_owned()),
        };
        kept.add(&problem, OWNER, Instant::ZERO).unwrap();
        let none = KeptPiece::read(dir, name(7), 0, 9);
        let header = none.unwrap().unwrap().header;
        assert_eq!(header.attempt, 2);
        assert_eq!(header.problem.as_deref(), Some("it is a symbolic link"));
    }

    #[test]
    fn errors_are_kept_beside_the_output_and_removed_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut kept = open(dir, 1 << 20);
        let output = piece(attempt(7, 1), 0, b"out", 3);
        let mut errors = piece(attempt(7, 1), 0, b"oops", 4);
        errors.output.stream = AttemptStream::Error;
        for piece in [&output, &errors] {
            kept.add(piece, OWNER, Instant::ZERO).unwrap();
        }
        let mut kept = open(dir, 1 << 20);
        let of_errors = kept_name(&errors);
        let read = KeptPiece::read(dir, of_errors, 0, 9).unwrap().unwrap();
        assert_eq!(read.bytes, b"oops");
        assert_eq!(text(dir, 7), Some((0, "out".into(), false)));
        kept.remove_job(7).unwrap();
        assert_eq!(KeptPiece::read(dir, of_errors, 0, 9).unwrap(), None);
        assert_eq!(text(dir, 7), None);
    }

    #[test]
    fn oldest_outputs_make_room_and_the_removal_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut kept = open(dir, 4 * BLOCK_BYTES);
        for job in 1..=5 {
            kept.add(&piece(attempt(job, 1), 0, b"x", 1), OWNER, Instant::ZERO)
                .unwrap();
        }
        let left: Vec<u64> = (1..=5).filter(|&job| text(dir, job).is_some()).collect();
        assert_eq!(left, [3, 4, 5]);
        assert!(removed_until(dir) > Instant::ZERO);
        // The order of age and the sizes are found again.
        let mut kept = open(dir, 4 * BLOCK_BYTES);
        assert_eq!(kept.index.total(), 3 * BLOCK_BYTES);
        kept.remove_job(4).unwrap();
        assert_eq!((text(dir, 4), kept.index.total()), (None, 2 * BLOCK_BYTES));
    }

    #[test]
    fn output_of_a_job_that_does_not_exist_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut kept = open(dir, 1 << 20);
        for job in [1, 2] {
            kept.add(&piece(attempt(job, 1), 0, b"x", 1), OWNER, Instant::ZERO)
                .unwrap();
        }
        let owner_of = |job| Ok((job == 1).then_some(OWNER));
        KeptOutputs::open(dir.to_owned(), 1 << 20, owner_of).unwrap();
        assert!(text(dir, 1).is_some());
        assert_eq!(text(dir, 2), None);
    }

    #[test]
    fn link_or_pipe_in_place_of_an_output_is_neither_read_nor_written() {
        let place = tempfile::tempdir().unwrap();
        let (dir, other) = (place.path().join("outputs"), place.path().join("other"));
        let mut kept = open(&dir, 1 << 20);
        fs::write(&other, "kept").unwrap();
        let file = path(&dir, name(7));
        let new = piece(attempt(7, 1), 0, b"new", 3);
        for is_pipe in [false, true] {
            let _ = fs::remove_file(&file);
            match is_pipe {
                true => mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap(),
                false => symlink(&other, &file).unwrap(),
            }
            assert!(KeptPiece::read(&dir, name(7), 0, 10).is_err());
            assert!(kept.add(&new, OWNER, Instant::ZERO).is_err());
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
    }
}
