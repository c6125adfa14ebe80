//! Jobs whose run time cannot be predicted: recognised at their submission, treated as the site wants, and explained.

use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, Market, NodeId, Otherwise, Span};
use tollgate_service::{
    AdmissionRules, AdmissionState, EngineAction, HostOffer, JobChange, RejectReason,
    ServiceCommand, Submission, SubmissionOptions, SubmitOutcome, UnpredictableAction,
    UnpredictableRule, UnpredictableTerms,
};

use crate::common::core_driver::{CoreDriver, first_start};
use crate::common::{TestCluster, rules, submission};

const HOUR: i64 = 3600;

fn terms(action: UnpredictableAction) -> UnpredictableTerms {
    let is_dedicated = action == UnpredictableAction::Dedicated;
    UnpredictableTerms {
        rule: UnpredictableRule {
            action,
            ..UnpredictableRule::default()
        },
        hosts: is_dedicated
            .then(|| "aside".to_owned())
            .into_iter()
            .collect(),
    }
}

fn rules_with(action: UnpredictableAction) -> AdmissionRules {
    AdmissionRules {
        unpredictable: terms(action),
        ..rules("plan", Market::None)
    }
}

/// A job without an estimate, due in five days.
fn job(name: &str) -> Submission {
    Submission {
        estimate: None,
        budget: None,
        deadline: Some(Span::from_secs(120 * HOUR)),
        ..submission(name, 1)
    }
}

/// Returns a site on which jobs called `wild` took a few seconds or many hours, and jobs called `tame` ten minutes each.
fn experienced(action: UnpredictableAction) -> TestCluster {
    let mut site = TestCluster::in_market("plan", Market::None);
    let mut now = 0;
    for round in 0..8 {
        for (name, run_s) in [("wild", [2, 20 * HOUR][round % 2]), ("tame", 600)] {
            let run = run_s.to_string();
            site.submit_job(job(name), &["sleep", &run]).unwrap();
            now += run_s + 10 * HOUR;
            site.wait_until(now);
        }
    }
    site.rules.unpredictable = terms(action);
    site.restart();
    site
}

fn found(answer: &SubmitOutcome) -> Option<UnpredictableAction> {
    answer.unpredictable.map(|found| found.action)
}

#[test]
fn class_with_run_times_far_apart_is_recognised_and_no_other() {
    let mut site = experienced(UnpredictableAction::None);
    let wild = site.quote(job("wild"));
    let found = wild.unpredictable.unwrap();
    assert!(found.low <= Span::from_secs(60), "{found:?}");
    assert!(found.high >= Span::from_secs(10 * HOUR), "{found:?}");
    assert_eq!(site.quote(job("tame")).unpredictable, None);
    assert_eq!(site.quote(job("new")).unpredictable, None);
    // Without a treatment it is like any other.
    assert!(matches!(wild.admission, AdmissionState::Accepted { .. }));
    assert_eq!(wild.time_limit, None);
}

#[test]
fn limit_of_the_site_ends_the_job_and_is_kept_for_it_when_it_is_changed() {
    let limit = Span::from_secs(4 * HOUR);
    let mut site = experienced(UnpredictableAction::Limit(limit));
    let answer = site.submit_job(job("wild"), &["sleep", "50000"]).unwrap();
    assert_eq!(answer.answer.time_limit, Some(limit));
    // The limit of the site is no request of the user.
    assert_eq!(answer.answer.source.key(), "class");
    let latest = answer.answer.prediction.unwrap().latest;
    let began = answer.answer.spec.submit;
    assert!(latest <= began + limit, "{latest:?}");
    // A shorter limit of the user's own holds.
    let own = Submission {
        options: SubmissionOptions {
            time_limit: Some(Span::from_secs(HOUR)),
            ..SubmissionOptions::default()
        },
        ..job("wild")
    };
    assert_eq!(site.quote(own).time_limit, Some(Span::from_secs(HOUR)));
    assert_eq!(site.quote(job("tame")).time_limit, None);

    let row = site.row(answer.job);
    let stored = row.program.unwrap().unpredictable.unwrap();
    assert_eq!(stored.action, UnpredictableAction::Limit(limit));
    let began_s = began.since(tollgate_model::Instant::ZERO).as_secs_f64() as i64;
    site.wait_until(began_s + 4 * HOUR - 1);
    assert_eq!(site.state(answer.job).0, "running");
    site.wait_until(began_s + 4 * HOUR + 1);
    assert_eq!(site.state(answer.job).0, "timed_out");
    assert_eq!(site.entry(answer.job), Some("void"));
}

