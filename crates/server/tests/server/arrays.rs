//! Arrays: one job number, many tasks, decisions as ranges.

use tollgate_model::Market;
use tollgate_policies::BUILTIN_POLICIES;
use tollgate_server::controller::{ControllerRequest, RequestError, SubmittedJob};
use tollgate_service::{
    AdmissionState, ArraySpec, ServiceCommand, Submission, SubmissionOptions, SubmitOutcome,
    TaskCounts, TaskRanges, UnfinishedCounts,
};

use crate::common::{TestCluster, submission};

fn array(tasks: &str, max: Option<u32>) -> SubmissionOptions {
    let tasks = tasks.parse().unwrap();
    SubmissionOptions {
        array: Some(ArraySpec {
            tasks,
            max_at_once: max,
        }),
        ..SubmissionOptions::default()
    }
}

fn whenever(secs: i64, plan: SubmissionOptions) -> Submission {
    Submission {
        deadline: None,
        budget: None,
        options: plan,
        ..submission("work", secs)
    }
}

fn parts(answer: &SubmitOutcome) -> Vec<String> {
    let part = |part: &tollgate_service::TaskGroupOutcome| {
        let admission = match &part.admission {
            AdmissionState::Accepted { .. } => "accepted".to_owned(),
            AdmissionState::Queued => "queued".to_owned(),
            AdmissionState::Waitlisted { .. } => "waitlisted".to_owned(),
            AdmissionState::Unpromised(_) => "unpromised".to_owned(),
            AdmissionState::Deferred => "deferred".to_owned(),
            AdmissionState::Rejected(refusals) => {
                let keys: Vec<_> = refusals.iter().map(|refusal| refusal.key()).collect();
                format!("rejected {}", keys.join(","))
            }
        };
        format!("{} {admission}", part.tasks)
    };
    answer.groups.iter().map(part).collect()
}

fn tally(site: &mut TestCluster, job: u64) -> TaskCounts {
    site.controller().core().array(job).unwrap().counts()
}

fn act(site: &mut TestCluster, command: ServiceCommand) -> Result<(), RequestError> {
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command,
        reply,
    })
}

/// Runs until every task is finished, whatever its outcome.
fn drain(site: &mut TestCluster) {
    for _ in 0..1_000 {
        if site.controller().core().jobs().is_empty() {
            return;
        }
        site.advance(1);
    }
    panic!("these never end: {:?}", site.controller().core().jobs());
}

#[test]
fn tasks_with_a_deadline_are_admitted_or_rejected_in_ranges() {
    let mut site = TestCluster::new("libra");
    // Two nodes, 100 s to the deadline, 30 s per task: three tasks fit on each node.
    let template = Submission {
        options: array("1-100", None),
        ..submission("work", 30)
    };
    let verdict = site.submit_job(template, &["work", "30"]).unwrap();
    assert_eq!(
        parts(&verdict.answer),
        ["1-6 accepted", "7-100 rejected insufficient_share"]
    );
    drain(&mut site);
    let row = site.row(verdict.job);
    let array = row.array.unwrap().counts;
    assert_eq!(
        (row.state.as_str(), array.finished, array.rejected),
        ("finished", 6, 94)
    );
    assert_eq!(row.status.as_deref(), Some("exit 0"));
}

#[test]
fn array_runs_to_its_end_under_every_policy() {
    for named in BUILTIN_POLICIES {
        for &market in named.markets {
            let mut site = TestCluster::in_market(named.name, market);
            let template = Submission {
                budget: (market != Market::None).then_some(submission("work", 1).budget.unwrap()),
                ..whenever(1, array("1-80", None))
            };
            let verdict = site.submit_job(template, &["work", "1"]).unwrap();
            let alive = site.controller().core().tasks().count();
            assert!(alive <= 20, "{} has {alive} tasks at once", named.name);
            drain(&mut site);
            site.controller().core().check_invariants().unwrap();
            let row = site.row(verdict.job);
            let array = row.array.unwrap().counts;
            let reported = array.finished + array.rejected;
            assert_eq!(reported, 80, "{} in market {market}", named.name);
            assert!(array.finished >= 16, "{} in market {market}", named.name);
        }
    }
}

#[test]
fn array_continues_after_a_restart() {
    let mut site = TestCluster::new("easy");
    let verdict = site.submit_job(whenever(10, array("0-19", None)), &["work", "10"]);
    let job = verdict.unwrap().job;
    site.advance(25);
    let before = tally(&mut site, job);
    assert_eq!((before.finished, before.running), (4, 2));
    site.restart();
    assert_eq!(tally(&mut site, job), before);
    drain(&mut site);
    assert_eq!(site.row(job).array.unwrap().counts.finished, 20);
    assert_eq!(site.row(job).attempts, 20);
}

#[test]
fn array_runs_at_most_the_requested_number_of_tasks_at_a_time() {
    for policy in ["easy", "libra-risk", "edf-bf"] {
        let mut site = TestCluster::new(policy);
        let template = Submission {
            options: array("1-9", Some(1)),
            ..submission("work", 5)
        };
        let job = site.submit_job(template, &["work", "5"]).unwrap().job;
        for _ in 0..30 {
            assert!(tally(&mut site, job).running <= 1, "{policy}");
            site.advance(1);
        }
        drain(&mut site);
        assert_eq!(site.row(job).array.unwrap().counts.finished, 9, "{policy}");
    }
}

