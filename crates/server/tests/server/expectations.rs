//! The expectations of all jobs from one look ahead, in lists.

use tollgate_client::ApiClient;
use tollgate_client::types::{JobExplanation, JobList, JobRequest, SubmitResponse};
use tollgate_model::{Market, Span, TaskId};
use tollgate_service::{ArraySpec, JobPrediction, ServiceCommand, Submission, SubmissionOptions};

use crate::common::core_driver::CoreDriver;
use crate::common::test_service::TestService;
use crate::common::{rules, submission};

/// Returns a core with jobs of several users that run and wait, every second one with a deadline.
fn busy(policy: &str) -> CoreDriver {
    let mut driver = CoreDriver::new(&rules(policy, Market::None));
    for n in 0..16_i64 {
        let job = Submission {
            user: 1_000 + (n % 3) as u32,
            procs: 1 + (n % 2) as u32,
            budget: None,
            deadline: (n % 2 == 0).then(|| Span::from_secs(2_000 + 100 * n)),
            ..submission(&format!("job{}", n % 5), 60 + 10 * n)
        };
        driver.submit(n as u64 + 1, job, 50 + 10 * n);
        driver.wait(3);
    }
    driver
}

/// Returns the unfinished jobs, each with what is expected of it among all and by itself.
fn both(driver: &CoreDriver) -> Vec<(u64, Option<JobPrediction>, Option<JobPrediction>)> {
    let core = &driver.core;
    let jobs: Vec<(u64, Option<u32>)> = core.jobs().keys().map(|&job| (job, None)).collect();
    let all = core.predict_all(driver.now, &jobs);
    let alone = jobs.iter().map(|&(job, _)| core.predict(driver.now, job));
    let numbers = jobs.iter().map(|&(job, _)| job);
    numbers
        .zip(all)
        .zip(alone)
        .map(|((job, all), alone)| (job, all, alone))
        .collect()
}

#[test]
fn jobs_with_their_nodes_to_themselves_are_expected_as_each_is_alone() {
    for policy in ["fcfs", "easy", "conservative", "edf-bf"] {
        let driver = busy(policy);
        let found = both(&driver);
        assert!(found.len() > 8, "{policy}: {found:?}");
        for (job, all, alone) in found {
            assert!(all.is_some(), "{policy}: job {job}");
            assert_eq!(all, alone, "{policy}: job {job}");
        }
    }
}

#[test]
fn promised_and_running_jobs_of_plan_are_expected_as_each_is_alone() {
    let driver = busy("plan");
    let mut n_promised = 0;
    for (job, all, alone) in both(&driver) {
        let live = driver.core.job(job).unwrap();
        let is_promised = live.spec.due().is_some() && !live.is_unpromised();
        match is_promised || live.has_nodes() {
            true => assert_eq!(all, alone, "job {job}"),
            false => {
                let [all, alone] = [all, alone].map(|found| found.expect("it starts"));
                let apart = all.finish.since(alone.finish).as_secs_f64().abs();
                assert!(apart < 120.0, "job {job}: {all:?} and {alone:?}");
            }
        }
        n_promised += usize::from(is_promised);
    }
    assert!(n_promised > 4, "{n_promised}");
}

#[test]
fn expectations_of_jobs_that_share_nodes_are_near_those_of_each_alone() {
    let driver = busy("libra");
    let found = both(&driver);
    assert!(!found.is_empty());
    for (job, all, alone) in found {
        let [all, alone] = [all, alone].map(|found| found.expect("it runs"));
        assert_eq!(all.start, alone.start, "job {job}");
        let apart = all.finish.since(alone.finish).as_secs_f64().abs();
        let left = alone.finish.since(driver.now).as_secs_f64();
        assert!(apart <= 0.5 * left, "job {job}: {all:?} and {alone:?}");
    }
}

#[test]
fn arrays_and_tasks_are_expected_and_held_jobs_are_not() {
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    let array = Submission {
        budget: None,
        deadline: Some(Span::from_secs(3_000)),
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: "1-9".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("sim", 100)
    };
    driver.submit(1, array, 60);
    driver.submit(2, submission("next", 10), 10);
    let core = &driver.core;
    let named = [(1, None), (1, Some(1)), (1, Some(9)), (2, None), (99, None)];
    let found = core.predict_all(driver.now, &named);
    let [Some(whole), Some(first), Some(last), Some(_), None] = found[..] else {
        panic!("{found:?}");
    };
    let outlook = core.array_outlook(driver.now, 1).unwrap();
    assert_eq!(whole.start, outlook.prediction.unwrap().start);
    assert!(whole.probability.is_some());
    assert_eq!(
        Some(first),
        core.predict(driver.now, TaskId { job: 1, task: 1 })
    );
    assert_eq!(
        Some(last),
        core.predict(driver.now, TaskId { job: 1, task: 9 })
    );
    let hold = ServiceCommand::Hold {
        job: 2,
        tasks: None,
    };
    driver.step(&[hold]);
    let found = driver.core.predict_all(driver.now, &[(2, None)]);
    assert_eq!(found, [None]);
}

fn submit(client: &mut ApiClient, procs: u32, deadline_s: Option<f64>) -> u64 {
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        dir: "/".to_owned(),
        procs,
        deadline_s,
        estimate_s: Some(60.0),
        ..JobRequest::default()
    };
    let answer: SubmitResponse = client.post("/v1/jobs", &request).unwrap();
    answer.id.unwrap()
}

#[test]
fn expectations_of_a_list_are_those_of_explain() {
    for policy in ["fcfs", "plan"] {
        let service = TestService::with_policy(policy);
        let mut client = ApiClient::connect(&service.socket()).unwrap();
        let running = submit(&mut client, 1, None);
        let wide = submit(&mut client, 2, Some(600.0));
        let plain: JobList = client.get("/v1/jobs?live=true").unwrap();
        assert!(plain.jobs.iter().all(|job| job.expected.is_none()));
        let list: JobList = client.get("/v1/jobs?live=true&expect=true").unwrap();
        assert_eq!(list.jobs.len(), 2);
        for job in &list.jobs {
            let path = format!("/v1/jobs/{}/explain", job.id);
            let explained: JobExplanation = client.get(&path).unwrap();
            assert_eq!(job.expected, explained.expected, "{policy}: {}", job.id);
            assert!(job.expected.is_some(), "{policy}: {}", job.id);
        }
        let of = |id| list.jobs.iter().find(|job| job.id == id).unwrap();
        assert!(of(running).waits_for.is_none());
        let wait = of(wide).waits_for.as_ref().unwrap();
        let expected = ("resources", "it needs 2 nodes at once, and 1 is idle");
        assert_eq!((wait.key.key(), &*wait.text), expected, "{policy}");
        let chance = of(wide).expected.as_ref().unwrap().probability;
        assert!(
            chance.is_some_and(|chance| chance > 0.5),
            "{policy}: {chance:?}"
        );
        let tasks: JobList = client
            .get(&format!("/v1/jobs/{wide}/tasks?expect=true"))
            .unwrap();
        assert_eq!(tasks.jobs[0].expected, of(wide).expected);
    }
}
