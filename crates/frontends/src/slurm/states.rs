//! The states of jobs in Slurm's words: one table, from which `squeue`, `sacct` and `scontrol` read.

use std::borrow::Cow;

use tollgate_client::types::{JobDetails, JobState, WaitReason};

/// A state of Slurm that a job can have here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlurmState {
    /// Waits.
    Pending,
    /// Runs.
    Running,
    /// Is suspended, for its computer is in use by others.
    Suspended,
    /// Ended with exit code 0.
    Completed,
    /// Ended with another exit code or by a signal, or could not be started.
    Failed,
    /// Reached its time limit.
    Timeout,
    /// Reached its memory limit.
    OutOfMemory,
    /// Was cancelled.
    Cancelled,
    /// Its end was not observed.
    NodeFail,
    /// Was rejected after its submission.
    Deadline,
    /// Was evicted too often.
    Preempted,
}

/// States of Slurm that no job has here. Users may ask for them all the same.
const OTHER_STATES: [(&str, &str); 12] = [
    ("BOOT_FAIL", "BF"),
    ("COMPLETING", "CG"),
    ("CONFIGURING", "CF"),
    ("REQUEUED", "RQ"),
    ("REQUEUE_FED", "RF"),
    ("REQUEUE_HOLD", "RH"),
    ("RESIZING", "RS"),
    ("RESV_DEL_HOLD", "RD"),
    ("REVOKED", "RV"),
    ("SIGNALING", "SI"),
    ("SPECIAL_EXIT", "SE"),
    ("STAGE_OUT", "SO"),
];

impl SlurmState {
    /// Every state, with its long and its compact word.
    pub const WORDS: [(Self, &'static str, &'static str); 11] = [
        (Self::Pending, "PENDING", "PD"),
        (Self::Running, "RUNNING", "R"),
        (Self::Suspended, "SUSPENDED", "S"),
        (Self::Completed, "COMPLETED", "CD"),
        (Self::Failed, "FAILED", "F"),
        (Self::Timeout, "TIMEOUT", "TO"),
        (Self::OutOfMemory, "OUT_OF_MEMORY", "OOM"),
        (Self::Cancelled, "CANCELLED", "CA"),
        (Self::NodeFail, "NODE_FAIL", "NF"),
        (Self::Deadline, "DEADLINE", "DL"),
        (Self::Preempted, "PREEMPTED", "PR"),
    ];

    /// Returns the long and the compact word.
    pub fn words(self) -> (&'static str, &'static str) {
        let found = Self::WORDS.iter().find(|(state, _, _)| *state == self);
        found.map_or(("", ""), |(_, long, compact)| (*long, *compact))
    }

    /// Returns whether a job in this state is over.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Suspended)
    }

    /// Parses a list of states, long or compact, in any case, with commas: `pd,Running`, `all`. The answer has the states
    /// of the list that jobs have here.
    ///
    /// # Errors
    /// The first word that is no state of Slurm.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, String> {
        let mut states = Vec::new();
        for word in list.split(',').filter(|word| !word.is_empty()) {
            let upper = word.trim().to_ascii_uppercase();
            if upper == "ALL" {
                states.extend(Self::WORDS.iter().map(|(state, _, _)| *state));
                continue;
            }
            let known = Self::WORDS
                .iter()
                .find(|(_, long, compact)| upper == *long || upper == *compact);
            let is_other = OTHER_STATES
                .iter()
                .any(|(long, compact)| upper == *long || upper == *compact);
            match known {
                Some((state, _, _)) => states.push(*state),
                None if is_other => {}
                None => return Err(word.to_owned()),
            }
        }
        Ok(states)
    }
}

/// How a job stands, in Slurm's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmStatus {
    /// The state.
    pub state: SlurmState,
    /// Why it waits, or how it ended.
    pub reason: Cow<'static, str>,
    /// The exit code, and the number of the signal that ended it.
    pub exit: (u8, u8),
}

