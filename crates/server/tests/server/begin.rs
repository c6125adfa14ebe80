//! Jobs that begin at a time of their own.

use tollgate_model::{BookEntry, Instant, Span};
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedBegin, RequestedTimes};
use tollgate_service::{
    AdmissionState, ArraySpec, DependencyCondition, JobDependency, ServiceCommand, Submission,
    SubmissionOptions, SubmitOutcome, TaskRanges,
};

use crate::common::{TestCluster, program, submission};

/// The begin of every job here.
const BEGIN: Instant = Instant::from_secs(50);

const TIMES: RequestedTimes = RequestedTimes {
    due: None,
    begin: Some(RequestedBegin::At(BEGIN)),
};

/// A job of 10 s.
fn work(options: SubmissionOptions) -> Submission {
    Submission {
        options,
        ..submission("work", 10)
    }
}

/// Submits a job that begins later.
fn submit(site: &mut TestCluster, options: SubmissionOptions) -> u64 {
    let job = site.request(|reply| {
        ControllerRequest::submit(NewJob {
            submission: work(options),
            times: TIMES,
            program: Box::new(program(&["work", "10"])),
            reply,
        })
    });
    let job = job.unwrap();
    assert_eq!(job.answer.admission, AdmissionState::Deferred);
    assert_eq!(job.answer.begin, Some(BEGIN));
    job.job
}

/// Submits such a job beside a job that keeps one of the two nodes busy until the end.
fn submitted(options: SubmissionOptions) -> (TestCluster, u64) {
    let mut site = TestCluster::new("plan");
    site.submit(&["work", "90"], 90).unwrap();
    let job = submit(&mut site, options);
    (site, job)
}

fn quote(site: &mut TestCluster, submission: Submission) -> SubmitOutcome {
    let quoted = site.request(|reply| ControllerRequest::Quote {
        submission,
        times: TIMES,
        with_levels: true,
        reply,
    });
    quoted.unwrap()
}

fn states(site: &TestCluster, job: u64) -> (String, Option<i64>) {
    let row = site.row(job);
    let start_s = row
        .start
        .map(|at| at.since(Instant::ZERO).as_secs_f64() as i64);
    (row.state, start_s)
}

fn command(site: &mut TestCluster, command: ServiceCommand) {
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
}

#[test]
fn job_starts_at_its_begin_and_not_before_also_after_restarts() {
    let (mut site, job) = submitted(SubmissionOptions::default());
    assert!(site.controller().core().next_wake().unwrap() <= BEGIN);
    site.advance(30);
    site.restart();
    site.controller().write_snapshot();
    site.restart();
    site.advance(19);
    assert_eq!(states(&site, job), ("dependent".to_owned(), None));
    site.advance(1);
    assert_eq!(states(&site, job), ("running".to_owned(), Some(50)));
    site.advance(11);
    let row = site.row(job);
    assert_eq!(
        (row.state.as_str(), row.entry.map(BookEntry::key)),
        ("finished", Some("kept"))
    );
    // The deadline counts from the submission.
    assert_eq!(row.due.unwrap().since(row.submit), Span::from_secs(100));
}

#[test]
fn begin_passes_while_no_service_runs() {
    let (mut site, job) = submitted(SubmissionOptions::default());
    site.advance(10);
    site.controller = None;
    *site.clock.lock().unwrap() = Instant::from_secs(70);
    site.world.advance_to(Instant::from_secs(70));
    site.restart();
    site.advance(1);
    assert_eq!(site.row(job).state, "running");
}

#[test]
fn job_waits_for_its_begin_its_release_and_the_jobs_before_it() {
    let (mut site, first) = submitted(SubmissionOptions::default());
    let after = SubmissionOptions {
        dependencies: vec![JobDependency {
            job: first,
            condition: DependencyCondition::Success,
        }],
        ..SubmissionOptions::default()
    };
    let second = submit(&mut site, after);
    let held = SubmissionOptions {
        held: true,
        ..SubmissionOptions::default()
    };
    let third = submit(&mut site, held);
    site.advance(55);
    assert_eq!(states(&site, first), ("running".to_owned(), Some(50)));
    assert_eq!(states(&site, second), ("dependent".to_owned(), None));
    assert_eq!(states(&site, third), ("held".to_owned(), None));
    site.advance(6);
    assert_eq!(states(&site, second), ("running".to_owned(), Some(60)));
    command(
        &mut site,
        ServiceCommand::Release {
            job: third,
            tasks: None,
        },
    );
    site.advance(30);
    assert_eq!(site.row(third).state, "finished");
    // Released before its begin, a job still waits for it.
    let (mut site, job) = submitted(SubmissionOptions {
        held: true,
        ..SubmissionOptions::default()
    });
    command(&mut site, ServiceCommand::Release { job, tasks: None });
    site.advance(49);
    assert_eq!(states(&site, job), ("dependent".to_owned(), None));
    site.advance(2);
    assert_eq!(states(&site, job), ("running".to_owned(), Some(50)));
}

#[test]
fn array_begins_whole_and_a_cancelled_job_never_does() {
    let (mut site, cancelled) = submitted(SubmissionOptions::default());
    let array = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: TaskRanges::new(1, 3),
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    };
    let array = submit(&mut site, array);
    command(
        &mut site,
        ServiceCommand::Cancel {
            job: cancelled,
            tasks: None,
        },
    );
    site.advance(49);
    assert_eq!(site.row(array).state, "dependent");
    site.advance(50);
    let counts = site.row(array).array.unwrap().counts;
    assert_eq!((counts.finished, counts.kept), (3, 3));
    assert_eq!(states(&site, cancelled), ("cancelled".to_owned(), None));
}

#[test]
fn quote_of_a_later_job_has_the_instant_of_its_decision() {
    let mut site = TestCluster::new("plan");
    let quoted = quote(&mut site, work(SubmissionOptions::default()));
    assert_eq!(quoted.admission, AdmissionState::Deferred);
    assert_eq!(quoted.begin, Some(BEGIN));
    // A job that can never run is rejected at once.
    let wide = Submission {
        procs: 3,
        ..work(SubmissionOptions::default())
    };
    let wide = quote(&mut site, wide);
    assert!(
        matches!(wide.admission, AdmissionState::Rejected(_)),
        "{wide:?}"
    );
}
