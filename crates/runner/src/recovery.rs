//! Recovery at the start of a runner: the journal of the runner before it, and the state of its
//! attempts.

pub(crate) mod adopted;
mod reattach;

use std::collections::BTreeMap;
use std::fs;

use tollgate_engine::BootTime;
use tollgate_host::{ProcessIdentity, ProcessStat};
use tollgate_model::AttemptId;

use crate::child::setup::ERROR_LINE;
use crate::journal::RunnerJournalEntry;
use crate::slot::StartedFileHeader;
use crate::slot::output::{FileId, WrittenFileIds};
use crate::started_files;
use crate::state_dir::RunnerStateDir;
use crate::supervisor::task::{RunnerTask, RunnerTaskState};

/// Returns the attempts that the entries describe.
pub(crate) fn rebuild_tasks(entries: &[RunnerJournalEntry]) -> BTreeMap<AttemptId, RunnerTask> {
    let mut tasks: BTreeMap<AttemptId, RunnerTask> = BTreeMap::new();
    for entry in entries {
        match entry {
            RunnerJournalEntry::Version(_) | RunnerJournalEntry::Boot(_) => {}
            RunnerJournalEntry::Taken(launch) => {
                tasks.insert(launch.attempt, RunnerTask::new(launch.as_ref().clone()));
            }
            RunnerJournalEntry::Over {
                attempt,
                started,
                event,
            } => {
                if let Some(task) = tasks.get_mut(attempt) {
                    task.started = *started;
                    task.state = RunnerTaskState::Finished(event.clone());
                }
            }
            RunnerJournalEntry::Warned(attempt) => {
                if let Some(task) = tasks.get_mut(attempt) {
                    task.is_warned = true;
                }
            }
            RunnerJournalEntry::Suspended { attempt, at_micros } => {
                if let Some(task) = tasks.get_mut(attempt) {
                    task.suspension.begin(BootTime::from_micros(*at_micros));
                }
            }
            RunnerJournalEntry::Resumed { attempt, at_micros } => {
                if let Some(task) = tasks.get_mut(attempt) {
                    task.suspension.end(BootTime::from_micros(*at_micros));
                }
            }
            RunnerJournalEntry::Acknowledged(attempt) => {
                tasks.remove(attempt);
            }
        }
    }
    tasks
}

/// Returns whether any entry was written since the machine was booted.
pub(crate) fn is_same_boot(entries: &[RunnerJournalEntry], boot: &str) -> bool {
    let last = entries.iter().rev().find_map(|entry| match entry {
        RunnerJournalEntry::Boot(id) => Some(id),
        RunnerJournalEntry::Version(_)
        | RunnerJournalEntry::Taken(_)
        | RunnerJournalEntry::Over { .. }
        | RunnerJournalEntry::Warned(_)
        | RunnerJournalEntry::Suspended { .. }
        | RunnerJournalEntry::Resumed { .. }
        | RunnerJournalEntry::Acknowledged(_) => None,
    });
    last.is_some_and(|id| id == boot)
}

/// The contents of a `started` file.
#[derive(Debug)]
pub(crate) struct StartedFile {
    /// The knowledge of the runner at the start.
    pub(crate) header: StartedFileHeader,
    /// The process of the attempt.
    pub(crate) identity: ProcessIdentity,
    /// The files to which it writes.
    pub(crate) files: RecordedFiles,
}

/// The files to which an attempt writes, as its `started` file names them.
#[derive(Debug, Default)]
pub(crate) struct RecordedFiles {
    /// That of its output; of no file if it is no regular file, or an earlier version started it.
    output: FileId,
    /// That of its errors, if they have a regular file of their own.
    error: Option<FileId>,
}

impl RecordedFiles {
    /// Returns the identities of the files.
    pub(crate) const fn ids(&self) -> WrittenFileIds<'_> {
        WrittenFileIds {
            output: &self.output,
            error: self.error.as_ref(),
        }
    }
}