impl SlurmStatus {
    /// Returns how a job stands. None for what Slurm would not list: a reserved quote, or a job that was rejected at its
    /// submission.
    pub fn of(job: &JobDetails) -> Option<Self> {
        let (code, signal) = ended_with(job);
        let status = |state, reason: &'static str, exit| {
            Some(Self {
                state,
                reason: Cow::Borrowed(reason),
                exit,
            })
        };
        match job.state.known() {
            Some(JobState::Held | JobState::Dependent | JobState::Queued) => {
                status(SlurmState::Pending, wait_words(job), (0, 0))
            }
            Some(JobState::Running) if job.suspended.is_some() => {
                status(SlurmState::Suspended, "None", (0, 0))
            }
            Some(JobState::Running) => status(SlurmState::Running, "None", (0, 0)),
            Some(JobState::TimedOut) => status(SlurmState::Timeout, "TimeLimit", (code, signal)),
            Some(JobState::OutOfMemory) => {
                status(SlurmState::OutOfMemory, "OutOfMemory", (code, signal))
            }
            Some(JobState::Cancelled) if is_dependency_failed(job) => {
                status(SlurmState::Cancelled, "DependencyNeverSatisfied", (0, 0))
            }
            Some(JobState::Cancelled) => status(SlurmState::Cancelled, "None", (0, 15)),
            Some(JobState::Lost) => status(SlurmState::NodeFail, "NodeDown", (0, 1)),
            // Slurm's own word for a job that was evicted and does not come back.
            Some(JobState::Abandoned) => status(SlurmState::Preempted, "None", (0, 15)),
            // The answer of `sbatch` was a number: the job was rejected afterwards.
            Some(JobState::Rejected) if was_decided_later(job) => {
                status(SlurmState::Deadline, "DeadLine", (0, 1))
            }
            Some(JobState::Rejected | JobState::Reserved | JobState::Expired) => None,
            Some(JobState::Finished | JobState::OutputLimit) => Some(Self::of_end(job)),
            // A state of a later version is final.
            None => status(SlurmState::Failed, "None", (code, signal)),
        }
    }

    fn of_end(job: &JobDetails) -> Self {
        let (code, signal) = ended_with(job);
        let (state, reason) = match (code, signal) {
            _ if is_not_started(job) => (SlurmState::Failed, Cow::Borrowed("JobLaunchFailure")),
            (_, 1..) => {
                let name = signal_words(signal);
                let reason = format!("RaisedSignal:{signal}({name})");
                (SlurmState::Failed, Cow::Owned(reason))
            }
            (0, 0) => (SlurmState::Completed, Cow::Borrowed("None")),
            (_, 0) => (SlurmState::Failed, Cow::Borrowed("NonZeroExitCode")),
        };
        Self {
            state,
            reason,
            exit: (code, signal),
        }
    }

    /// Returns the exit as Slurm writes it: `code:signal`.
    pub fn exit_words(&self) -> String {
        format!("{}:{}", self.exit.0, self.exit.1)
    }
}

/// Returns why a job waits. An earlier service says it by the state alone.
fn wait_words(job: &JobDetails) -> &'static str {
    let reason = job.waits_for.as_ref().and_then(|wait| wait.key.known());
    match (reason, job.state.known()) {
        (Some(WaitReason::Held), _) | (None, Some(JobState::Held)) => "JobHeldUser",
        (Some(WaitReason::Dependency), _) | (None, Some(JobState::Dependent)) => "Dependency",
        (Some(WaitReason::Begin), _) => "BeginTime",
        (Some(WaitReason::ArrayLimit), _) => "JobArrayTaskLimit",
        (Some(WaitReason::Host), _) => "ReqNodeNotAvail",
        (Some(WaitReason::Licences), _) => "Licenses",
        (Some(WaitReason::Devices | WaitReason::Resources), _) => "Resources",
        (Some(WaitReason::Promise), _) => "DeadlineNotPromised",
        (Some(WaitReason::Priority), _) | (None, _) => "Priority",
    }
}

fn is_not_started(job: &JobDetails) -> bool {
    let status = job.status.as_deref();
    status.is_some_and(|status| status.starts_with("not started"))
}

/// Returns the exit code and the signal of the last attempt, from `exit 3` and `signal 9 (memory limit)`.
fn ended_with(job: &JobDetails) -> (u8, u8) {
    let status = job.status.as_deref().unwrap_or_default();
    let number = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.parse::<u8>().ok()
    };
    if is_not_started(job) {
        return (127, 0);
    }
    if let Some(signal) = status.strip_prefix("signal ").and_then(number) {
        return (0, signal);
    }
    let code = status.strip_prefix("exit ").and_then(number);
    (code.or(job.exit_code).unwrap_or(0), 0)
}

/// Returns whether a job was cancelled because a job that it depends on failed.
fn is_dependency_failed(job: &JobDetails) -> bool {
    let mut reasons = job.reasons.iter();
    reasons.any(|reason| reason.key.starts_with("after:"))
}

