//! Jobs that depend on other jobs, and held jobs.

use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{
    AdmissionState, ArraySpec, DependencyCondition, JobDependency, ServiceCommand, Submission,
    SubmissionOptions, TaskRanges,
};

use crate::common::{TestCluster, submission};

fn after(jobs: &[u64], need: DependencyCondition) -> SubmissionOptions {
    let after = jobs.iter().map(|&job| JobDependency {
        job,
        condition: need,
    });
    SubmissionOptions {
        dependencies: after.collect(),
        ..SubmissionOptions::default()
    }
}

fn work(plan: SubmissionOptions) -> Submission {
    Submission {
        options: plan,
        ..submission("work", 10)
    }
}

fn act(site: &mut TestCluster, command: ServiceCommand) -> Result<(), RequestError> {
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command,
        reply,
    })
}

fn state(site: &TestCluster, job: u64) -> String {
    site.row(job).state
}

#[test]
fn job_starts_after_all_its_dependencies_succeed() {
    let mut site = TestCluster::new("easy");
    let first = site.submit(&["work", "10"], 10).unwrap().job;
    let second = site.submit(&["work", "20"], 20).unwrap().job;
    let plan = after(&[first, second], DependencyCondition::Success);
    let third = site.submit_job(work(plan), &["work", "10"]).unwrap();
    assert_eq!(third.answer.admission, AdmissionState::Deferred);
    assert_eq!(state(&site, third.job), "dependent");
    assert_eq!(site.row(third.job).after, [first, second]);
    site.advance(15);
    site.restart();
    assert_eq!(state(&site, first), "finished");
    assert_eq!(state(&site, third.job), "dependent");
    site.advance(10);
    assert_eq!(state(&site, third.job), "running");
    // The deadline counts from the submission.
    assert_eq!(
        site.row(third.job)
            .due
            .unwrap()
            .since(site.row(third.job).submit)
            .as_secs_f64(),
        100.0
    );
    site.advance(15);
    assert_eq!(state(&site, third.job), "finished");
}

#[test]
fn dependent_job_is_decided_once_it_is_released() {
    let mut site = TestCluster::new("libra");
    let first = site.submit(&["work", "90"], 90).unwrap().job;
    let longer = Submission {
        options: after(&[first], DependencyCondition::Success),
        ..submission("work", 20)
    };
    // The job would have been admitted at once, but the 100 s are too short in the end.
    let second = site.submit_job(longer, &["work", "20"]);
    let second = second.unwrap().job;
    site.advance(101);
    assert_eq!(state(&site, second), "rejected");
}

#[test]
fn job_after_a_failure_runs_only_after_one() {
    let mut site = TestCluster::new("fcfs");
    let failing = site.submit(&["sh", "-c", "exit 3"], 10).unwrap().job;
    let well = site.submit(&["work", "5"], 10).unwrap().job;
    let after_failure = |job| work(after(&[job], DependencyCondition::Failure));
    let runs = site
        .submit_job(after_failure(failing), &["work", "1"])
        .unwrap()
        .job;
    let vain = site
        .submit_job(after_failure(well), &["work", "1"])
        .unwrap()
        .job;
    site.restart();
    site.advance(10);
    assert_eq!(state(&site, runs), "finished");
    assert_eq!(state(&site, vain), "cancelled");
    assert_eq!(site.row(vain).reasons, [format!("after:{well}")]);
    let late = site.submit_job(after_failure(well), &["work", "1"]);
    assert_eq!(late, Err(RequestError::DependencySucceeded(well)));
    let late = site
        .submit_job(after_failure(failing), &["work", "1"])
        .unwrap()
        .job;
    assert_eq!(state(&site, late), "running");
}