#[test]
fn user_cannot_raise_the_limit_of_the_site() {
    let limit = Span::from_secs(4 * HOUR);
    let mut driver = experienced_driver(&rules_with(UnpredictableAction::Limit(limit)));
    // All nodes are taken, so that the job waits.
    for _ in 0..5 {
        driver.submit_now(job("tame"));
    }
    let waiting = driver.submit_now(job("wild"));
    let change = JobChange {
        time_limit: Some(Some(Span::from_secs(30 * HOUR))),
        ..JobChange::default()
    };
    driver.step(&[ServiceCommand::Alter {
        job: waiting,
        change,
    }]);
    let live = driver.core.job(waiting).unwrap();
    assert_eq!(live.time_limit, Some(limit));
}

#[test]
fn deadline_is_not_promised_and_the_answer_has_the_reason() {
    let mut site = experienced(UnpredictableAction::NoPromise);
    for otherwise in [Otherwise::Run, Otherwise::Wait] {
        let wild = Submission {
            options: SubmissionOptions {
                otherwise,
                ..SubmissionOptions::default()
            },
            ..job("wild")
        };
        let expected = AdmissionState::Unpromised(vec![RejectReason::Unpredictable]);
        assert_eq!(site.quote(wild).admission, expected, "{otherwise:?}");
    }
    let strict = Submission {
        options: SubmissionOptions {
            otherwise: Otherwise::Reject,
            ..SubmissionOptions::default()
        },
        ..job("wild")
    };
    let expected = AdmissionState::Rejected(vec![RejectReason::Unpredictable]);
    assert_eq!(site.quote(strict).admission, expected);
    // Nothing was asked, so nothing is refused.
    let free = Submission {
        deadline: None,
        ..job("wild")
    };
    let admission = site.quote(free).admission;
    assert!(matches!(
        admission,
        AdmissionState::Accepted { .. } | AdmissionState::Queued
    ));
    let tame = site.quote(job("tame"));
    assert!(matches!(tame.admission, AdmissionState::Accepted { .. }));

    let answer = site.submit_job(job("wild"), &["sleep", "5"]).unwrap();
    assert_eq!(site.row(answer.job).reasons, ["unpredictable"]);
    site.advance(7);
    assert_eq!(site.entry(answer.job), Some("unpromised_in_time"));
}

/// Returns a driver that has learned the same, whose first worker has three nodes. A second host, `aside`, has two.
fn experienced_driver(rules: &AdmissionRules) -> CoreDriver {
    let mut driver = CoreDriver::new(rules);
    driver.step(&[ServiceCommand::WorkerUp {
        worker: WorkerId(1),
        incarnation: 1,
        nodes: 2,
        memory: None,
        offer: HostOffer {
            name: "aside".to_owned(),
            ..HostOffer::default()
        },
    }]);
    for round in 0..8_usize {
        for (name, run_s) in [("wild", [2, 20 * HOUR][round % 2]), ("tame", 600)] {
            driver.submit_now_for(job(name), run_s);
            driver.wait(run_s + 10 * HOUR);
        }
    }
    driver
}

impl CoreDriver {
    fn next_number(&self) -> u64 {
        self.runtimes.keys().last().map_or(1, |last| last + 1)
    }

    fn submit_now(&mut self, submission: Submission) -> u64 {
        self.submit_now_for(submission, HOUR)
    }

