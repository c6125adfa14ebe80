//! How attempts and jobs end.
//!
//! [`AttemptOutcome::ending`] is the only judgement of an end. The state of the job, the exit code of
//! `wait`, dependencies, promises, records and learning follow from it.

use serde::{Deserialize, Serialize};

use crate::{AttemptOutcome, AttemptStatus, JobSpec, KillReason};

/// A limit that ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExceededLimit {
    /// The time limit.
    Time,
    /// The memory limit, or the memory of the host.
    Memory,
    /// The limit on the size of the output.
    Output,
}

impl ExceededLimit {
    /// Every limit.
    pub const ALL: [Self; 3] = [Self::Time, Self::Memory, Self::Output];

    /// Returns the exit code of `wait`. It is 124 as of `timeout`, 137 as of a process that the kernel killed
    /// for memory (128 + SIGKILL). It is 153 as of one with a file that is too large (128 + SIGXFSZ).
    pub const fn wait_code(self) -> u8 {
        match self {
            Self::Time => 124,
            Self::Memory => 137,
            Self::Output => 153,
        }
    }

    /// Returns the state of a job that the limit ended.
    pub const fn end_state(self) -> JobEndState {
        match self {
            Self::Time => JobEndState::TimedOut,
            Self::Memory => JobEndState::OutOfMemory,
            Self::Output => JobEndState::OutputLimit,
        }
    }
}

/// The owner of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LimitOwner {
    /// The user set the limit for the job.
    User,
    /// The configuration of the service set it.
    Site,
}

/// The owners of a job's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOwners {
    /// The owner of the time limit.
    pub time: LimitOwner,
    /// The owner of the memory limit.
    pub memory: LimitOwner,
    /// The owner of the output limit.
    pub output: LimitOwner,
}

impl LimitOwners {
    /// Returns the owners for a job. A time limit is always the user's, and an output limit the site's. A
    /// job that names no memory gets its share of the host's, or all of it: both are the site's choice.
    pub const fn of(spec: &JobSpec) -> Self {
        Self {
            time: LimitOwner::User,
            memory: match spec.memory {
                0 => LimitOwner::Site,
                _ => LimitOwner::User,
            },
            output: LimitOwner::Site,
        }
    }

    /// Returns the owner of a limit.
    pub const fn owner(self, limit: ExceededLimit) -> LimitOwner {
        match limit {
            ExceededLimit::Time => self.time,
            ExceededLimit::Memory => self.memory,
            ExceededLimit::Output => self.output,
        }
    }
}

/// How an attempt ended: with success, or because of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AttemptEnding {
    /// The program ended by itself with exit code 0.
    Succeeded,
    /// The program failed, or could not be started as its user described it.
    Failed,
    /// A limit ended the attempt, whatever its exit code.
    Exceeded(ExceededLimit, LimitOwner),
    /// The attempt was ended for its user.
    Cancelled,
    /// The site ended the attempt, or could not start it.
    EndedBySite,
}

impl AttemptEnding {
    /// Returns whether the job itself, or a limit of its user, is the reason why it has not succeeded.
    pub const fn is_of_job(self) -> bool {
        match self {
            Self::Failed | Self::Cancelled | Self::Exceeded(_, LimitOwner::User) => true,
            Self::Succeeded | Self::EndedBySite | Self::Exceeded(_, LimitOwner::Site) => false,
        }
    }

    /// Returns the limit that ended the attempt, if one did.
    pub const fn exceeded(self) -> Option<ExceededLimit> {
        match self {
            Self::Exceeded(limit, _) => Some(limit),
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::EndedBySite => None,
        }
    }
}

impl KillReason {
    /// Returns the limit that this reason stands for, if it does.
    pub const fn limit(self) -> Option<ExceededLimit> {
        match self {
            Self::TimeLimit => Some(ExceededLimit::Time),
            Self::MemoryLimit => Some(ExceededLimit::Memory),
            Self::OutputLimit => Some(ExceededLimit::Output),
            Self::Cancelled | Self::Evicted | Self::Withdrawn | Self::GaveWay(_) => None,
        }
    }

