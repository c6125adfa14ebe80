//! Rules of the specification that no worked example covers, each worked out by hand.

use tollgate_model::{
    Credits, CreditsPerSecond, Decision, Instant, JobSpec, Market, Reason, Sla, Span, UserId,
};
use tollgate_oracle::queue::{self, OracleDropRule, OracleQueueSettings};
use tollgate_oracle::share::{self, OracleShareRule, OracleShareSettings};
use tollgate_oracle::{OracleJob, OracleOutcome};

/// Builds a job of one processor with a deadline; all times in microseconds.
fn job(submit: i64, runtime: i64, estimate: i64, deadline: i64) -> OracleJob {
    OracleJob {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::from_micros(submit),
            estimate: Span::from_micros(estimate),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: Some(Span::from_micros(deadline)),
                ..Sla::default()
            },
        },
        runtime: Span::from_micros(runtime),
    }
}

/// Builds the same job from seconds.
fn job_s(submit: i64, runtime: i64, estimate: i64, deadline: i64) -> OracleJob {
    let micros = |secs| secs * 1_000_000;
    job(
        micros(submit),
        micros(runtime),
        micros(estimate),
        micros(deadline),
    )
}

fn wide(mut job: OracleJob, procs: u32) -> OracleJob {
    job.spec.procs = procs;
    job
}

fn bidding(mut job: OracleJob, budget: f64, penalty: f64) -> OracleJob {
    job.spec.sla.budget = Some(Credits::from_f64(budget));
    job.spec.sla.penalty = CreditsPerSecond::from_f64(penalty);
    job
}

fn queued(policy: &str) -> OracleQueueSettings {
    OracleQueueSettings::named(policy, Market::None).expect("a space-shared policy")
}

fn shared(policy: &str) -> OracleShareSettings {
    OracleShareSettings::named(policy, Market::None).expect("a time-shared policy")
}

/// Returns starts in microseconds; None for a rejected job.
fn starts(outcomes: &[OracleOutcome]) -> Vec<Option<i64>> {
    let ran = outcomes.iter().map(|outcome| outcome.ran);
    ran.map(|ran| ran.map(|ran| ran.start.as_micros()))
        .collect()
}

#[test]
fn job_past_its_estimate_may_end_at_any_time() {
    let jobs = [
        job_s(0, 20, 10, 100),
        wide(job_s(1, 5, 5, 100), 2),
        job_s(12, 1, 1, 100),
    ];
    for policy in ["fcfs-bf", "easy", "conservative"] {
        let outcomes = queue::run(&jobs, 2, &queued(policy));
        let expected = [Some(0), Some(20_000_000), Some(25_000_000)];
        assert_eq!(starts(&outcomes), expected, "{policy}");
    }
}

#[test]
fn deadlines_within_a_microsecond_tie() {
    let blocker = job_s(0, 10, 10, 10);
    let jobs = [
        blocker,
        job(1, 10, 10, 50_000_001),
        job(1, 10, 10, 50_000_000),
    ];
    let outcomes = queue::run(&jobs, 1, &queued("edf"));
    assert_eq!(starts(&outcomes)[1], Some(10_000_000));
    let jobs = [
        blocker,
        job(1, 10, 10, 50_000_002),
        job(1, 10, 10, 50_000_000),
    ];
    let outcomes = queue::run(&jobs, 1, &queued("edf"));
    assert_eq!(starts(&outcomes)[1], Some(10_000_010));
}

#[test]
fn a_hopeless_head_blocks_until_it_could_be_started() {
    let jobs = [
        job_s(0, 10, 10, 50),
        wide(job_s(1, 4, 4, 9), 2),
        job_s(2, 9, 9, 90),
    ];
    let decided = |test| {
        let settings = OracleQueueSettings {
            test,
            ..queued("edf")
        };
        let outcomes = queue::run(&jobs, 2, &settings);
        outcomes[1..]
            .iter()
            .map(|outcome| (outcome.decision, outcome.decided.as_micros() / 1_000_000))
            .collect::<Vec<_>>()
    };
    let unreachable = Decision::Rejected(Reason::DeadlineUnreachable);
    let start = [(unreachable, 10), (Decision::Accepted, 10)];
    assert_eq!(decided(OracleDropRule::Start), start);
    assert_eq!(decided(OracleDropRule::Mixed), start);
    let late = [
        job_s(0, 12, 12, 50),
        wide(job_s(1, 4, 4, 9), 2),
        job_s(11, 9, 9, 90),
    ];
    let settings = OracleQueueSettings {
        test: OracleDropRule::Mixed,
        ..queued("edf")
    };
    let outcomes = queue::run(&late, 2, &settings);
    let passed = Decision::Rejected(Reason::DeadlinePassed);
    assert_eq!(outcomes[1].decision, passed);
    assert_eq!(outcomes[1].decided, Instant::from_secs(11));
    assert_eq!(starts(&outcomes)[2], Some(11_000_000));
    let settings = OracleQueueSettings {
        test: OracleDropRule::Select,
        ..queued("edf")
    };
    let hasty = [
        job_s(0, 10, 10, 50),
        wide(job_s(1, 4, 4, 9), 2),
        job_s(7, 9, 9, 90),
    ];
    let outcomes = queue::run(&hasty, 2, &settings);
    assert_eq!(outcomes[1].decision, unreachable);
    assert_eq!(outcomes[1].decided, Instant::from_secs(7));
}

#[test]
fn first_reward_requires_a_gain_from_jobs_without_penalty() {
    let settings = OracleQueueSettings::named("first-reward", Market::Bid);
    let settings = settings.expect("a space-shared policy");
    let free = bidding(job_s(0, 5, 5, 50), 0.0, 0.0);
    let paid = bidding(job_s(0, 5, 5, 50), 0.01, 0.0);
    let outcomes = queue::run(&[free, paid], 1, &settings);
    assert_eq!(outcomes[0].decision, Decision::Rejected(Reason::LowSlack));
    assert_eq!(outcomes[1].decision, Decision::Accepted);
}

#[test]
fn a_node_with_a_late_task_never_suits_libra_risk() {
    let jobs = [job_s(0, 20, 5, 8), job_s(9, 1, 1, 100)];
    let lenient = |policy| OracleShareSettings {
        expired: OracleShareRule::Zero,
        ..shared(policy)
    };
    let risk = share::run(&jobs, 1, &lenient("libra-risk"));
    assert_eq!(risk[1].decision, Decision::Rejected(Reason::DeadlineRisk));
    let libra = share::run(&jobs, 1, &lenient("libra"));
    assert_eq!(libra[1].decision, Decision::Accepted);
    assert_eq!(
        libra[1].ran.map(|ran| ran.finish),
        Some(Instant::from_secs(10))
    );
}

#[test]
fn node_event_within_a_microsecond_precedes_an_arrival() {
    let full = |submit| job(submit, 1_000_000, 1_000_000, 1_000_000);
    let outcomes = share::run(&[full(0), full(999_999)], 1, &shared("libra"));
    assert_eq!(outcomes[1].decision, Decision::Accepted);
    let outcomes = share::run(&[full(0), full(999_998)], 1, &shared("libra"));
    assert_eq!(
        outcomes[1].decision,
        Decision::Rejected(Reason::InsufficientShare)
    );
}
