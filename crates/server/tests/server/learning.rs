//! The service learns only what is true: the work of jobs that succeeded, and that jobs which were
//! ended need more.

use tollgate_forecast::{BeliefJob, ClassId, CompletedJob, ForecastJob, JobAttributes};
use tollgate_model::{Distribution, Instant, JobSpec, Market, Probability, Sla, Span, UserId};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{
    AdmissionState, ArraySpec, CommandResult, Core, EstimateSource, RunRecord, ServiceCommand,
    Submission, SubmissionOptions, SubmitOutcome, TaskRanges,
};
use tollgate_sim::estimates::EstimateProvider;
use tollgate_sim::{EstimateOrigin, JobArrival, JobContext, LearnedHistory};

use crate::common::{TestCluster, rules, submission};

/// Returns a submission of the class without a deadline, which every policy admits.
fn job(estimate_s: i64) -> Submission {
    Submission {
        deadline: None,
        budget: None,
        ..submission("class", estimate_s)
    }
}

/// Returns the forecast of an unfinished job.
fn forecast(site: &mut TestCluster, job: u64) -> Distribution {
    let live = site.controller().core().job(job).unwrap();
    *live.forecast.distribution()
}

/// Returns the forecast of the next job of the class, and cancels the job.
fn next_forecast(site: &mut TestCluster) -> Distribution {
    let job = site.submit_job(job(60), &["work", "60"]).unwrap().job;
    let forecast = forecast(site, job);
    cancel(site, job);
    site.advance(1);
    forecast
}

fn cancel(site: &mut TestCluster, job: u64) {
    let command = ServiceCommand::Cancel { job, tasks: None };
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command,
        reply,
    })
    .unwrap();
}

/// Returns the attributes of a job of one program: the service knows the program by the name of its jobs.
fn named() -> JobAttributes {
    JobAttributes {
        executable: Some(0),
        ..JobAttributes::default()
    }
}

#[test]
fn failures_teach_no_runtime() {
    let mut site = TestCluster::new("libra-risk");
    for _ in 0..6 {
        site.submit(&["sh", "-c", "exit 1"], 90).unwrap();
        site.advance(2);
    }
    let answer = site.quote(submission("sh", 600));
    assert_eq!(answer.basis.table, 1.0);
    site.submit_job(submission("sh", 90), &["sleep", "2"])
        .unwrap();
    site.advance(3);
    let answer = site.quote(submission("sh", 90));
    // The success is of the batch that the quoted job would join.
    assert_eq!(answer.basis.siblings.n_ended, 1, "{answer:?}");
}

#[test]
fn ended_job_teaches_that_it_needs_more_or_nothing() {
    let mut site = TestCluster::new("fcfs");
    for n in 0..12 {
        let secs = (8 + n % 3).to_string();
        site.submit_job(job(60), &["work", &secs]).unwrap();
        site.advance(11);
    }
    let before = next_forecast(&mut site);
    let mut run_for = |secs| {
        let job = site.submit_job(job(60), &["work", "1000"]).unwrap().job;
        site.advance(secs);
        cancel(&mut site, job);
        site.advance(1);
        next_forecast(&mut site)
    };
    assert_eq!(run_for(5), before, "too short to tell anything");
    let after = run_for(300);
    let level = |level| Probability::new(level).unwrap();
    // The parts of the sources change a little, which moves the lower quantiles by next to nothing.
    for (longer, shorter) in after.quantiles().iter().zip(before.quantiles()) {
        let ratio = longer.as_secs_f64() / shorter.as_secs_f64();
        assert!(ratio > 0.99, "{after:?} {before:?}");
    }
    assert!(after.quantile(level(0.95)) > before.quantile(level(0.95)));
}

#[test]
fn service_and_simulator_forecast_the_same_from_the_same_history() {
    let level = Probability::new(0.9).unwrap();
    let known = [JobContext {
        context: named(),
        ..JobContext::default()
    }; 41];
    let mut provider = EstimateProvider::new(EstimateOrigin::Forecast(level), &known);
    let mut site = TestCluster::new("easy");
    // Pairs of runtime and estimate in seconds.
    let jobs = (0..40).map(|n| (7 + n * 5 % 23, 30 + n % 2 * 10));
    let mut at_s = 0;
    for (index, job) in jobs.enumerate() {
        at_s += 1;
        site.wait_until(at_s);
        check_forecast(&mut site, &mut provider, index, at_s, job);
        let now = Instant::from_secs(at_s);
        provider.admit(index, now);
        provider.observe_start(index, now);
        let number = index as u64 + 1;
        while site.controller().core().job(number).is_some() {
            at_s += 1;
            site.wait_until(at_s);
        }
        let attempt = site.reader().attempts(number).unwrap().remove(0);
        let finish = attempt.finish.expect("it has ended");
        provider.observe_completion(index, Span::from_secs(job.0), finish);
    }
    check_forecast(&mut site, &mut provider, 40, at_s, (10, 30));
}

