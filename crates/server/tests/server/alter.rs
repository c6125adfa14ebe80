//! Jobs that wait are changed if the answer is no worse, and stay as they are otherwise.

use tollgate_gate::OnEviction;
use tollgate_model::{AttemptId, Span};
use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{
    AdmissionState, CommandError, JobChange, Submission, SubmissionOptions, SubmitOutcome,
};

use crate::common::{TestCluster, submission};

fn alter(
    site: &mut TestCluster,
    job: u64,
    change: JobChange,
) -> Result<(bool, SubmitOutcome), RequestError> {
    site.request(|reply| ControllerRequest::Alter {
        user: None,
        job,
        change,
        due: None,
        reply,
    })
}

fn deadline(secs: i64) -> JobChange {
    JobChange {
        deadline: Some(Some(Span::from_secs(secs))),
        ..JobChange::default()
    }
}

/// A job of 20 s on both nodes, due in `due_s`.
fn wide(due_s: i64) -> Submission {
    Submission {
        procs: 2,
        deadline: Some(Span::from_secs(due_s)),
        budget: None,
        ..submission("wide", 20)
    }
}

/// Returns a service with a job that runs, and two promised jobs that wait, due after these spans.
fn site(deadlines_s: [i64; 3]) -> TestCluster {
    let mut site = TestCluster::new("plan");
    for due_s in deadlines_s {
        let job = site.submit_job(wide(due_s), &["sleep", "20"]).unwrap();
        assert!(matches!(
            job.answer.admission,
            AdmissionState::Accepted { .. }
        ));
    }
    site
}

#[test]
fn changed_job_is_promised_anew_or_keeps_its_promise() {
    let mut site = site([60, 100, 200]);
    site.advance(5);
    let before = site.row(3);
    let (altered, answer) = alter(&mut site, 3, deadline(10)).unwrap();
    assert!(
        !altered
            && matches!(
                answer.admission,
                AdmissionState::Rejected(_) | AdmissionState::Waitlisted { .. }
            )
    );
    assert_eq!(site.row(3).due, before.due);
    site.controller().core().check_invariants().unwrap();

    let (altered, answer) = alter(&mut site, 3, deadline(500)).unwrap();
    assert!(altered, "{answer:?}");
    let row = site.row(3);
    assert_eq!(
        row.due.unwrap().as_micros() - row.submit.as_micros(),
        505_000_000
    );
    assert_eq!(row.state, "queued");
    site.controller().core().check_invariants().unwrap();
    // After a crash the service decides by the stored specification.
    site.restart();
    let (altered, _) = alter(
        &mut site,
        2,
        JobChange {
            name: Some("other".to_owned()),
            estimate: Some(Span::from_secs(25)),
            ..JobChange::default()
        },
    )
    .unwrap();
    assert!(altered);
    assert_eq!(
        (site.row(2).name.as_str(), site.row(2).estimate),
        ("other", Span::from_secs(25))
    );
    site.advance(95);
    for job in [1, 2, 3] {
        assert_eq!(site.state(job).0, "finished");
        assert_eq!(site.entry(job), Some("kept"), "job {job}");
    }
}

#[test]
fn room_of_an_altered_job_goes_to_others_at_once() {
    let mut site = site([60, 49, 200]);
    let waitlisted = site.submit_job(wide(50), &["sleep", "20"]).unwrap();
    assert!(matches!(
        waitlisted.answer.admission,
        AdmissionState::Waitlisted { .. }
    ));
    let (altered, _) = alter(&mut site, 2, deadline(1_000)).unwrap();
    assert!(altered);
    site.controller().core().check_invariants().unwrap();
    site.advance(200);
    for job in 1..=4 {
        assert_eq!(site.state(job).0, "finished", "job {job}");
    }
}

