//! The service learns only what is true: the work of jobs that succeeded, and that jobs which were
//! ended need more.

use tollgate_model::{Distribution, Instant, JobSpec, Probability, Sla, Span, UserId};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{ForecastBasis, ServiceCommand, Submission};
use tollgate_sim::estimates::EstimateProvider;
use tollgate_sim::{EstimateOrigin, JobArrival};

use crate::common::{TestCluster, submission};

/// Returns a submission of the class without a deadline, which every policy admits.
fn job(estimate_s: i64) -> Submission {
    Submission {
        deadline: None,
        budget: None,
        ..submission("class", estimate_s)
    }
}

/// Returns the forecaster's forecast of an unfinished job.
fn forecast(site: &mut TestCluster, job: u64) -> Distribution {
    let live = site.controller().core().job(job).unwrap();
    live.forecast.forecast().distribution()
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

#[test]
fn failures_teach_no_runtime() {
    let mut site = TestCluster::new("libra-risk");
    for _ in 0..6 {
        site.submit(&["sh", "-c", "exit 1"], 90).unwrap();
        site.advance(2);
    }
    let answer = site.quote(submission("sh", 600));
    assert_eq!(answer.basis, ForecastBasis::Estimate);
    site.submit_job(submission("sh", 90), &["sleep", "2"])
        .unwrap();
    site.advance(3);
    let answer = site.quote(submission("sh", 90));
    assert!(matches!(answer.basis, ForecastBasis::Jobs(_)), "{answer:?}");
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
    for (longer, shorter) in after.quantiles().iter().zip(before.quantiles()) {
        assert!(longer >= shorter, "{after:?} {before:?}");
    }
    assert!(after.quantile(level(0.95)) > before.quantile(level(0.95)));
}

#[test]
fn service_and_simulator_learn_the_same_from_the_same_history() {
    let level = Probability::new(0.9).unwrap();
    let policy = "easy";
    {
        let mut site = TestCluster::new(policy);
        let mut provider = EstimateProvider::new(EstimateOrigin::Forecast(level), &[]);
        // Pairs of runtime and estimate in seconds.
        let jobs: Vec<(i64, i64)> = (0..40).map(|n| (7 + n * 5 % 23, 30 + n % 2 * 10)).collect();
        let arrival = |at_s, (runtime, estimate): (i64, i64)| JobArrival {
            spec: JobSpec {
                submit: Instant::from_secs(at_s),
                user: UserId(0),
                estimate: Span::from_secs(estimate),
                procs: 1,
                memory: 0,
                sla: Sla::default(),
            },
            runtime: Span::from_secs(runtime),
        };
        let mut submitted = Vec::new();
        let mut ended = 0;
        let mut stretched = 0;
        for at_s in 0..2_000 {
            site.wait_until(at_s);
            let unfinished: Vec<usize> = (0..submitted.len())
                .filter(|&index| submitted[index] != i64::MAX)
                .collect();
            let core = site.controller().core();
            let done = |index: &usize| core.job(*index as u64 + 1).is_none();
            let mut now_done: Vec<usize> = unfinished.into_iter().filter(done).collect();
            // Several jobs may end within a second.
            if now_done.len() > 1 {
                let reader = site.reader();
                let end = |index: &usize| reader.attempts(*index as u64 + 1).unwrap()[0].finish;
                now_done.sort_by_key(end);
            }
            for index in now_done {
                let (start_s, runtime) = (submitted[index], jobs[index].0);
                provider.observe_completion(
                    index,
                    Instant::from_secs(start_s),
                    Span::from_secs(runtime),
                    Instant::from_secs(at_s),
                );
                stretched += i64::from(at_s - start_s > runtime + 1);
                submitted[index] = i64::MAX;
                ended += 1;
            }
            let index = submitted.len();
            if at_s % 9 == 0 && index < jobs.len() {
                let (runtime, estimate) = jobs[index];
                site.submit_job(job(estimate), &["work", &runtime.to_string()])
                    .unwrap();
                submitted.push(at_s);
                let expected = provider.estimate(index, &arrival(at_s, jobs[index]));
                // A forecast that the simulator makes is the service's, to the last bit.
                let found = forecast(&mut site, index as u64 + 1);
                assert_eq!(Some(found), expected.forecast, "{policy}: job {index}");
            }
            if ended == jobs.len() {
                break;
            }
        }
        assert_eq!(ended, jobs.len(), "{policy}: some jobs never ended");
        assert!(stretched > 5, "{policy}: too few jobs waited or shared");
        let last = provider.estimate(jobs.len(), &arrival(2_000, (10, 30)));
        site.submit_job(job(30), &["work", "10"]).unwrap();
        let found = forecast(&mut site, jobs.len() as u64 + 1);
        assert_eq!(Some(found), last.forecast, "{policy}");
    }
}

/// What the service learns under shares is the work that the gate accounts. When two tasks of a node end
/// between two reports, the second is accounted at the rates after the first: the error is below the
/// time between reports, which is a second here.
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