/// Submits a job with this run time and estimate, and checks that the service forecasts of it what the
/// simulator's provider does, to the last bit.
fn check_forecast(
    site: &mut TestCluster,
    provider: &mut EstimateProvider<'_>,
    index: usize,
    at_s: i64,
    (runtime, estimate): (i64, i64),
) {
    let submitted = site.submit_job(job(estimate), &["work", &runtime.to_string()]);
    let found = forecast(site, submitted.unwrap().job);
    let arrival = JobArrival {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::from_secs(at_s),
            user: UserId(0),
            estimate: Span::from_secs(estimate),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            sla: Sla::default(),
        },
        runtime: Span::from_secs(runtime),
        requested_memory: Default::default(),
        is_requested: true,
    };
    let expected = provider.estimate(index, &arrival);
    assert_eq!(Some(found), expected.forecast, "job {index}");
}

/// Under shares the service learns the work that the gate accounts. When two tasks of a node end between two
/// reports, the second is accounted at the rates after the first. The error is below the time between
/// reports, which is a second here.
#[test]
fn work_on_shared_nodes_is_the_run_time_alone() {
    for policy in ["libra", "tail-risk"] {
        let mut site = TestCluster::new(policy);
        let run_times: Vec<i64> = (0..30).map(|n| 7 + n * 5 % 23).collect();
        let mut jobs = run_times.iter();
        for at_s in 0..2_000 {
            site.wait_until(at_s);
            if at_s % 9 == 0
                && let Some(runtime) = jobs.next()
            {
                site.submit_job(job(30), &["work", &runtime.to_string()])
                    .unwrap();
            }
        }
        let reader = site.reader();
        let mut stretched = 0;
        for (number, &runtime) in (1..).zip(&run_times) {
            let attempt = reader.attempts(number).unwrap().remove(0);
            let work_s = attempt.work.expect("it has ended").as_secs_f64();
            assert!(
                (work_s - runtime as f64).abs() < 1.0,
                "{policy}: job {number}: {work_s} s"
            );
            let wall = attempt
                .finish
                .expect("an end")
                .since(attempt.start.expect("a start"));
            stretched += u32::from(wall > Span::from_secs(runtime + 1));
        }
        assert!(stretched > 5, "{policy}: too few jobs shared a node");
    }
}

#[test]
fn running_job_is_forecast_from_its_work() {
    let mut site = TestCluster::new("libra");
    for _ in 0..12 {
        site.submit_job(job(20), &["work", "10"]).unwrap();
        site.advance(11);
    }
    // Two jobs, each on both nodes: each works at half speed.
    for _ in 0..2 {
        let wide = Submission {
            procs: 2,
            ..job(20)
        };
        site.submit_job(wide, &["work", "10"]).unwrap();
    }
    site.advance(14);
    let now = *site.clock.lock().unwrap();
    let core = site.controller().core();
    let predicted = core.predict(now, 13).expect("it runs");
    // After 14 s it has done 7 s of its 10, and needs 6 s more: it has not outlived the class.
    let left_s = predicted.finish.since(now).as_secs_f64();
    assert!((4.0..9.0).contains(&left_s), "{left_s} s");
}

/// Returns records of `count` jobs of the class that needed a tenth of their estimate.
fn records(count: u64) -> Vec<RunRecord> {
    let record = |n: u64| RunRecord {
        cpu: None,
        peak_memory: None,
        digest: n,
        user: submission("class", 1).user,
        name: "class".to_owned(),
        executable: None,
        account: None,
        queue: None,
        procs: 1,
        estimate: Some(Span::from_secs(1_000)),
        submit: Instant::from_secs(100 * n as i64),
        finish: Instant::from_secs(100 * n as i64 + 100),
        runtime: Span::from_secs(100),
    };
    (0..count).map(record).collect()
}

fn learn(site: &mut TestCluster, records: Vec<RunRecord>) -> (u32, u32) {
    site.request(|reply| ControllerRequest::Learn { records, reply })
        .unwrap()
}

#[test]
fn records_learned_twice_change_nothing() {
    let mut core = Core::new(rules("plan", Market::None));
    let at = Instant::from_secs(1);
    let mut learn = |records| {
        let step = core.step(at, &[ServiceCommand::Learn { records }]);
        let snapshot = postcard::to_stdvec(&core.save()).unwrap();
        (step.results, snapshot)
    };
    let (results, once) = learn(records(100));
    let (learned, known) = (100, 0);
    assert_eq!(results, [CommandResult::Learned { learned, known }]);
    let (results, twice) = learn(records(100));
    let (learned, known) = (0, 100);
    assert_eq!(results, [CommandResult::Learned { learned, known }]);
    assert_eq!(once, twice);
    let (results, more) = learn(records(101));
    let (learned, known) = (1, 100);
    assert_eq!(results, [CommandResult::Learned { learned, known }]);
    assert_ne!(more, twice);
}

