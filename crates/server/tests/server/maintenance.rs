//! Maintenance: no job runs in a window, and promises are made around it.

use tollgate_model::{Instant, MaintenanceCalendar, MaintenanceWindow, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{AdmissionState, Submission, SubmissionOptions};

use crate::common::{TestCluster, submission};

/// Returns a service that is maintained from 60 s to 100 s.
fn site() -> TestCluster {
    let mut site = TestCluster::new("plan");
    let window = MaintenanceWindow {
        from: Instant::from_secs(60),
        until: Instant::from_secs(100),
    };
    let calendar = MaintenanceCalendar::new(vec![window]);
    site.tick(vec![ControllerRequest::Maintain { calendar }]);
    site
}

/// A job that is ended after `limit_s`, due in `due_s`.
fn limited(limit_s: i64, due_s: Option<i64>) -> Submission {
    Submission {
        estimate: None,
        budget: None,
        deadline: due_s.map(Span::from_secs),
        options: SubmissionOptions {
            time_limit: Some(Span::from_secs(limit_s)),
            ..SubmissionOptions::default()
        },
        ..submission("work", 1)
    }
}

#[test]
fn promises_are_made_around_a_window() {
    let mut site = site();
    let is_accepted = |site: &mut TestCluster, limit_s, due_s| {
        let answer = site.quote(limited(limit_s, Some(due_s)));
        matches!(answer.admission, AdmissionState::Accepted { .. })
    };
    assert!(
        is_accepted(&mut site, 60, 60),
        "it ends as the window begins"
    );
    // Much longer than the time before the window, also by what is forecast of such a limit.
    for (due_s, expected) in [(99, false), (150, false), (1_100, true)] {
        assert_eq!(is_accepted(&mut site, 1_000, due_s), expected, "{due_s}");
    }
    let answer = site.quote(limited(1_000, Some(1_200)));
    assert!(answer.prediction.unwrap().start >= Instant::from_secs(100));
}

#[test]
fn no_job_runs_in_a_window_and_those_that_wait_start_after_it() {
    let mut site = site();
    let words = |secs: i64| secs.to_string();
    let short = site
        .submit_job(limited(50, None), &["sleep", &words(50)])
        .unwrap()
        .job;
    let long = site
        .submit_job(limited(700, None), &["sleep", &words(30)])
        .unwrap()
        .job;
    let due = site
        .submit_job(limited(700, Some(3_000)), &["sleep", &words(30)])
        .unwrap()
        .job;
    let start = |site: &TestCluster, job| site.row(job).start;
    site.advance(20);
    site.restart();
    site.advance(79);
    assert_eq!(site.state(short).0, "finished");
    assert_eq!((start(&site, long), start(&site, due)), (None, None));
    site.controller().core().check_invariants().unwrap();
    site.advance(2);
    let opened = Some(Instant::from_secs(100));
    assert_eq!((start(&site, long), start(&site, due)), (opened, opened));
    site.advance(60);
    assert_eq!(site.entry(due), Some("kept"));
}

#[test]
fn jobs_that_end_before_a_window_start_before_it() {
    let mut site = site();
    // The first job keeps both nodes until the window; a later one fits beside nothing but before it.
    let wide = Submission {
        procs: 2,
        ..limited(700, None)
    };
    let wide = site.submit_job(wide, &["sleep", "10"]).unwrap().job;
    let small = site
        .submit_job(limited(20, None), &["sleep", "20"])
        .unwrap()
        .job;
    site.advance(1);
    assert_eq!(site.state(small).0, "running");
    assert_eq!(site.state(wide).0, "queued");
    site.advance(130);
    assert_eq!(site.state(wide).0, "finished");
}