#[test]
fn failed_dependency_cancels_the_job_unless_any_end_suffices() {
    let mut site = TestCluster::new("libra-risk");
    let held = work(SubmissionOptions {
        held: true,
        ..SubmissionOptions::default()
    });
    let failing = site.submit_job(held, &["sh", "-c", "exit 3"]).unwrap();
    let vain = site.submit_job(
        work(after(&[failing.job], DependencyCondition::Success)),
        &["work", "1"],
    );
    let vain = vain.unwrap().job;
    let chain = site.submit_job(
        work(after(&[vain], DependencyCondition::Success)),
        &["work", "1"],
    );
    let chain = chain.unwrap().job;
    let anyhow = site.submit_job(
        work(after(&[failing.job, chain], DependencyCondition::AnyEnd)),
        &["work", "1"],
    );
    let anyhow = anyhow.unwrap().job;
    let release = ServiceCommand::Release {
        job: failing.job,
        tasks: None,
    };
    act(&mut site, release).unwrap();
    site.advance(2);
    for (job, by) in [(vain, failing.job), (chain, vain)] {
        assert_eq!(state(&site, job), "cancelled");
        assert_eq!(site.row(job).reasons, [format!("after:{by}")]);
    }
    assert_eq!(state(&site, anyhow), "finished");
    // A finished job satisfies the dependency on its end; a failed one makes the dependency on
    // success vain.
    let late = site.submit_job(
        work(after(&[failing.job], DependencyCondition::Success)),
        &["work", "1"],
    );
    assert_eq!(late, Err(RequestError::DependencyFailed(failing.job)));
    let late = site.submit_job(
        work(after(&[failing.job], DependencyCondition::AnyEnd)),
        &["work", "1"],
    );
    assert!(matches!(
        late.unwrap().answer.admission,
        AdmissionState::Accepted { .. }
    ));
}

#[test]
fn dependency_on_a_job_of_another_user_is_rejected() {
    let mut site = TestCluster::new("libra-risk");
    let own = site.submit(&["work", "10"], 10).unwrap().job;
    let other = Submission {
        user: submission("work", 1).user + 1,
        ..work(after(&[own], DependencyCondition::AnyEnd))
    };
    let foreign = site.submit_job(other.clone(), &["work", "1"]);
    assert_eq!(foreign, Err(RequestError::UnknownDependency(own)));
    let unknown = Submission {
        options: after(&[99], DependencyCondition::AnyEnd),
        ..other
    };
    let unknown = site.submit_job(unknown, &["work", "1"]);
    assert_eq!(unknown, Err(RequestError::UnknownDependency(99)));
}

#[test]
fn dependency_on_an_array_waits_for_all_its_tasks() {
    let mut site = TestCluster::new("easy");
    let tasks = TaskRanges::new(1, 3);
    let array = work(SubmissionOptions {
        array: Some(ArraySpec {
            tasks,
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    });
    let array = site.submit_job(array, &["work", "10"]).unwrap().job;
    let next = site.submit_job(
        work(after(&[array], DependencyCondition::Success)),
        &["work", "10"],
    );
    let next = next.unwrap().job;
    site.advance(12);
    assert_eq!(state(&site, next), "dependent");
    site.advance(9);
    assert_eq!(
        (state(&site, array), state(&site, next)),
        ("finished".into(), "running".into())
    );
}

#[test]
fn held_job_is_not_decided_before_its_release() {
    let mut site = TestCluster::new("libra-risk");
    let held = || {
        work(SubmissionOptions {
            held: true,
            ..SubmissionOptions::default()
        })
    };
    let job = site.submit_job(held(), &["work", "1"]).unwrap().job;
    let other = site.submit_job(held(), &["work", "1"]).unwrap().job;
    site.advance(10);
    site.restart();
    assert_eq!(state(&site, job), "held");
    let release = || ServiceCommand::Release { job, tasks: None };
    act(&mut site, release()).unwrap();
    assert_eq!(state(&site, job), "running");
    assert!(act(&mut site, release()).is_err());
    let cancel = ServiceCommand::Cancel {
        job: other,
        tasks: None,
    };
    act(&mut site, cancel).unwrap();
    assert_eq!(state(&site, other), "cancelled");
    assert!(!site.controller().core().jobs().contains_key(&other));
}
