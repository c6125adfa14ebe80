//! Jobs that cannot be promised: they wait, run without a promise, or are rejected.

use tollgate_model::{BookEntry, Market, Otherwise};
use tollgate_service::{AdmissionState, ArraySpec, Submission, SubmissionOptions, SubmitOutcome};

use crate::common::{TestCluster, submission};

/// Twelve tasks of 30 s on two nodes, due in 100 s: six fit.
fn too_many(otherwise: Otherwise, partial: bool) -> Submission {
    let array = ArraySpec {
        tasks: "1-12".parse().unwrap(),
        max_at_once: None,
    };
    Submission {
        budget: None,
        options: SubmissionOptions {
            array: Some(array),
            otherwise,
            partial,
            ..SubmissionOptions::default()
        },
        ..submission("work", 30)
    }
}

/// A job of 90 s, due in 10 s.
fn too_long(otherwise: Otherwise) -> Submission {
    Submission {
        budget: None,
        deadline: Some(tollgate_model::Span::from_secs(10)),
        options: SubmissionOptions {
            otherwise,
            ..SubmissionOptions::default()
        },
        ..submission("work", 90)
    }
}

fn key(state: &AdmissionState) -> String {
    match state {
        AdmissionState::Accepted { .. } => "accepted".to_owned(),
        AdmissionState::Queued => "queued".to_owned(),
        AdmissionState::Waitlisted { .. } => "waitlisted".to_owned(),
        AdmissionState::Deferred => "deferred".to_owned(),
        AdmissionState::Unpromised(reasons) => format!("unpromised {}", reasons[0].key()),
        AdmissionState::Rejected(reasons) => format!("rejected {}", reasons[0].key()),
    }
}

fn groups(answer: &SubmitOutcome) -> Vec<String> {
    let group = |group: &tollgate_service::TaskGroupOutcome| {
        format!("{} {}", group.tasks, key(&group.admission))
    };
    answer.groups.iter().map(group).collect()
}

fn drain(site: &mut TestCluster) {
    for _ in 0..1_000 {
        site.controller().core().check_invariants().unwrap();
        if site.controller().core().jobs().is_empty() {
            return;
        }
        site.advance(1);
    }
    panic!("these never end: {:?}", site.controller().core().jobs());
}

#[test]
fn array_that_does_not_fit_goes_the_way_that_its_user_chose() {
    for (otherwise, partial, expected, ends) in [
        (
            Otherwise::Wait,
            true,
            vec!["1-6 accepted", "7-12 waitlisted"],
            (6, 6, 0),
        ),
        (
            Otherwise::Run,
            true,
            vec!["1-6 accepted", "7-12 unpromised no_room"],
            (6, 0, 6),
        ),
        (
            Otherwise::Reject,
            true,
            vec!["1-6 accepted", "7-12 rejected no_room"],
            (6, 6, 0),
        ),
        (
            Otherwise::Run,
            false,
            vec!["1-12 unpromised no_room"],
            (6, 0, 6),
        ),
        (
            Otherwise::Reject,
            false,
            vec!["1-12 rejected no_room"],
            (0, 12, 0),
        ),
    ] {
        let mut site = TestCluster::new("plan");
        let submission = too_many(otherwise, partial);
        let quoted = site.quote(submission.clone());
        assert_eq!(groups(&quoted), expected);
        assert_eq!(quoted.promisable, Some(6));
        let answer = site.submit_job(submission, &["work", "30"]).unwrap();
        assert_eq!(answer.answer.groups, quoted.groups);
        drain(&mut site);
        let array = site.row(answer.job).array.unwrap().counts;
        let found = (array.kept, array.rejected, array.unpromised);
        assert_eq!(found, ends, "{otherwise:?}, {partial}");
        assert_eq!(array.finished, array.kept + array.unpromised);
        let books = site.reader().objective_sums(None).unwrap().books;
        let (kept, unpromised) = (array.kept.into(), array.unpromised.into());
        assert_eq!(
            (books.submitted(), books.accepted()),
            (12, kept + unpromised)
        );
        assert_eq!((books.kept(), books.unpromised()), (kept, unpromised));
        let in_time = u64::from(array.unpromised_in_time);
        assert_eq!(books.unpromised_in_time(), in_time);
    }
}