    /// Returns the reason of an end, from the reason for which the engine asked the attempt to end, and from
    /// whether the kernel killed any of its processes for memory. Such a kill is the reason unless the user
    /// or the site ended the attempt: what is left of it can wait for its time limit, or fill its output.
    pub const fn of_end(requested: Option<Self>, is_out_of_memory: bool) -> Option<Self> {
        match (requested, is_out_of_memory) {
            (Some(Self::Cancelled | Self::Evicted | Self::Withdrawn | Self::GaveWay(_)), _)
            | (_, false) => requested,
            (Some(Self::TimeLimit | Self::MemoryLimit | Self::OutputLimit) | None, true) => {
                Some(Self::MemoryLimit)
            }
        }
    }
}

impl AttemptOutcome {
    /// Judges the end of an attempt at a job with limits of these owners. A killed attempt has not
    /// succeeded, whatever its exit code: many programs end with 0 when they are asked to end.
    pub fn ending(&self, owners: LimitOwners) -> AttemptEnding {
        match (self.killed, &self.status) {
            (Some(KillReason::Cancelled), _) => AttemptEnding::Cancelled,
            (Some(KillReason::Evicted | KillReason::Withdrawn | KillReason::GaveWay(_)), _) => {
                AttemptEnding::EndedBySite
            }
            (Some(KillReason::TimeLimit), _) => exceeded(ExceededLimit::Time, owners),
            (Some(KillReason::MemoryLimit), _) => exceeded(ExceededLimit::Memory, owners),
            (Some(KillReason::OutputLimit), _) => exceeded(ExceededLimit::Output, owners),
            (None, AttemptStatus::NotStarted(failure)) if failure.fault.is_of_site() => {
                AttemptEnding::EndedBySite
            }
            (None, status) if status.is_success() => AttemptEnding::Succeeded,
            (None, _) => AttemptEnding::Failed,
        }
    }

    /// Returns the exit code of `wait`: that of the limit that ended the attempt, else the status as a shell
    /// shows it. It is 0 only after a success.
    pub fn wait_code(&self) -> u8 {
        match self.killed {
            Some(reason) => match reason.limit() {
                Some(limit) => limit.wait_code(),
                None => self.status.shell_code().max(1),
            },
            None => self.status.shell_code(),
        }
    }
}

const fn exceeded(limit: ExceededLimit, owners: LimitOwners) -> AttemptEnding {
    AttemptEnding::Exceeded(limit, owners.owner(limit))
}

/// The state of a job that has run and is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum JobEndState {
    /// The program ended by itself, with any exit code, or the site ended it.
    Finished,
    /// The job reached its time limit.
    TimedOut,
    /// The kernel killed a process of the job for memory.
    OutOfMemory,
    /// The output of the job became longer than its limit.
    OutputLimit,
    /// The job was cancelled.
    Cancelled,
    /// The end of the job was not observed.
    Lost,
    /// The job was evicted from computers that others use, more often than a rule permits. (A new state goes at the
    /// end, because the index is stored.)
    Abandoned,
}

/// The exit code of `wait` for an abandoned job.
pub const ABANDONED_WAIT_CODE: u8 = 76;

