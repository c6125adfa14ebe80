//! The promises of the policy `plan`, kept in a simulated cluster.

use tollgate_gate::{GateInput, OnEviction, WorkerId};
use tollgate_model::belief::N_CORRELATIONS;
use tollgate_model::{
    Distribution, HostTerms, Instant, JobId, Kinship, Reason, RuntimeBelief, Span,
};
use tollgate_policy::OutlookSubject;

use crate::cluster::{Cluster, Job, job};

#[test]
fn of_twenty_equal_jobs_those_are_promised_that_fit() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 2);
    let promised = (0..20)
        .filter(|_| cluster.submit(job(1, 3600, 7200)))
        .count();
    assert_eq!(promised, 4);
    cluster.run();
    assert_eq!(cluster.ended.len(), 4);
    assert!(
        cluster
            .ended
            .iter()
            .all(|(_, end)| *end <= Instant::from_secs(7200))
    );
    assert!(
        cluster
            .rejected
            .iter()
            .all(|(_, reason)| *reason == Reason::NoRoom)
    );
    assert_eq!(cluster.rejected.len(), 16);
}

/// The deviation of twenty equal delays is zero, and so is their risk by the paper's definition.
#[test]
fn mended_risk_test_sees_jobs_that_are_all_late_together() {
    for (policy, promised, kept) in [("libra-risk", 20, 0), ("libra-risk:admission=delay", 4, 4)] {
        let mut cluster = Cluster::new(policy, 2);
        let found = (0..20)
            .filter(|_| cluster.submit(job(1, 3600, 7200)))
            .count();
        assert_eq!(found, promised, "{policy}");
        cluster.run();
        let due = Instant::from_secs(7200);
        let in_time = cluster.ended.iter().filter(|(_, end)| *end <= due);
        assert_eq!(in_time.count(), kept, "{policy}");
    }
}

#[test]
fn five_hundred_tasks_due_tomorrow_are_promised_on_two_processors() {
    let mut cluster = Cluster::new("plan", 2);
    let day = 29 * 3600;
    assert_eq!(cluster.submit_array(job(1, 240, day), 500), 500);
    // A short job that is due in an hour goes first.
    assert!(cluster.submit(job(1, 600, 3600)));
    let short = cluster.last;
    cluster.run();
    assert_eq!(cluster.ended.len(), 501);
    assert!(cluster.end_s(short) <= 3600);
    assert!(
        cluster
            .ended
            .iter()
            .all(|(_, end)| *end <= Instant::from_secs(day))
    );
}

#[test]
fn an_array_is_promised_as_a_whole_or_not() {
    let mut cluster = Cluster::new("plan", 2);
    assert_eq!(cluster.submit_array(job(1, 3600, 7200), 5), 0);
    assert_eq!(cluster.submit_array(job(1, 3600, 7200), 4), 4);
}

#[test]
fn tasks_of_a_waiting_array_are_promised_as_they_fit() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 2);
    // Each asks for 40 minutes, and ends after 10 seconds.
    let task = Job {
        run_s: 10,
        ..job(1, 2400, 3600)
    };
    assert_eq!(cluster.submit_array(task, 5), 0);
    cluster.run();
    assert_eq!((cluster.promised.len(), cluster.ended.len()), (5, 5));
    assert_eq!(cluster.now, Instant::from_secs(30));
}

#[test]
fn a_job_as_wide_as_the_machine_is_promised_among_narrow_ones() {
    let mut cluster = Cluster::new("plan", 64);
    assert_eq!(cluster.submit_array(job(1, 600, 36_000), 400), 400);
    assert!(cluster.submit(job(64, 600, 18_000)));
    let wide = cluster.last;
    cluster.run();
    assert_eq!(cluster.ended.len(), 401);
    assert!(cluster.end_s(wide) <= 18_000);
}

#[test]
fn a_waiting_job_is_promised_when_others_end_early() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 1);
    // It asks for 1,000 s and ends after 10.
    assert!(cluster.submit(Job {
        run_s: 10,
        ..job(1, 1000, 2000)
    }));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    cluster.run();
    assert_eq!(cluster.promised.len(), 2);
    assert!(cluster.rejected.is_empty());
    assert_eq!(cluster.end_s(JobId(1)), 510);
}

#[test]
fn waiting_job_is_rejected_when_no_room_could_help_any_more() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 1);
    assert!(cluster.submit(job(1, 1000, 2000)));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    // Its plan needs about 435 s (the 5/6 quantile of 500 s), so the decision is due at about 165 s.
    cluster.run_until(Instant::from_secs(150));
    assert!(cluster.rejected.is_empty());
    cluster.run_until(Instant::from_secs(180));
    assert_eq!(cluster.rejected, [(JobId(1), Reason::NoRoom)]);
}

#[test]
fn without_a_waitlist_a_job_is_rejected_at_once() {
    let mut cluster = Cluster::new("plan:otherwise=reject", 1);
    assert!(cluster.submit(job(1, 1000, 2000)));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    assert_eq!(cluster.rejected, [(JobId(1), Reason::NoRoom)]);
}

