//! Records: the observations of a follower, and the statements that it made from them.
//!
//! Each run of the follower is a directory of its own, whose name is the instant of its start. It has the knowledge at
//! the start (`start`), the observations (`observations`) and the statements (`statements`), one a line of JSON. The
//! observations give the same statements again, byte for byte.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tollgate_beside::{JobStatement, QueueFollower, QueueObservation, SeenJob};
use tollgate_client::timestamp::format_iso;
use tollgate_model::Instant;
use tollgate_sites::{FollowerStoreError, parse_observations};

use super::error::{BesideError, file_error};

/// The names of the files.
const START: &str = "start";
const OBSERVATIONS: &str = "observations";
pub(super) const STATEMENTS: &str = "statements";

/// A record that is being written.
pub(super) struct RecordWriter {
    dir: PathBuf,
    observations: File,
    statements: BufWriter<File>,
}

impl RecordWriter {
    /// Starts a record below a directory.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn new(
        below: &Path,
        at: Instant,
        follower: &QueueFollower,
    ) -> Result<Self, BesideError> {
        let plain = |letter: char| if letter == ':' { '-' } else { letter };
        let dir = below.join(format_iso(at).chars().map(plain).collect::<String>());
        fs::create_dir_all(&dir).map_err(|error| file_error(&dir, error))?;
        let start = dir.join(START);
        let bytes = follower.to_bytes();
        let bytes = bytes.map_err(|error| FollowerStoreError::Snapshot {
            path: start.clone(),
            error,
        })?;
        fs::write(&start, bytes).map_err(|error| file_error(&start, error))?;
        let create = |name: &str| {
            let path = dir.join(name);
            File::create(&path).map_err(|error| file_error(path, error))
        };
        Ok(Self {
            observations: create(OBSERVATIONS)?,
            statements: BufWriter::new(create(STATEMENTS)?),
            dir,
        })
    }

    /// Returns the directory of the record.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds an observation and its statements.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn add(
        &mut self,
        observation: &QueueObservation,
        statements: &[JobStatement],
    ) -> Result<(), BesideError> {
        let mut line = serde_json::to_vec(observation).expect("an observation is JSON");
        line.push(b'\n');
        let written = self.observations.write_all(&line);
        written.map_err(|error| file_error(self.dir.join(OBSERVATIONS), error))?;
        let written = write_statements(&mut self.statements, statements);
        let written = written.and_then(|()| self.statements.flush());
        written.map_err(|error| file_error(self.dir.join(STATEMENTS), error))
    }
}

/// Writes statements, one a line.
pub(super) fn write_statements(
    out: &mut impl Write,
    statements: &[JobStatement],
) -> io::Result<()> {
    for statement in statements {
        serde_json::to_writer(&mut *out, statement)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Replays a record, with a function for the statements of each observation. Returns the knowledge at its end.
///
/// # Errors
/// If a file cannot be read or is damaged, or the function fails.
pub(super) fn replay(
    dir: &Path,
    mut each: impl FnMut(&[JobStatement]) -> io::Result<()>,
) -> Result<QueueFollower, BesideError> {
    let (path, start) = read(dir, START)?;
    let follower = QueueFollower::from_bytes(&start);
    let mut follower = follower.map_err(|error| FollowerStoreError::Snapshot { path, error })?;
    let (path, lines) = read(dir, OBSERVATIONS)?;
    for observation in parse_observations(&lines, &path) {
        let statements = follower.observe(&observation?);
        each(&statements).map_err(|error| file_error("standard output", error))?;
    }
    Ok(follower)
}

/// Returns whether a directory is a record.
pub(super) fn is_run(dir: &Path) -> bool {
    dir.join(OBSERVATIONS).is_file()
}

/// Passes each job of each observation of a record to a function.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub(super) fn for_each_job(dir: &Path, mut each: impl FnMut(SeenJob)) -> Result<(), BesideError> {
    let (path, lines) = read(dir, OBSERVATIONS)?;
    for observation in parse_observations(&lines, &path) {
        observation?.jobs.into_iter().for_each(&mut each);
    }
    Ok(())
}

fn read(dir: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), BesideError> {
    let path = dir.join(name);
    let bytes = fs::read(&path).map_err(|error| file_error(&path, error))?;
    Ok((path, bytes))
}