impl JobEndState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Finished,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::OutputLimit,
        Self::Cancelled,
        Self::Lost,
        Self::Abandoned,
    ];

    /// Returns the state of a job that ran to its end, from the ending of its last attempt.
    pub const fn of_run(ending: AttemptEnding) -> Self {
        match ending.exceeded() {
            Some(limit) => limit.end_state(),
            None => Self::Finished,
        }
    }

    /// Returns the limit that ended the job, if one did.
    pub const fn exceeded(self) -> Option<ExceededLimit> {
        match self {
            Self::TimedOut => Some(ExceededLimit::Time),
            Self::OutOfMemory => Some(ExceededLimit::Memory),
            Self::OutputLimit => Some(ExceededLimit::Output),
            Self::Finished | Self::Cancelled | Self::Lost | Self::Abandoned => None,
        }
    }

    /// Returns the key in JSON, in events and in the store.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::OutputLimit => "output_limit",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Abandoned => "abandoned",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvictionCause, Instant, LaunchFailure, Span};

    const STATUSES: [AttemptStatus; 5] = [
        AttemptStatus::Exited(0),
        AttemptStatus::Exited(3),
        AttemptStatus::Exited(124),
        AttemptStatus::Signalled(9),
        AttemptStatus::Signalled(15),
    ];
    const REASONS: [Option<KillReason>; 8] = [
        None,
        Some(KillReason::Cancelled),
        Some(KillReason::TimeLimit),
        Some(KillReason::MemoryLimit),
        Some(KillReason::Evicted),
        Some(KillReason::OutputLimit),
        Some(KillReason::Withdrawn),
        Some(KillReason::GaveWay(EvictionCause::User)),
    ];

    fn outcome(status: &AttemptStatus, killed: Option<KillReason>) -> AttemptOutcome {
        AttemptOutcome {
            status: status.clone(),
            killed,
            at: Instant::ZERO,
            wall: Span::from_secs(1),
            cpu: Span::ZERO,
            suspended: Span::ZERO,
            peak_memory: None,
        }
    }

    /// Every status, request and memory kill, with limits of the user and of the site.
    fn cases() -> impl Iterator<Item = (AttemptOutcome, Option<KillReason>, bool, LimitOwner)> {
        STATUSES.into_iter().flat_map(|status| {
            REASONS.into_iter().flat_map(move |requested| {
                let status = status.clone();
                [false, true].into_iter().flat_map(move |oom| {
                    let ended = outcome(&status, KillReason::of_end(requested, oom));
                    [LimitOwner::User, LimitOwner::Site]
                        .map(|owner| (ended.clone(), requested, oom, owner))
                })
            })
        })
    }

    fn owners(of_all: LimitOwner) -> LimitOwners {
        LimitOwners {
            time: of_all,
            memory: of_all,
            output: of_all,
        }
    }

    #[test]
    fn end_by_a_limit_is_never_a_success_whatever_the_exit_code() {
        for (ended, requested, oom, owner) in cases() {
            let ending = ended.ending(owners(owner));
            let limit = match requested {
                Some(
                    KillReason::Cancelled
                    | KillReason::Evicted
                    | KillReason::Withdrawn
                    | KillReason::GaveWay(_),
                ) => None,
                _ if oom => Some(ExceededLimit::Memory),
                Some(reason) => reason.limit(),
                None => None,
            };
            let what = format!("{ended:?} {requested:?} {oom} {owner:?}");
            assert_eq!(ending.exceeded(), limit, "{what}");
            let of_user = limit.is_some() && owner == LimitOwner::User;
            assert!(!of_user || ending.is_of_job(), "{what}");
            let succeeded = ending == AttemptEnding::Succeeded;
            let well = requested.is_none() && !oom && ended.status.is_success();
            assert_eq!(succeeded, well, "{what}");
            assert_eq!(ended.wait_code() == 0, well, "{what}");
            let state = JobEndState::of_run(ending);
            assert_eq!(state.exceeded(), limit, "{what}");
            if let Some(limit) = limit {
                assert_eq!(ended.wait_code(), limit.wait_code(), "{what}");
                assert_eq!(state, limit.end_state(), "{what}");
            }
        }
    }

    #[test]
    fn program_that_never_ran_is_the_fault_of_its_user_or_of_the_host() {
        let owners = owners(LimitOwner::User);
        let ending = |failure: LaunchFailure| {
            let ended = AttemptOutcome::not_started(failure, Instant::ZERO);
            assert_eq!(ended.wait_code(), 127);
            ended.ending(owners)
        };
        assert_eq!(
            ending(LaunchFailure::of_job("program", "no")),
            AttemptEnding::Failed
        );
        assert_eq!(
            ending(LaunchFailure::of_host("launch", "no")),
            AttemptEnding::EndedBySite
        );
    }

    #[test]
    fn keys_of_end_states_are_distinct() {
        let mut keys: Vec<&str> = JobEndState::ALL.map(JobEndState::key).into();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), JobEndState::ALL.len());
    }
}