#[test]
fn tasks_are_cancelled_held_and_released_in_ranges() {
    let mut site = TestCluster::new("easy");
    let submission = whenever(10, array("1-100", None));
    let job = site.submit_job(submission, &["work", "10"]).unwrap().job;
    let tasks = |words: &str| Some(words.parse::<TaskRanges>().unwrap());
    let cancel = |words| ServiceCommand::Cancel {
        job,
        tasks: tasks(words),
    };
    act(&mut site, cancel("50-80")).unwrap();
    assert_eq!(tally(&mut site, job).cancelled, 31);
    // Tasks 50 to 80 are cancelled already, and task 101 does not exist.
    assert!(act(&mut site, cancel("50-80,101")).is_err());
    act(&mut site, ServiceCommand::Hold { job, tasks: None }).unwrap();
    let held = tally(&mut site, job);
    assert_eq!((held.running, held.queued, held.held), (2, 0, 67));
    site.advance(100);
    assert_eq!(tally(&mut site, job).finished, 2);
    let release = ServiceCommand::Release {
        job,
        tasks: tasks("90-95"),
    };
    act(&mut site, release).unwrap();
    site.restart();
    site.advance(100);
    assert_eq!(tally(&mut site, job).finished, 8);
    let reader = site.reader();
    let state = |task| {
        reader.tasks(job, tasks(task).as_ref(), 1).unwrap().unwrap()[0]
            .state
            .clone()
    };
    assert_eq!(
        ["1", "60", "90", "96"].map(state),
        ["finished", "cancelled", "finished", "held"]
    );
    act(&mut site, ServiceCommand::Cancel { job, tasks: None }).unwrap();
    assert_eq!(site.row(job).state, "cancelled");
    assert_eq!(site.controller().core().unfinished().tasks, 0);
}

#[test]
fn array_beyond_the_limits_of_a_user_is_rejected() {
    let mut site = TestCluster::new("easy");
    site.controller().limit_unfinished(UnfinishedCounts {
        jobs: 3,
        tasks: 100,
    });
    let submit = |site: &mut TestCluster, tasks: &str| -> Result<SubmittedJob, RequestError> {
        site.submit_job(whenever(10, array(tasks, None)), &["work", "10"])
    };
    submit(&mut site, "1-90").unwrap();
    let refused = submit(&mut site, "1-11");
    assert_eq!(refused, Err(RequestError::TaskLimit(100)));
    submit(&mut site, "1-9").unwrap();
    let single = site.submit_job(whenever(10, SubmissionOptions::default()), &["work", "10"]);
    single.unwrap();
    // Two tasks of the first array ended, so there is room for tasks, but not for a job.
    site.advance(10);
    let counts = site.controller().core().unfinished();
    assert_eq!((counts.jobs, counts.tasks), (3, 98));
    let by_user: UnfinishedCounts = {
        let core = site.controller().core();
        core.unfinished_of_users().map(|(_, counts)| counts).sum()
    };
    assert_eq!(by_user, counts);
    assert_eq!(submit(&mut site, "1-1"), Err(RequestError::JobLimit(3)));
    act(
        &mut site,
        ServiceCommand::Cancel {
            job: 2,
            tasks: None,
        },
    )
    .unwrap();
    submit(&mut site, "1-11").unwrap();
    assert_eq!(site.controller().core().unfinished().tasks, 100);
}

#[test]
fn array_status_is_the_greatest_exit_code_of_its_tasks() {
    let mut site = TestCluster::new("easy");
    let job = site
        .submit_job(whenever(1, array("1-3", None)), &["sh", "-c", "exit 3"])
        .unwrap()
        .job;
    drain(&mut site);
    assert_eq!(
        site.state(job),
        ("finished".to_owned(), Some("exit 3".to_owned()))
    );
}

#[test]
fn cancelled_task_is_no_longer_shown_as_held() {
    let mut site = TestCluster::new("easy");
    let verdict = site.submit_job(whenever(10, array("1-6", None)), &["work", "10"]);
    let job = verdict.unwrap().job;
    let waiting = site.controller().core().tasks_of(job);
    let waiting = waiting.filter(|(_, live)| !live.has_nodes());
    let (first, _) = waiting.last().expect("a task waits in the gate");
    let tasks = Some(TaskRanges::new(first.task, first.task));
    let hold = ServiceCommand::Hold {
        job,
        tasks: tasks.clone(),
    };
    act(&mut site, hold).unwrap();
    let state = |site: &TestCluster| {
        let rows = site.reader().tasks(job, tasks.as_ref(), 1).unwrap();
        rows.unwrap()[0].state.clone()
    };
    assert_eq!(state(&site), "held");
    let cancel = ServiceCommand::Cancel {
        job,
        tasks: tasks.clone(),
    };
    act(&mut site, cancel).unwrap();
    assert_eq!(state(&site), "cancelled");
    drain(&mut site);
    assert_eq!(state(&site), "cancelled");
}
