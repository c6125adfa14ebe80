//! Submits the chunks that are missing, and waits for them.
//!
//! A chunk is finished when its file in the directory says so, whatever the engine says. So the
//! chunks go on while an engine is out of reach, and a command that is killed leaves nothing that
//! the next one does not find.

use std::thread;
use std::time::{Duration, Instant};

use tollgate_sites::{ArrayControl, ArrayPhase, EngineShell};
use tollgate_study::{OutputDir, Study};

use super::StudyChunks;
use crate::connection::random_key::random_key;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::simulate::study::error::UnfinishedChunks;

/// The file with the name of the array that was submitted last.
const RECORD: &str = "chunks.json";
/// The pauses between two looks, from the first to the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// The chunks on their way.
struct ChunkRound<'a> {
    chunks: &'a StudyChunks,
    verbosity: Verbosity,
    control: ArrayControl,
    /// The chunks that were missing at the last submission. None if this command submitted nothing.
    submitted: Option<Vec<usize>>,
    /// Whether the engine answered the last query.
    is_reachable: bool,
}

/// Executes the chunks that are missing at the engine. Chunks of an array that ended too early are
/// submitted again, as long as each array finishes some.
pub(super) fn run(
    chunks: &StudyChunks,
    study: &Study,
    folder: &OutputDir,
    verbosity: Verbosity,
) -> Result<(), CliFailure> {
    let shell = EngineShell::new(None);
    let control = ArrayControl::open(&folder.path(RECORD), chunks.engine, shell, &chunks.program)?;
    let mut round = ChunkRound {
        chunks,
        verbosity,
        control,
        submitted: None,
        is_reachable: true,
    };
    if let Some(record) = round.control.record() {
        verbosity.note(format!("going on with job {}", record.name));
    }
    let [mut pause, longest] = PAUSES;
    loop {
        let queried_at = Instant::now();
        let phase = round.look();
        // The files are read after the engine was asked: what it no longer has is in them.
        let missing = study.missing_chunks(folder, chunks.of)?;
        if missing.is_empty() {
            return Ok(round.control.forget()?);
        }
        if phase == Some(ArrayPhase::Gone) {
            round.submit(missing)?;
            pause = PAUSES[0];
        }
        thread::sleep(pause.saturating_sub(queried_at.elapsed()).max(PAUSES[0]));
        pause = (pause * 2).min(longest);
    }
}

impl ChunkRound<'_> {
    /// Returns the phase of the array. None if the engine does not report it, which is noted once.
    fn look(&mut self) -> Option<ArrayPhase> {
        match self.control.look() {
            Ok(phase) => {
                self.is_reachable = true;
                Some(phase)
            }
            Err(error) => {
                if self.is_reachable {
                    self.verbosity.note(format!("{error}; still waiting"));
                }
                self.is_reachable = false;
                None
            }
        }
    }

    fn submit(&mut self, missing: Vec<usize>) -> Result<(), CliFailure> {
        if self.submitted.as_ref() == Some(&missing) {
            return Err(UnfinishedChunks {
                missing: missing.len(),
                of: self.chunks.of.get(),
                folder: self.chunks.folder.clone(),
            }
            .into());
        }
        let job = self.chunks.job(&missing, &random_key()?);
        let elements = missing.len();
        let count = pluralise(elements, "chunk");
        match self.control.submit(&job, elements as u32) {
            Ok(id) => {
                let engine = self.chunks.engine;
                self.verbosity
                    .note(format!("waiting for {count}: job {id} of {engine}"));
            }
            // The array may be there all the same: the next looks find it, or submit another one.
            Err(error) if !error.is_certain() => {
                self.verbosity.note(format!("{error}; still waiting"));
            }
            Err(error) => return Err(error.into()),
        }
        self.submitted = Some(missing);
        Ok(())
    }
}
