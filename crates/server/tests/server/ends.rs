//! Every end of an attempt, with limits of the user and of the site. Checked are the state of the job, its
//! promise, the jobs that depend on it, and the exit code of an array.

use tollgate_client::types::{JobState, WireVocabulary};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, ExceededLimit, Instant,
    KillReason, LimitOwner, Span,
};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{
    ArraySpec, DependencyCondition, JobDependency, ServiceCommand, Submission, SubmissionOptions,
    TaskRanges,
};

use crate::common::{TestCluster, submission};

const STATUSES: [AttemptStatus; 4] = [
    AttemptStatus::Exited(0),
    AttemptStatus::Exited(3),
    AttemptStatus::Signalled(9),
    AttemptStatus::Signalled(15),
];
const REQUESTS: [Option<KillReason>; 4] = [
    None,
    Some(KillReason::TimeLimit),
    Some(KillReason::OutputLimit),
    Some(KillReason::Evicted),
];

/// An end of an attempt, and the owner of its memory limit.
struct EndCase {
    status: AttemptStatus,
    requested: Option<KillReason>,
    is_out_of_memory: bool,
    has_own_memory: bool,
}

impl EndCase {
    fn all() -> impl Iterator<Item = Self> {
        STATUSES.into_iter().flat_map(|status| {
            REQUESTS.into_iter().flat_map(move |requested| {
                let status = status.clone();
                [(false, false), (false, true), (true, false), (true, true)].map(
                    move |(is_out_of_memory, has_own_memory)| Self {
                        status: status.clone(),
                        requested,
                        is_out_of_memory,
                        has_own_memory,
                    },
                )
            })
        })
    }

    /// Returns the limit that ends the attempt, with its owner.
    fn limit(&self) -> Option<(ExceededLimit, LimitOwner)> {
        let memory = match self.has_own_memory {
            true => LimitOwner::User,
            false => LimitOwner::Site,
        };
        match (self.requested, self.is_out_of_memory) {
            (Some(KillReason::Evicted), _) => None,
            (_, true) => Some((ExceededLimit::Memory, memory)),
            (Some(KillReason::TimeLimit), _) => Some((ExceededLimit::Time, LimitOwner::User)),
            (Some(_), _) => Some((ExceededLimit::Output, LimitOwner::Site)),
            (None, _) => None,
        }
    }

    fn state(&self) -> JobState {
        match self.limit() {
            Some((ExceededLimit::Time, _)) => JobState::TimedOut,
            Some((ExceededLimit::Memory, _)) => JobState::OutOfMemory,
            Some((ExceededLimit::Output, _)) => JobState::OutputLimit,
            None => JobState::Finished,
        }
    }

    fn is_success(&self) -> bool {
        self.requested.is_none() && !self.is_out_of_memory && self.status.is_success()
    }

    fn promise(&self) -> &'static str {
        match (self.limit(), self.requested) {
            (Some((_, LimitOwner::User)), _) => "void",
            (Some((_, LimitOwner::Site)), _) | (None, Some(_)) => "broken_site",
            (None, None) if self.is_success() => "kept",
            (None, None) => "void",
        }
    }

    fn wait_code(&self) -> u8 {
        match (self.limit(), &self.status) {
            (Some((ExceededLimit::Time, _)), _) => 124,
            (Some((ExceededLimit::Memory, _)), _) => 137,
            (Some((ExceededLimit::Output, _)), _) => 153,
            (None, AttemptStatus::Exited(0)) if !self.is_success() => 1,
            (None, status) => status.shell_code(),
        }
    }

    fn report(&self, job: u64, task: u32) -> ServiceCommand {
        ServiceCommand::Report(AttemptReport {
            attempt: AttemptId {
                job,
                task,
                attempt: 1,
            },
            event: AttemptEvent::Ended(AttemptOutcome {
                status: self.status.clone(),
                killed: KillReason::of_end(self.requested, self.is_out_of_memory),
                at: Instant::ZERO,
                wall: Span::from_secs(1),
                cpu: Span::ZERO,
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        })
    }

    fn submission(&self, options: SubmissionOptions) -> Submission {
        Submission {
            memory: self.has_own_memory.then_some(1 << 20),
            deadline: Some(Span::from_secs(1_000)),
            options,
            ..submission("work", 10)
        }
    }
}

fn after(job: u64, condition: DependencyCondition) -> SubmissionOptions {
    SubmissionOptions {
        dependencies: vec![JobDependency { job, condition }],
        ..SubmissionOptions::default()
    }
}

#[test]
fn end_by_a_limit_is_one_thing_in_state_promise_dependents_and_exit_code() {
    for case in EndCase::all() {
        let mut site = TestCluster::new("easy");
        let what = format!(
            "{}, asked {:?}, out of memory {}, own memory {}",
            case.status, case.requested, case.is_out_of_memory, case.has_own_memory
        );
        let work = ["work", "10"];
        let single = case.submission(SubmissionOptions::default());
        let single = site.submit_job(single, &work).unwrap().job;
        let array = case.submission(SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, 1),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        });
        let array = site.submit_job(array, &work).unwrap().job;
        let mut dependents = Vec::new();
        for job in [single, array] {
            for condition in [DependencyCondition::Success, DependencyCondition::AnyEnd] {
                let dependent = case.submission(after(job, condition));
                dependents.push(site.submit_job(dependent, &work).unwrap().job);
            }
        }
        for (job, task) in [(single, 0), (array, 1)] {
            site.request(|reply| ControllerRequest::Command {
                user: None,
                command: case.report(job, task),
                reply,
            })
            .unwrap();
            assert_eq!(site.row(job).state, case.state().key(), "{what}");
        }
        assert_eq!(site.entry(single), Some(case.promise()), "{what}");
        let row = site.row(array);
        let counts = row.array.unwrap().counts;
        assert_eq!(counts.max_exit_code, Some(case.wait_code()), "{what}");
        let promises = (counts.kept, counts.broken, counts.void);
        let expected = match case.promise() {
            "kept" => (1, 0, 0),
            "broken_site" => (0, 1, 0),
            _ => (0, 0, 1),
        };
        assert_eq!(promises, expected, "{what}");
        let needs_success = if case.is_success() {
            "running"
        } else {
            "cancelled"
        };
        for (dependent, expected) in dependents
            .into_iter()
            .zip([needs_success, "running"].into_iter().cycle())
        {
            // Where few nodes are free, a dependent waits for one.
            let state = site.row(dependent).state;
            let runs = ["running", "queued"].contains(&&*state);
            assert!(
                state == expected || runs && expected == "running",
                "{what}: {state}"
            );
        }
    }
}