#[test]
fn jobs_and_tasks_that_wait_can_be_changed() {
    let mut site = site([60, 100, 200]);
    let failed = alter(&mut site, 1, deadline(500)).unwrap_err();
    assert_eq!(
        failed,
        RequestError::Ignored(CommandError::RunningUnalterable)
    );
    let failed = alter(&mut site, 99, deadline(500)).unwrap_err();
    assert_eq!(failed, RequestError::Ignored(CommandError::UnknownJob));
    let array = Submission {
        options: SubmissionOptions {
            array: Some(tollgate_service::ArraySpec {
                tasks: "1-3".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..wide(900)
    };
    let array = site.submit_job(array, &["sleep", "1"]).unwrap().job;
    let (altered, _) = alter(&mut site, array, deadline(5_000)).unwrap();
    assert!(altered);
    let change = JobChange {
        deadline: Some(None),
        max_at_once: Some(Some(2)),
        ..JobChange::default()
    };
    assert!(alter(&mut site, array, change).unwrap().0);
    let row = site.row(array);
    let limit = row.array.expect("an array").max_at_once;
    assert_eq!((row.due, limit), (None, Some(2)));
    let limit = JobChange {
        max_at_once: Some(Some(2)),
        ..JobChange::default()
    };
    let failed = alter(&mut site, 3, limit).unwrap_err();
    assert_eq!(failed, RequestError::Ignored(CommandError::NoArray));
}

#[test]
fn held_jobs_are_changed_and_stay_held() {
    let mut site = site([60, 100, 200]);
    let held = Submission {
        options: SubmissionOptions {
            held: true,
            ..SubmissionOptions::default()
        },
        ..wide(900)
    };
    let job = site.submit_job(held, &["sleep", "1"]).unwrap().job;
    site.advance(10);
    let (altered, answer) = alter(&mut site, job, deadline(700)).unwrap();
    assert!(altered && answer.admission == AdmissionState::Deferred);
    assert_eq!(site.state(job).0, "held");
    let row = site.row(job);
    let due_s = row.due.unwrap().since(row.submit).as_secs_f64();
    assert_eq!(due_s, 710.0, "it counts from the change");
    let (altered, _) = alter(
        &mut site,
        job,
        JobChange {
            deadline: Some(None),
            ..JobChange::default()
        },
    )
    .unwrap();
    assert!(altered);
    assert_eq!(site.row(job).due, None);
}

#[test]
fn a_job_that_was_lost_and_waits_again_stays_as_it_is() {
    let mut site = TestCluster::new("plan");
    let again = Submission {
        retry: OnEviction::Requeue,
        ..wide(500)
    };
    let job = site.submit_job(again, &["sleep", "20"]).unwrap().job;
    site.advance(1);
    site.world.mark_lost(AttemptId {
        job,
        task: 0,
        attempt: 1,
    });
    site.request(|reply| ControllerRequest::Drain {
        worker: None,
        drained: true,
        reply,
    })
    .unwrap();
    site.advance(1);
    assert_eq!(site.state(job).0, "queued");
    let refused = alter(&mut site, job, deadline(400)).unwrap_err();
    assert!(matches!(
        refused,
        RequestError::Ignored(CommandError::RunningUnalterable)
    ));
    site.request(|reply| ControllerRequest::Drain {
        worker: None,
        drained: false,
        reply,
    })
    .unwrap();
    site.advance(40);
    assert_eq!(
        (site.state(job).0.as_str(), site.row(job).attempts),
        ("finished", 2)
    );
}

#[test]
fn promise_that_was_broken_is_in_the_books_once_however_it_is_changed() {
    let mut site = site([60, 100, 200]);
    let drain = |site: &mut TestCluster, drained| {
        let drained = site.request(|reply| ControllerRequest::Drain {
            worker: None,
            drained,
            reply,
        });
        drained.unwrap();
    };
    drain(&mut site, true);
    site.advance(250);
    let broken = |site: &TestCluster| {
        let sums = site.reader().objective_sums(None).unwrap();
        (sums.books.broken(), sums.books.accepted())
    };
    assert_eq!(site.entry(3), Some("broken_others"));
    assert_eq!(broken(&site), (2, 3));
    // Job 2 is asked for what cannot be, job 3 for what can: the machine is open again.
    let (altered, _) = alter(&mut site, 2, deadline(1)).unwrap();
    assert!(!altered);
    drain(&mut site, false);
    let (altered, _) = alter(&mut site, 3, deadline(500)).unwrap();
    assert!(altered);
    site.advance(600);
    assert_eq!(site.state(3).0, "finished");
    assert_eq!(site.entry(3), Some("broken_others"));
    assert_eq!(broken(&site), (2, 3));
}

#[test]
fn time_limit_and_remark_of_a_waiting_job_change() {
    let mut site = site([60, 100, 200]);
    let change = JobChange {
        time_limit: Some(Some(Span::from_secs(15))),
        comment: Some("shorter".to_owned()),
        ..JobChange::default()
    };
    let (altered, _) = alter(&mut site, 3, change).unwrap();
    assert!(altered);
    site.restart();
    let row = site.row(3);
    assert_eq!(row.estimate, Span::from_secs(15));
    let program = row.program.unwrap();
    assert_eq!(program.time_limit, Some(Span::from_secs(15)));
    assert_eq!(program.comment.as_deref(), Some("shorter"));
    // The third job of 20 s begins after two others.
    site.advance(60);
    assert_eq!(
        site.state(3),
        (
            "timed_out".to_owned(),
            Some("signal 15 (time limit)".to_owned())
        )
    );
    let none = JobChange {
        time_limit: Some(None),
        ..JobChange::default()
    };
    assert!(alter(&mut site, 3, none).is_err());
}
