//! The books have one entry for each job that ran or was rejected: a promise is entered when its deadline passes or
//! its job ends, whichever is first.

use tollgate_gate::OnEviction;
use tollgate_model::{AttemptId, BookEntry, BreakCause, Instant, Market, Span};
use tollgate_service::{
    AdmissionState, ArraySpec, ObjectiveSums, ServiceCommand, Submission, SubmissionOptions,
};
use tollgate_store::PromiseSums;

use crate::common::{TestCluster, submission};

fn sums(site: &TestCluster) -> ObjectiveSums {
    site.reader().objective_sums(None).unwrap()
}

/// Returns the numbers of admitted jobs, and of kept, broken and void promises.
fn counts(site: &TestCluster) -> [u64; 4] {
    let books = sums(site).books;
    [books.accepted(), books.kept(), books.broken(), books.void()]
}

/// Returns the sums of all bins of the calibration: promises, kept ones, void ones.
fn calibration(site: &TestCluster) -> [u64; 3] {
    let bins = site.reader().calibration(None).unwrap();
    let sum = |of: fn(&PromiseSums) -> u64| bins.iter().map(|(_, bin)| of(bin)).sum();
    [
        sum(|bin| bin.promises),
        sum(|bin| bin.kept),
        sum(|bin| bin.void),
    ]
}

fn cancel(site: &mut TestCluster, job: u64) {
    let user = rustix::process::geteuid().as_raw();
    site.request(
        |reply| tollgate_server::controller::ControllerRequest::Command {
            user: Some(user),
            command: ServiceCommand::Cancel { job, tasks: None },
            reply,
        },
    )
    .unwrap();
}

#[test]
fn failed_jobs_are_void_and_raise_no_objective() {
    let mut site = TestCluster::new("libra-risk");
    for _ in 0..6 {
        site.submit(&["sh", "-c", "exit 1"], 90).unwrap();
        site.advance(2);
    }
    assert_eq!(counts(&site), [6, 0, 0, 6]);
    assert_eq!(sums(&site).books.submitted(), 6, "they lower the SLA");
    assert_eq!(calibration(&site), [0, 0, 6], "a failure teaches nothing");
    assert_eq!(site.entry(1), Some("void"));
    site.submit(&["true"], 10).unwrap();
    site.advance(2);
    assert_eq!(counts(&site), [7, 1, 0, 6]);
    assert_eq!(site.entry(7), Some("kept"));
}

#[test]
fn late_job_is_broken_when_its_deadline_passes() {
    for policy in ["libra", "edf-bf"] {
        let mut site = TestCluster::new(policy);
        site.submit(&["work", "150"], 50).unwrap();
        site.wait_until(100);
        assert_eq!(counts(&site), [0; 4], "{policy}: in time so far");
        let wake = site.controller().next_wake().unwrap();
        assert!(
            wake <= Instant::from_secs(100) + Span::from_micros(1_001),
            "{policy}: {wake}"
        );
        site.wait_until(101);
        assert_eq!(site.state(1).0, "running", "{policy}");
        assert_eq!(site.entry(1), Some("broken_own_run"), "{policy}");
        assert_eq!(counts(&site), [1, 0, 1, 0], "{policy}");
        assert_eq!(calibration(&site), [1, 0, 0], "{policy}");
        // Neither a restart, nor the end, nor a cancellation counts it again.
        site.restart();
        site.wait_until(120);
        cancel(&mut site, 1);
        site.advance(20);
        assert_eq!(site.state(1).0, "cancelled", "{policy}");
        assert_eq!(counts(&site), [1, 0, 1, 0], "{policy}");
        assert_eq!(site.entry(1), Some("broken_own_run"), "{policy}");
    }
}

#[test]
fn late_job_is_charged_at_its_end() {
    let mut site = TestCluster::in_market("libra", Market::Commodity);
    site.submit(&["work", "150"], 50).unwrap();
    site.wait_until(101);
    assert_eq!(site.reader().ledger(None).unwrap(), []);
    site.advance(60);
    assert_eq!(site.state(1).0, "finished");
    let accounts = site.reader().ledger(None).unwrap();
    assert_eq!(accounts.len(), 1);
    assert_eq!(sums(&site).utility, accounts[0].charges);
}

#[test]
fn cancelled_job_is_void_once_admitted_and_not_submitted_before() {
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "50"], 50).unwrap();
    site.advance(5);
    cancel(&mut site, 1);
    site.advance(20);
    assert_eq!(site.entry(1), Some("void"));
    assert_eq!(counts(&site), [1, 0, 0, 1]);

    let mut site = TestCluster::new("edf-bf");
    for _ in 0..3 {
        site.submit(&["sleep", "50"], 50).unwrap();
    }
    // Two nodes: the third job waits and is not promised yet.
    cancel(&mut site, 3);
    site.advance(60);
    assert_eq!(site.entry(3), None);
    assert_eq!(sums(&site).books.submitted(), 2);
    assert_eq!(counts(&site), [2, 2, 0, 0]);
}