/// Returns whether a rejected job had a number before: its decision came after its submission.
fn was_decided_later(job: &JobDetails) -> bool {
    let decided = job.decided_at.as_deref().or(job.finished_at.as_deref());
    decided.is_some_and(|decided| decided != job.submitted_at)
}

/// Returns the words of the system for a signal.
pub fn signal_words(signal: u8) -> &'static str {
    match signal {
        1 => "Hangup",
        2 => "Interrupt",
        3 => "Quit",
        4 => "Illegal instruction",
        6 => "Aborted",
        7 => "Bus error",
        8 => "Floating point exception",
        9 => "Killed",
        10 => "User defined signal 1",
        11 => "Segmentation fault",
        12 => "User defined signal 2",
        13 => "Broken pipe",
        14 => "Alarm clock",
        15 => "Terminated",
        24 => "CPU time limit exceeded",
        25 => "File size limit exceeded",
        _ => "Unknown signal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::fixtures::job;

    fn status(fields: serde_json::Value) -> Option<String> {
        let status = SlurmStatus::of(&job(fields))?;
        let (long, compact) = status.state.words();
        let exit = status.exit_words();
        Some(format!("{long} {compact} {} {exit}", status.reason))
    }

    #[test]
    fn every_state_has_its_words() {
        let finished =
            |words: &str| status(serde_json::json!({"state": "finished", "status": words}));
        for (fields, expected) in [
            (
                serde_json::json!({"state": "queued"}),
                "PENDING PD Priority 0:0",
            ),
            (
                serde_json::json!({"state": "held"}),
                "PENDING PD JobHeldUser 0:0",
            ),
            (
                serde_json::json!({"state": "dependent", "after": [7]}),
                "PENDING PD Dependency 0:0",
            ),
            (
                serde_json::json!({"state": "dependent", "waits_for": {"key": "begin", "text": ""}}),
                "PENDING PD BeginTime 0:0",
            ),
            (
                serde_json::json!({"state": "running"}),
                "RUNNING R None 0:0",
            ),
            (
                serde_json::json!({"state": "running", "suspended": "user"}),
                "SUSPENDED S None 0:0",
            ),
            (
                serde_json::json!({"state": "timed_out", "status": "exit 0 (time limit)"}),
                "TIMEOUT TO TimeLimit 0:0",
            ),
            (
                serde_json::json!({"state": "timed_out", "status": "signal 15 (time limit)"}),
                "TIMEOUT TO TimeLimit 0:15",
            ),
            (
                serde_json::json!({"state": "out_of_memory", "status": "signal 9 (memory limit)"}),
                "OUT_OF_MEMORY OOM OutOfMemory 0:9",
            ),
            (
                serde_json::json!({"state": "cancelled"}),
                "CANCELLED CA None 0:15",
            ),
            (
                serde_json::json!({"state": "cancelled", "reasons": [{"key": "after:7", "text": ""}]}),
                "CANCELLED CA DependencyNeverSatisfied 0:0",
            ),
            (
                serde_json::json!({"state": "lost"}),
                "NODE_FAIL NF NodeDown 0:1",
            ),
            (
                serde_json::json!({"state": "rejected", "decided_at": "2026-12-01T10:00:00Z"}),
                "DEADLINE DL DeadLine 0:1",
            ),
        ] {
            assert_eq!(
                status(fields.clone()).as_deref(),
                Some(expected),
                "{fields}"
            );
        }
        assert_eq!(finished("exit 0").as_deref(), Some("COMPLETED CD None 0:0"));
        assert_eq!(
            finished("exit 3").as_deref(),
            Some("FAILED F NonZeroExitCode 3:0")
        );
        assert_eq!(
            finished("signal 11").as_deref(),
            Some("FAILED F RaisedSignal:11(Segmentation fault) 0:11")
        );
        assert_eq!(
            finished("not started: program: gone").as_deref(),
            Some("FAILED F JobLaunchFailure 127:0")
        );
        assert_eq!(status(serde_json::json!({"state": "reserved"})), None);
        let at_once =
            serde_json::json!({"state": "rejected", "decided_at": "2026-12-01T09:00:00Z"});
        assert_eq!(status(at_once), None);
    }

    #[test]
    fn states_are_named_in_every_form() {
        let read = |list| SlurmState::parse_list(list).map(|states| states.len());
        assert_eq!(read("pd,Running,CD"), Ok(3));
        assert_eq!(read("all"), Ok(11));
        assert_eq!(read("COMPLETING,suspended"), Ok(1));
        assert_eq!(read("pd,nonsense"), Err("nonsense".to_owned()));
    }
}