#[test]
fn an_impossible_deadline_is_rejected_at_once() {
    let mut cluster = Cluster::new("plan:otherwise=reject", 4);
    assert!(!cluster.submit(job(1, 1000, 100)));
    assert_eq!(cluster.rejected, [(JobId(0), Reason::DeadlineUnreachable)]);
}

#[test]
fn a_job_without_a_deadline_delays_no_promise() {
    let loose = Job {
        deadline_s: None,
        ..job(1, 5000, 0)
    };
    let mut cluster = Cluster::new("plan", 2);
    // The wide job can wait for no longer than about 900 s.
    assert!(cluster.submit(job(1, 1000, 2000)));
    assert!(cluster.submit(job(2, 1000, 2000)));
    cluster.submit(loose);
    cluster.run();
    assert_eq!(cluster.promised[..2], [JobId(0), JobId(1)]);
    assert!(cluster.end_s(JobId(1)) <= 2000);
    assert_eq!(cluster.end_s(JobId(2)), 2000 + 5000);
}

#[test]
fn one_pass_gives_every_idle_node_a_job_without_a_deadline() {
    let loose = Job {
        deadline_s: None,
        ..job(1, 1000, 0)
    };
    let mut cluster = Cluster::new("plan", 40);
    for _ in 0..40 {
        cluster.submit(loose);
    }
    cluster.pass();
    assert_eq!(cluster.started.len(), 40);
}

#[test]
fn job_without_a_deadline_gets_a_place_after_its_maximum_wait() {
    let loose = Job {
        deadline_s: None,
        ..job(2, 3600, 0)
    };
    let run = |policy: &str| {
        let mut cluster = Cluster::new(policy, 2);
        cluster.submit(job(1, 3000, 6000));
        cluster.pass();
        cluster.submit(loose);
        // Narrow jobs with deadlines keep coming, and one processor is always busy.
        for hour in 1..100 {
            cluster.run_until(Instant::from_secs(hour * 1800));
            cluster.now = Instant::from_secs(hour * 1800);
            cluster.submit(job(1, 3000, 6000));
        }
        cluster.run();
        cluster.end_s(JobId(1))
    };
    let (short, long) = (run("plan:patience=2h"), run("plan:patience=1000h"));
    assert!(short < 6 * 3600, "{short}");
    // A day is the longest that any waits for a place.
    assert!((24 * 3600..27 * 3600).contains(&long), "{long}");
}

#[test]
fn evicted_job_without_a_deadline_gets_one_place_after_its_maximum_wait() {
    let mut cluster = Cluster::new("plan:patience=2h", 1);
    let loose = Job {
        deadline_s: None,
        ..job(1, 100, 0)
    };
    let input = GateInput::Submitted {
        spec: cluster.spec(loose),
        on_eviction: OnEviction::Requeue,
        forecast: None,
    };
    cluster.submit_input(loose, input);
    cluster.pass();
    assert_eq!(cluster.started.len(), 1);
    let host = WorkerId(0);
    let lost = GateInput::WorkerLost {
        worker: host,
        incarnation: 1,
    };
    cluster.simulation.handle(cluster.now, lost).unwrap();
    cluster.pass();
    // Its host comes back after its patience is over: it gets a place among the promises, and starts by it.
    cluster.now = Instant::from_secs(3 * 3600);
    let up = GateInput::WorkerUp {
        worker: host,
        incarnation: 2,
        nodes: 1,
        memory: None,
        terms: HostTerms::default(),
        in_use: None,
    };
    cluster.simulation.handle(cluster.now, up).unwrap();
    cluster.run();
    assert_eq!((cluster.started.len(), cluster.ended.len()), (2, 1));
    assert_eq!(cluster.promised.len(), 1, "its price was named once");
}

#[test]
fn tasks_of_a_batch_are_as_long_together_as_their_correlation() {
    // How often both of two tasks end within the median of one, if they are independent or alike.
    for (correlation, expected) in [(0, 0.25), (N_CORRELATIONS - 1, 0.5)] {
        let mut cluster = Cluster::new("plan:scenarios=512", 2);
        let kinship = Kinship {
            batch: 1,
            class: 1,
            correlations: std::array::from_fn(|at| f32::from(u8::from(at == correlation))),
        };
        let input = GateInput::SubmittedArray {
            spec: cluster.spec(job(1, 3600, 36_000)),
            count: 2,
            on_eviction: OnEviction::Fail,
            forecast: Some(RuntimeBelief {
                distribution: Distribution::of_request(Span::from_secs(3600)),
                kinship: Some(kinship),
            }),
        };
        cluster.simulation.handle(cluster.now, input).unwrap();
        cluster.take_effects();
        let gate = cluster.simulation.gate();
        let ends = |subject| {
            let runs = gate.possible_runs(cluster.now, subject, None).unwrap();
            runs.runs
                .into_iter()
                .map(|run| run.finish)
                .collect::<Vec<Instant>>()
        };
        let mut one = ends(OutlookSubject::InGroup(JobId(0), 0));
        one.sort_unstable();
        let median = one[one.len() / 2 - 1];
        let both = ends(OutlookSubject::Existing(&[JobId(0)]));
        let within = both.iter().filter(|&&end| end <= median).count() as f64;
        let part = within / both.len() as f64;
        assert!((part - expected).abs() < 0.05, "{correlation}: {part}");
    }
}