#[test]
fn lost_job_is_broken_and_requeued_job_is_judged_by_its_last_attempt() {
    let lose = |site: &mut TestCluster, job| {
        site.world.mark_lost(AttemptId {
            job,
            task: 0,
            attempt: 1,
        });
        site.advance(1);
    };
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "20"], 20).unwrap();
    let again = Submission {
        retry: OnEviction::Requeue,
        ..submission("again", 20)
    };
    site.submit_job(again, &["sleep", "20"]).unwrap();
    site.advance(3);
    lose(&mut site, 1);
    lose(&mut site, 2);
    assert_eq!(site.entry(1), Some("broken_site"));
    assert_eq!(site.entry(2), None);
    site.advance(60);
    assert_eq!(site.entry(2), Some("kept"));
    assert_eq!(counts(&site), [2, 1, 1, 0]);
}

#[test]
fn tasks_of_an_array_are_judged_one_by_one() {
    let mut site = TestCluster::new("libra");
    let array = Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: "1-4".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        budget: None,
        ..submission("array", 40)
    };
    site.submit_job(array, &["work", "60"]).unwrap();
    // Two tasks a node: both run at half speed and end after 120 s.
    site.wait_until(101);
    let stored = |site: &TestCluster| site.row(1).array.unwrap().counts;
    let array = stored(&site);
    assert_eq!((array.running, array.broken), (4, 4));
    assert_eq!(counts(&site), [4, 0, 4, 0]);
    let tasks = site.reader().tasks(1, None, 10).unwrap().unwrap();
    for task in tasks {
        assert_eq!(task.entry, Some(BookEntry::Broken(BreakCause::OwnRun)));
    }
    site.advance(60);
    let array = stored(&site);
    assert_eq!(
        (array.finished, array.kept, array.broken, array.void),
        (4, 0, 4, 0)
    );
    assert_eq!(counts(&site), [4, 0, 4, 0]);
}

#[test]
fn promised_job_cancelled_before_its_start_is_in_no_book() {
    let mut site = TestCluster::new("plan");
    for _ in 0..2 {
        site.submit(&["work", "40"], 50).unwrap();
    }
    let waiting = due_in(50, 1_000);
    let waiting = site.submit_job(waiting, &["work", "40"]).unwrap();
    assert!(matches!(
        waiting.answer.admission,
        AdmissionState::Accepted { .. }
    ));
    cancel(&mut site, waiting.job);
    site.advance(60);
    assert_eq!(site.entry(waiting.job), None);
    let books = sums(&site).books;
    assert_eq!((books.submitted(), books.kept()), (2, 2));
    assert_eq!(books.sla_pct(), Some(100.0));
    assert_eq!(calibration(&site), [2, 2, 0]);
}

#[test]
fn jobs_without_a_deadline_keep_no_promise() {
    let mut site = TestCluster::new("plan");
    let undated = Submission {
        deadline: None,
        budget: None,
        ..submission("undated", 10)
    };
    site.submit_job(undated, &["true"]).unwrap();
    site.submit(&["true"], 10).unwrap();
    site.advance(5);
    assert_eq!(site.entry(1), Some("no_deadline"));
    let books = sums(&site).books;
    assert_eq!(
        (books.submitted(), books.no_deadline(), books.kept()),
        (2, 1, 1)
    );
    assert_eq!(books.sla_pct(), Some(100.0));
}

#[test]
fn promise_that_others_delay_is_broken_by_them() {
    let mut site = TestCluster::new("plan");
    // The first two hold both nodes until after the deadline of all three.
    for _ in 0..2 {
        site.submit(&["work", "200"], 20).unwrap();
    }
    let third = due_in(20, 100);
    let third = site.submit_job(third, &["work", "20"]).unwrap().job;
    site.advance(300);
    assert_eq!(site.entry(1), Some("broken_own_run"));
    assert_eq!(site.entry(third), Some("broken_others"));
}

#[test]
fn calibration_has_the_number_of_known_batches() {
    let mut site = TestCluster::new("plan");
    for _ in 0..5 {
        site.submit(&["work", "5"], 20).unwrap();
        // Jobs of one program are one batch for two hours.
        site.advance(3 * 3600);
    }
    let known = site.reader().calibration_by_batches(None).unwrap();
    let promises = known
        .iter()
        .map(|(batches, sums)| (*batches, sums.promises));
    assert_eq!(
        promises.collect::<Vec<_>>(),
        [(0, 1), (1, 1), (2, 1), (3, 2)]
    );
}

/// A job that takes this long and is due this long after its submission, in seconds.
fn due_in(estimate_s: i64, deadline_s: i64) -> Submission {
    Submission {
        deadline: Some(Span::from_secs(deadline_s)),
        budget: None,
        ..submission("due", estimate_s)
    }
}