#[test]
fn rejected_job_runs_under_every_policy_if_its_user_wants() {
    for policy in ["plan", "libra"] {
        let mut site = TestCluster::in_market(policy, Market::None);
        let refused = site.quote(too_long(Otherwise::Reject));
        let job = site
            .submit_job(too_long(Otherwise::Run), &["work", "90"])
            .unwrap();
        let AdmissionState::Unpromised(reasons) = &job.answer.admission else {
            panic!("{policy}: {:?}", job.answer.admission);
        };
        assert_eq!(
            &AdmissionState::Rejected(reasons.clone()),
            &refused.admission
        );
        assert!(!job.answer.offers.is_empty(), "{policy}");
        drain(&mut site);
        let row = site.row(job.job);
        assert_eq!(row.state, "finished", "{policy}");
        assert_eq!(row.entry, Some(BookEntry::UnpromisedLate), "{policy}");
        assert!(row.due.is_some(), "what was asked for is kept");
        let books = site.reader().objective_sums(None).unwrap().books;
        assert_eq!((books.submitted(), books.unpromised()), (1, 1));
        assert_eq!(
            (books.sla_pct(), books.in_time_pct()),
            (Some(0.0), Some(0.0))
        );
        assert!(site.reader().calibration(None).unwrap().is_empty());
    }
}

#[test]
fn array_decided_task_by_task_goes_on_without_a_promise() {
    let mut site = TestCluster::new("libra");
    let answer = site
        .submit_job(too_many(Otherwise::Run, false), &["work", "30"])
        .unwrap();
    let expected = ["1-6 accepted", "7-12 unpromised insufficient_share"];
    assert_eq!(groups(&answer.answer), expected);
    drain(&mut site);
    let array = site.row(answer.job).array.unwrap().counts;
    assert_eq!((array.kept + array.broken, array.unpromised), (6, 6));
}

/// Returns a cluster to which two jobs without a deadline, of 300 s each, have just been submitted.
fn busy_cluster() -> TestCluster {
    let mut site = TestCluster::in_market("plan", Market::None);
    let busy = Submission {
        budget: None,
        deadline: None,
        ..submission("busy", 300)
    };
    for _ in 0..2 {
        site.submit_job(busy.clone(), &["work", "300"]).unwrap();
    }
    site
}

#[test]
fn late_job_is_cancelled_before_its_start_if_its_user_wants() {
    for drop_late in [false, true] {
        let mut site = busy_cluster();
        let late = Submission {
            budget: None,
            options: SubmissionOptions {
                otherwise: Otherwise::Run,
                drop_late,
                ..SubmissionOptions::default()
            },
            ..submission("late", 60)
        };
        let job = site.submit_job(late, &["work", "60"]).unwrap();
        assert_eq!(key(&job.answer.admission), "unpromised no_room");
        let chance = job
            .answer
            .prediction
            .and_then(|expected| expected.probability);
        assert!(
            chance.is_some_and(|chance| chance.as_f64() < 0.7),
            "{chance:?}"
        );
        drain(&mut site);
        let row = site.row(job.job);
        let expected = if drop_late { "cancelled" } else { "finished" };
        assert_eq!(row.state, expected);
        assert_eq!(row.reasons == ["late"], drop_late, "{:?}", row.reasons);
        assert_eq!(
            site.reader().objective_sums(None).unwrap().books.broken(),
            0
        );
    }
}

#[test]
fn tasks_dropped_as_late_are_cancelled_and_in_the_books_as_such() {
    let mut site = busy_cluster();
    let late = Submission {
        budget: None,
        options: SubmissionOptions {
            otherwise: Otherwise::Run,
            drop_late: true,
            array: Some(ArraySpec {
                tasks: "1-3".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("late", 60)
    };
    let job = site.submit_job(late, &["work", "60"]).unwrap().job;
    drain(&mut site);
    let row = site.row(job);
    let counts = row.array.unwrap().counts;
    assert_eq!(row.state, "cancelled");
    assert_eq!((counts.cancelled, counts.rejected), (3, 0));
    let tasks = site.reader().tasks(job, None, 10).unwrap().unwrap();
    for task in tasks {
        assert_eq!(
            (&*task.state, task.reasons),
            ("cancelled", vec!["late".to_owned()])
        );
    }
    let books = site.reader().objective_sums(None).unwrap().books;
    assert_eq!(books.count(BookEntry::UnpromisedDropped), 3);
    assert_eq!((books.rejected(), books.sla_pct()), (0, Some(0.0)));
}