    /// Submits a job that runs for `run_s`, and returns its number.
    fn submit_now_for(&mut self, submission: Submission, run_s: i64) -> u64 {
        let number = self.next_number();
        self.submit(number, submission, run_s);
        number
    }

    /// Submits jobs one by one, and returns the nodes on which each starts at once.
    fn nodes_of(&mut self, jobs: impl IntoIterator<Item = Submission>) -> Vec<Option<Vec<u32>>> {
        let started = |driver: &mut Self, job: Submission| {
            driver
                .runtimes
                .insert(driver.next_number(), Span::from_secs(HOUR));
            let step = driver.step(&[ServiceCommand::Submit(Box::new(job))]);
            step.actions.iter().find_map(|action| match action {
                EngineAction::Start { nodes, .. } => {
                    Some(nodes.iter().map(|&NodeId(node)| node).collect())
                }
                EngineAction::SetShare { .. }
                | EngineAction::Withdraw { .. }
                | EngineAction::Continued { .. }
                | EngineAction::Kill { .. } => None,
            })
        };
        jobs.into_iter().map(|job| started(self, job)).collect()
    }
}

#[test]
fn only_unpredictable_jobs_run_on_the_hosts_that_are_set_aside() {
    let mut driver = experienced_driver(&rules_with(UnpredictableAction::Dedicated));
    let free = |name: &str, procs| Submission {
        procs,
        deadline: None,
        ..job(name)
    };
    let one_by_one = std::iter::repeat_n(free("wild", 1), 3);
    let [first, second, third] = driver.nodes_of(one_by_one).try_into().unwrap();
    assert_eq!((first, second), (Some(vec![3]), Some(vec![4])));
    assert_eq!(third, None, "the other host is idle, and not for it");
    let tame = driver.nodes_of(std::iter::repeat_n(free("tame", 1), 4));
    let on_first: Vec<u32> = tame.iter().flatten().flatten().copied().collect();
    assert_eq!(on_first, [0, 1, 2]);

    // One that the host cannot take runs elsewhere, without a promise.
    let now = driver.now;
    let large = |name: &str, procs| Submission { procs, ..job(name) };
    let answer = driver.core.quote(now, &large("wild", 3));
    assert_eq!(found(&answer), Some(UnpredictableAction::NoPromise));
    let answer = driver.core.quote(now, &large("wild", 2));
    assert_eq!(found(&answer), Some(UnpredictableAction::Dedicated));
    // No other job has all five.
    let AdmissionState::Rejected(reasons) = driver.core.quote(now, &large("tame", 4)).admission
    else {
        panic!("it cannot run");
    };
    assert!(reasons[0].to_string().contains("set aside"), "{reasons:?}");
    let there = Submission {
        options: SubmissionOptions {
            host: Some("aside".to_owned()),
            ..SubmissionOptions::default()
        },
        ..job("tame")
    };
    let AdmissionState::Rejected(reasons) = driver.core.quote(now, &there).admission else {
        panic!("it cannot run there");
    };
    assert!(reasons[0].to_string().starts_with("aside is set aside"));
}

#[test]
fn waiting_jobs_run_anywhere_once_no_host_is_set_aside() {
    let mut driver = experienced_driver(&rules_with(UnpredictableAction::Dedicated));
    let free = |name: &str| Submission {
        deadline: None,
        ..job(name)
    };
    let started = driver.nodes_of(std::iter::repeat_n(free("wild"), 3));
    assert_eq!(started[2], None);
    let none = rules_with(UnpredictableAction::None);
    assert!(driver.core.takeover_obstacle(&none).is_none());
    let core = std::mem::replace(&mut driver.core, tollgate_service::Core::new(none.clone()));
    driver.core = core.take_over(none);
    let step = driver.step(&[ServiceCommand::Tick]);
    let start = first_start(&step);
    let last = driver.next_number() - 1;
    assert_eq!(start.map(|AttemptId { job, .. }| job), Some(last));
}