#[test]
fn records_are_believed_as_in_a_replay() {
    let mut site = TestCluster::new("plan");
    assert_eq!(learn(&mut site, records(70)), (70, 0));
    let jobs = records(70).into_iter().map(|record| {
        let job = ForecastJob {
            class: ClassId(0),
            procs: record.procs,
            request: record.estimate,
            context: named(),
        };
        let ended = CompletedJob {
            job,
            submit: record.submit,
            finish: record.finish,
            runtime: record.runtime,
        };
        (UserId(record.user), ended)
    });
    let history = LearnedHistory::of(jobs.collect());
    let features = ForecastJob {
        class: ClassId(0),
        procs: 1,
        request: Some(Span::from_secs(300)),
        context: named(),
    };
    // The learned state survives a crash.
    site.restart();
    let number = site.submit_job(job(300), &["work", "30"]).unwrap().job;
    let live = site.controller().core().job(number).unwrap();
    let class = BeliefJob::new(UserId(submission("class", 1).user), &features);
    let expected = history.beliefs.belief(&class, live.submitted);
    assert_eq!(*live.forecast.distribution(), expected.distribution);
    assert_eq!(learn(&mut site, records(70)), (0, 70));
}

#[test]
fn job_without_an_estimate_gets_that_of_the_nearest_group() {
    let mut site = TestCluster::new("plan");
    let silent = |name: &str, user| Submission {
        user,
        estimate: None,
        ..submission(name, 1)
    };
    let own = submission("class", 1).user;
    assert_eq!(
        site.quote(silent("class", own)).source,
        EstimateSource::Default
    );
    learn(&mut site, records(60));
    let known = site.quote(silent("class", own));
    assert_eq!(known.source, EstimateSource::Class);
    assert!(
        known.spec.estimate < Span::from_secs(1_000),
        "{:?}",
        known.spec
    );
    let other = site.quote(silent("other", own));
    assert_eq!(other.source, EstimateSource::UserJobs);
    let unknown = site.quote(silent("class", own + 1));
    assert_eq!(unknown.source, EstimateSource::Site);
    // All of them are one batch of one user.
    assert!(unknown.basis.site > 0.2, "{unknown:?}");
}

fn is_waitlisted(answer: &SubmitOutcome) -> bool {
    matches!(answer.admission, AdmissionState::Waitlisted { .. })
}

#[test]
fn waitlisted_jobs_are_promised_when_their_siblings_end_early() {
    let mut site = TestCluster::in_market("plan", Market::None);
    let template = Submission {
        deadline: Some(Span::from_secs(260)),
        budget: None,
        ..submission("class", 100)
    };
    // On two nodes three such jobs are promised by the fixed table, where those that run are taken to need as long
    // as they exceed with probability 1 in 20. Each needs 5 s.
    let mut answers = Vec::new();
    for _ in 0..30 {
        let answer = site.submit_job(template.clone(), &["work", "5"]).unwrap();
        answers.push(answer.answer);
    }
    let waitlisted = answers.iter().filter(|answer| is_waitlisted(answer));
    assert_eq!(waitlisted.count(), 27);
    let probability = site.row(20).probability.unwrap();
    site.advance(27);
    let core = site.controller().core();
    let view = core.gate().view(core.now());
    let waiting: Vec<bool> = core
        .tasks()
        .filter(|(_, live)| !live.has_nodes())
        .map(|(_, live)| view.job(live.slot).accepted.is_some())
        .collect();
    assert!(waiting.len() >= 16, "{waiting:?}");
    assert!(waiting.iter().all(|&promised| promised), "{waiting:?}");
    // The probability of the promise is that of the moment at which it was made.
    let promised = site.row(20).probability.unwrap();
    assert!(
        promised > 0.8 && promised > probability,
        "{probability} {promised}"
    );
}

#[test]
fn tasks_of_an_array_that_wait_have_the_mean_probability_of_their_promises() {
    let mut site = TestCluster::in_market("plan", Market::None);
    let options = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: TaskRanges::new(1, 30),
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    };
    let template = Submission {
        deadline: Some(Span::from_secs(260)),
        budget: None,
        options,
        ..submission("class", 100)
    };
    let answer = site.submit_job(template, &["work", "5"]).unwrap().answer;
    assert!(is_waitlisted(&answer), "{answer:?}");
    let probability = site.row(1).probability.unwrap();
    site.advance(27);
    let promised = site.row(1).probability.unwrap();
    // Theirs are not that of the whole array at its submission.
    assert!(
        promised > 0.8 && promised < 1.0 && (promised - probability).abs() > 1e-3,
        "{probability} {promised}"
    );
}
