//! Finished runs on disk, a line each, so that a killed study goes on where it stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::columns;
use crate::fingerprint::InputFingerprint;
use crate::plan::{RunId, RunPlan};
use crate::results::RunMeasurements;
use crate::run::FinishedRuns;

/// The version of the format, in the first line.
const FORMAT: &str = "tollgate-study-journal 1";

/// A journal that is open for more runs.
#[derive(Debug)]
pub(crate) struct RunJournal(File);

/// What a journal holds.
pub(crate) enum JournalContents {
    /// Runs of this study, and how many bytes they take: what follows was cut off or damaged.
    Runs(FinishedRuns, u64),
    /// Something else.
    Foreign,
}

impl RunJournal {
    /// Opens the journal of a study, a new one or one that holds some runs, and gives these; none
    /// if it belongs to another study. A last line that was cut off is taken away.
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

    /// Notes a run.
    pub(crate) fn append(&mut self, run: RunId, figures: &RunMeasurements) -> io::Result<()> {
        let cells = columns::cells(figures).join(",");
        self.line(&format!("{},{},{cells}", run.batch, run.policy))
    }

    /// One write a line: what a kill can cut off is the last line.
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}

/// The runs in the journal at `path`; none if there is no such file.
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
    let mut cells = line.split(',');
    let run = RunId {
        batch: cells.next()?.parse().ok()?,
        policy: cells.next()?.parse().ok()?,
    };
    let batch = plan.batches.get(run.batch as usize)?;
    let known = (run.policy as usize) < batch.policies();
    columns::parse(batch.world(), cells)
        .filter(|_| known)
        .map(|figures| (run, figures))
}
