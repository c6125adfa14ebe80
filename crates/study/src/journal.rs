//! Finished runs on disk, one per line, so that a killed study resumes where it stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::columns;
use crate::fingerprint::InputFingerprint;
use crate::measurements::RunMeasurements;
use crate::plan::{RunId, RunPlan};
use crate::run::FinishedRuns;

/// The version of the format, in the first line.
const FORMAT: &str = "tollgate-study-journal 2";

/// An open journal, to which finished runs are appended.
#[derive(Debug)]
pub(crate) struct RunJournal(File);

/// The contents of a journal.
pub(crate) enum JournalContents {
    /// Runs of this study, and their size in bytes: the rest of the file was cut off or damaged.
    Runs(FinishedRuns, u64),
    /// Contents of another study, or no journal.
    Foreign,
}

impl RunJournal {
    /// Opens the journal of a study, a new one or one with some runs, and returns the runs; None if
    /// the journal belongs to another study. A truncated last line is removed.
    pub(crate) fn open(
        path: &Path,
        plan: &RunPlan,
        study: InputFingerprint,
    ) -> io::Result<Option<(Self, FinishedRuns)>> {
        let (finished, length) = match contents(path, plan, study)? {
            JournalContents::Runs(finished, length) => (finished, length),
            JournalContents::Foreign => return Ok(None),
        };
        let options = OpenOptions::new().create(true).append(true).open(path)?;
        options.set_len(length)?;
        let mut journal = Self(options);
        if length == 0 {
            journal.line(&header(study))?;
        }
        Ok(Some((journal, finished)))
    }

    /// Appends a run.
    pub(crate) fn append(&mut self, run: RunId, figures: &RunMeasurements) -> io::Result<()> {
        let cells = columns::cells(figures).join(",");
        let mut line = format!("{},{},{cells}", run.batch, run.policy);
        for part in figures.without_parts() {
            line += &format!("|{}", columns::part_cells(part).join(","));
        }
        self.line(&line)
    }

    /// Writes each line in one write, so that a kill can truncate only the last line.
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}

/// Returns the contents of the journal at `path`; no runs if there is no such file.
pub(crate) fn contents(
    path: &Path,
    plan: &RunPlan,
    study: InputFingerprint,
) -> io::Result<JournalContents> {
    match fs::read(path) {
        Ok(bytes) => Ok(parse(&String::from_utf8_lossy(&bytes), plan, study)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(JournalContents::Runs(FinishedRuns::new(), 0))
        }
        Err(error) => Err(error),
    }
}

fn parse(text: &str, plan: &RunPlan, study: InputFingerprint) -> JournalContents {
    let mut finished = FinishedRuns::new();
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let Some(whole) = line.strip_suffix('\n') else {
            break;
        };
        if length == 0 {
            if whole != header(study) {
                return JournalContents::Foreign;
            }
        } else {
            let Some((run, figures)) = read(whole, plan) else {
                break;
            };
            finished.insert(run, figures);
        }
        length += line.len() as u64;
    }
    JournalContents::Runs(finished, length)
}

fn header(study: InputFingerprint) -> String {
    format!("{FORMAT} {study}")
}

fn read(line: &str, plan: &RunPlan) -> Option<(RunId, RunMeasurements)> {
    let mut parts = line.split('|');
    let mut cells = parts.next()?.split(',');
    let run = RunId {
        batch: cells.next()?.parse().ok()?,
        policy: cells.next()?.parse().ok()?,
    };
    let batch = plan.batches.get(run.batch as usize)?;
    let known = (run.policy as usize) < batch.policies();
    let parts = parts.map(|part| columns::parse_part(part.split(',')));
    let figures = columns::parse(batch.world(), cells)?.with_parts(parts.collect::<Option<_>>()?);
    known.then_some((run, figures))
}
