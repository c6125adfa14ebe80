//! Steps of jobs from changes of the service.

use tollgate_client::types::JobEventKind;
use tollgate_model::BookEntry;
use tollgate_service::{AdmissionState, RowChange, TaskDropCause};

use super::{EventTasks, JobStep};

/// Converts a change to a step of a job; None if the change is not reported.
pub(super) fn step_of(change: &RowChange) -> Option<JobStep> {
    let whole = |kind, job| (kind, job, None);
    let (kind, job, tasks) = match change {
        RowChange::Submitted { job, answer, .. } | RowChange::Decided { job, answer } => {
            let reserved = answer.reserved_until.is_some();
            whole(
                if reserved {
                    JobEventKind::Reserved
                } else {
                    admission_event(&answer.admission)
                },
                *job,
            )
        }
        RowChange::Deferred { job, held } => whole(
            if *held {
                JobEventKind::Held
            } else {
                JobEventKind::Deferred
            },
            *job,
        ),
        RowChange::Altered { job, .. } => whole(JobEventKind::Altered, *job),
        RowChange::Granted { job, .. } => whole(JobEventKind::Granted, *job),
        RowChange::DependencyFailed { job, .. } => whole(JobEventKind::Cancelled, *job),
        RowChange::TasksDropped { job, tasks, cause } => {
            let kind = match cause {
                TaskDropCause::Cancelled | TaskDropCause::Late => JobEventKind::Cancelled,
                TaskDropCause::Rejected(_) => JobEventKind::Rejected,
            };
            (kind, *job, Some(EventTasks::Some(tasks.to_string().into())))
        }
        RowChange::HeldTasks { job, tasks } => (
            JobEventKind::Held,
            *job,
            Some(EventTasks::Some(tasks.to_string().into())),
        ),
        RowChange::TaskEnded { attempt, ending } => (
            (*ending).into(),
            attempt.job,
            Some(EventTasks::One(attempt.task)),
        ),
        RowChange::Claimed { job } => whole(JobEventKind::Claimed, *job),
        RowChange::Expired { job } => whole(JobEventKind::Expired, *job),
        RowChange::Accepted { job, .. } => whole(JobEventKind::Accepted, *job),
        RowChange::Rejected { job, .. } => whole(JobEventKind::Rejected, *job),
        RowChange::DroppedLate { job } => whole(JobEventKind::Cancelled, *job),
        RowChange::Queued { job } => whole(JobEventKind::Queued, *job),
        RowChange::NotPromised { job, .. } => whole(JobEventKind::Unpromised, *job),
        RowChange::Held { job } => whole(JobEventKind::Held, *job),
        RowChange::Started { attempt, of_array } => {
            let task = of_array.then_some(EventTasks::One(attempt.task));
            (JobEventKind::Started, attempt.job, task)
        }
        RowChange::Entered {
            attempt,
            entry: BookEntry::Broken(_),
            of_array,
            ..
        } => {
            let task = of_array.then_some(EventTasks::One(attempt.task));
            (JobEventKind::Broken, attempt.job, task)
        }
        RowChange::Evicted { attempt, .. } => {
            let task = (attempt.task > 0).then_some(EventTasks::One(attempt.task));
            (JobEventKind::Evicted, attempt.job, task)
        }
        RowChange::AtRisk { job, .. } => whole(JobEventKind::AtRisk, *job),
        RowChange::EnteredTogether {
            job,
            tasks,
            entry: BookEntry::Broken(_),
            ..
        } => (
            JobEventKind::Broken,
            *job,
            Some(EventTasks::Some(tasks.to_string().into())),
        ),
        RowChange::JobEnded { job, ending } => whole((*ending).into(), *job),
        // A kept or void promise ends with its job.
        RowChange::Entered { .. }
        | RowChange::EnteredTogether { .. }
        | RowChange::StartedLate { .. }
        | RowChange::Promised { .. }
        | RowChange::Priced { .. }
        | RowChange::ArrayCounts { .. }
        | RowChange::AttemptReported(_)
        | RowChange::WorkMeasured { .. }
        | RowChange::WorkerLost { .. }
        | RowChange::Abandoned { .. }
        | RowChange::Booked { .. } => return None,
    };
    Some(JobStep {
        kind,
        job,
        is_last: tasks.is_none() && kind.is_end(),
        tasks,
    })
}

const fn admission_event(admission: &AdmissionState) -> JobEventKind {
    match admission {
        AdmissionState::Accepted { .. } => JobEventKind::Accepted,
        AdmissionState::Queued => JobEventKind::Queued,
        AdmissionState::Waitlisted { .. } => JobEventKind::Waitlisted,
        AdmissionState::Unpromised(_) => JobEventKind::Unpromised,
        AdmissionState::Deferred => JobEventKind::Deferred,
        AdmissionState::Rejected(_) => JobEventKind::Rejected,
    }
}
