//! Failed tasks that are tried again, as their users want it.

use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{LaunchSpec, SimHost};
use tollgate_model::{AttemptStatus, Credits, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{
    ArraySpec, DependencyCondition, JobDependency, ServiceCommand, Submission, SubmissionOptions,
    TaskRanges,
};

use crate::common::{TestCluster, submission};

/// Runs `flaky CODE..`: each attempt takes 5 s, and exits with the next of the codes.
fn flaky(launch: &LaunchSpec) -> SimProgram {
    let words = launch.argv.iter().map(|word| word.to_string_lossy());
    let codes: Vec<u8> = words.skip(1).filter_map(|code| code.parse().ok()).collect();
    match launch.argv[0].to_str() {
        Some("flaky") => SimProgram {
            status: AttemptStatus::Exited(codes[launch.attempt.attempt as usize - 1]),
            ..SimProgram::busy(Span::from_secs(5))
        },
        _ => SimProgram::of_command(launch),
    }
}

fn cluster(policy: &str) -> TestCluster {
    let mut site = TestCluster::new(policy);
    site.world = SimHost::new(2, 1 << 30, flaky);
    site.restart();
    site
}

/// A job of 10 s with a deadline of 100 s.
fn tried(retries: &str, options: SubmissionOptions) -> Submission {
    Submission {
        options: SubmissionOptions {
            retries: Some(retries.parse().unwrap()),
            ..options
        },
        ..submission("flaky", 10)
    }
}

fn submit(site: &mut TestCluster, retries: &str, words: &[&str]) -> u64 {
    let submission = tried(retries, SubmissionOptions::default());
    site.submit_job(submission, words).unwrap().job
}

/// Returns the state of a job, its number of attempts, the last status and the ending of its promise.
fn end(site: &TestCluster, job: u64) -> (String, u32, String, Option<String>) {
    let row = site.row(job);
    (
        row.state,
        row.attempts,
        row.status.unwrap_or_default(),
        row.entry.map(|entry| entry.key().to_owned()),
    )
}

fn ended(
    state: &str,
    attempts: u32,
    status: &str,
    promise: &str,
) -> (String, u32, String, Option<String>) {
    (
        state.to_owned(),
        attempts,
        status.to_owned(),
        Some(promise.to_owned()),
    )
}

#[test]
fn failed_try_leaves_the_promise_open_and_only_the_last_decides() {
    for policy in ["plan", "easy", "libra", "edf"] {
        let mut site = cluster(policy);
        let job = submit(&mut site, "3", &["flaky", "75", "1", "0", "9"]);
        let after = SubmissionOptions {
            dependencies: vec![JobDependency {
                job,
                condition: DependencyCondition::Success,
            }],
            ..SubmissionOptions::default()
        };
        let next = Submission {
            options: after,
            ..submission("work", 5)
        };
        let next = site.submit_job(next, &["work", "5"]).unwrap().job;
        site.advance(7);
        let (state, attempts, _, promise) = end(&site, job);
        assert_eq!(
            (state.as_str(), attempts, promise),
            ("running", 2, None),
            "{policy}"
        );
        assert_eq!(site.row(next).state, "dependent", "{policy}");
        site.restart();
        site.advance(10);
        assert_eq!(
            end(&site, job),
            ended("finished", 3, "exit 0", "kept"),
            "{policy}"
        );
        // The job is charged once.
        let charges: Credits = site
            .reader()
            .ledger(None)
            .unwrap()
            .iter()
            .map(|day| day.charges)
            .sum();
        assert_eq!(Some(charges), site.row(job).price, "{policy}");
        site.advance(10);
        assert_eq!(site.row(next).state, "finished", "{policy}");
    }
}

#[test]
fn last_try_may_fail_and_other_ends_than_the_named_ones_are_final() {
    let mut site = cluster("plan");
    let job = submit(&mut site, "1", &["flaky", "3", "4", "0"]);
    site.advance(20);
    assert_eq!(end(&site, job), ended("finished", 2, "exit 4", "void"));
    let job = submit(&mut site, "9:75", &["flaky", "75", "1", "0"]);
    site.advance(20);
    assert_eq!(end(&site, job), ended("finished", 2, "exit 1", "void"));
    for (retries, attempts) in [("2", 1), ("2:124", 1), ("2:timed_out", 3)] {
        let limited = SubmissionOptions {
            time_limit: Some(Span::from_secs(10)),
            ..SubmissionOptions::default()
        };
        let job = site
            .submit_job(tried(retries, limited), &["work", "60"])
            .unwrap()
            .job;
        site.advance(60);
        let (state, n_attempts, _, promise) = end(&site, job);
        assert_eq!(
            (state.as_str(), n_attempts),
            ("timed_out", attempts),
            "{retries}"
        );
        assert_eq!(promise.as_deref(), Some("void"), "{retries}");
    }
}

#[test]
fn deadline_breaks_the_promise_between_tries_and_the_job_goes_on() {
    let mut site = cluster("plan");
    let short = Submission {
        deadline: Some(Span::from_secs(12)),
        ..tried("3", SubmissionOptions::default())
    };
    let job = site
        .submit_job(short, &["flaky", "1", "1", "0"])
        .unwrap()
        .job;
    site.advance(14);
    assert_eq!(site.entry(job), Some("broken_own_run"));
    site.advance(6);
    assert_eq!(
        end(&site, job),
        ended("finished", 3, "exit 0", "broken_own_run")
    );
}

#[test]
fn cancelled_try_is_the_last() {
    let mut site = cluster("plan");
    let job = submit(&mut site, "9", &["flaky", "1", "1", "1"]);
    site.advance(7);
    let command = ServiceCommand::Cancel { job, tasks: None };
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
    site.advance(10);
    let (state, attempts, ..) = end(&site, job);
    assert_eq!((state.as_str(), attempts), ("cancelled", 2));
}

#[test]
fn each_task_of_an_array_has_its_own_tries() {
    for (policy, max_at_once) in [
        ("plan", None),
        ("plan", Some(1)),
        ("easy", None),
        ("libra", None),
    ] {
        let mut site = cluster(policy);
        let array = SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, 4),
                max_at_once,
            }),
            ..SubmissionOptions::default()
        };
        let job = site
            .submit_job(tried("2", array), &["flaky", "1", "0", "9"])
            .unwrap()
            .job;
        site.advance(7);
        site.restart();
        site.advance(90);
        let row = site.row(job);
        let counts = row.array.unwrap().counts;
        assert_eq!(
            (counts.finished, counts.attempts),
            (4, 8),
            "{policy} {max_at_once:?}"
        );
        assert_eq!(counts.kept + counts.broken, 4, "{policy} {max_at_once:?}");
        assert_eq!(counts.max_exit_code, Some(0), "{policy} {max_at_once:?}");
        let tasks = site.reader().tasks(job, None, 9).unwrap().unwrap();
        let attempts: Vec<u32> = tasks.iter().map(|task| task.attempts).collect();
        assert_eq!(attempts, [2; 4], "{policy} {max_at_once:?}");
    }
}