/// The state of an attempt according to its `started` file.
pub(crate) enum RecoveredState {
    /// There is no file: the attempt's program never ran.
    NeverStarted,
    /// The attempt's program runs.
    Alive(Box<StartedFile>),
    /// The attempt was started, or its child died before that was certain; in either case it is
    /// gone.
    Gone,
}

/// Looks for an attempt of an earlier runner. None of that runner's children is still being
/// started, since this runner holds the lock.
pub(crate) fn inspect(folder: &RunnerStateDir, attempt: AttemptId, boot: &str) -> RecoveredState {
    let path = started_files::path(folder.path(), attempt);
    let Ok(text) = fs::read_to_string(&path) else {
        return match path.exists() {
            true => RecoveredState::Gone,
            false => RecoveredState::NeverStarted,
        };
    };
    match parse_started_file(&text) {
        Some(file) if file.header.boot == boot && file.identity.is_alive() => {
            RecoveredState::Alive(Box::new(file))
        }
        Some(_) | None => RecoveredState::Gone,
    }
}

/// Parses the line of the header, that of the process, and those of the output and of the errors if there are any. A
/// truncated file has no end of line.
pub(crate) fn parse_started_file(text: &str) -> Option<StartedFile> {
    let (header, rest) = text.strip_suffix('\n')?.split_once('\n')?;
    let mut lines = rest.split('\n');
    let stat = lines.next()?;
    let mut files = RecordedFiles::default();
    for line in lines {
        match line.strip_prefix(ERROR_LINE) {
            Some(line) => files.error = Some(FileId::parse(line)?),
            None => files.output = FileId::parse(line)?,
        }
    }
    Some(StartedFile {
        header: serde_json::from_str(header).ok()?,
        identity: ProcessStat::parse(stat)?.identity()?,
        files,
    })
}

#[cfg(test)]
mod tests {
    use tollgate_engine::LaunchSpec;
    use tollgate_model::AttemptEvent;
    use tollgate_model::{Instant, NodeId};

    use super::*;

    fn key(job: u64) -> AttemptId {
        AttemptId {
            job,
            task: 0,
            attempt: 1,
        }
    }

    #[test]
    fn tasks_are_rebuilt_from_journal_entries() {
        let taken = |job| {
            RunnerJournalEntry::Taken(Box::new(LaunchSpec::new(
                key(job),
                vec![NodeId(0)],
                ["true"],
                "/",
            )))
        };
        let over = |job| RunnerJournalEntry::Over {
            attempt: key(job),
            started: None,
            event: AttemptEvent::Lost { at: Instant::ZERO },
        };
        let entries = [
            RunnerJournalEntry::Boot("a".to_owned()),
            taken(1),
            taken(2),
            taken(3),
            RunnerJournalEntry::Warned(key(1)),
            over(2),
            over(3),
            RunnerJournalEntry::Acknowledged(key(3)),
            RunnerJournalEntry::Acknowledged(key(9)),
        ];
        let tasks = rebuild_tasks(&entries);
        let over: Vec<_> = tasks
            .iter()
            .map(|(key, task)| (key.job, task.is_finished()))
            .collect();
        assert_eq!(over, [(1, false), (2, true)]);
        let warned: Vec<_> = tasks.values().map(|task| task.is_warned).collect();
        assert_eq!(warned, [true, false]);
        assert!(is_same_boot(&entries, "a"));
        assert!(!is_same_boot(&entries, "b"));
        assert!(!is_same_boot(&[], "a"));
    }

    #[test]
    fn truncated_started_file_is_not_parsed() {
        let header = crate::protocol::encode_line(&StartedFileHeader {
            boot: "a".to_owned(),
            slot: 3,
            group: Default::default(),
            meter: Default::default(),
            at_micros: 5,
        });
        let stat = fs::read_to_string("/proc/self/stat").expect("there is /proc");
        let whole = String::from_utf8(header).expect("JSON") + &stat;
        assert!(parse_started_file(&whole).is_some());
        assert!((0..whole.len()).all(|cut| parse_started_file(&whole[..cut]).is_none()));
    }
}
