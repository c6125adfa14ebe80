//! The constants of the papers' prices and rewards, set as parameters of the policies.

use tollgate_model::{
    Credits, CreditsPerSecond, Decision, Instant, JobSpec, Market, Outcome, PenaltyLimit, Sla,
    Span, UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, replay};

/// Returns a job on one node, with a deadline of twice its run time of 100 s.
fn arrival(submit: i64, budget: f64, penalty: f64) -> JobArrival {
    let runtime = Span::from_secs(100);
    JobArrival {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::from_secs(submit),
            estimate: runtime,
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: Some(Span::from_secs(200)),
                budget: Some(Credits::from_f64(budget)),
                penalty: CreditsPerSecond::from_f64(penalty),
                ..Sla::default()
            },
        },
        runtime,
        requested_memory: Default::default(),
        is_requested: true,
    }
}

/// Returns what becomes of the jobs on a single node.
fn outcomes(policy: &str, market: Market, jobs: &[JobArrival]) -> Vec<Outcome> {
    let limit = PenaltyLimit::UNLIMITED;
    limited_outcomes(policy, market, jobs, limit)
}

/// Returns what becomes of the jobs on a single node if delays have a limit.
fn limited_outcomes(
    policy: &str,
    market: Market,
    jobs: &[JobArrival],
    penalty_limit: PenaltyLimit,
) -> Vec<Outcome> {
    let settings = ReplayConfig {
        record_level: RecordLevel::Checked,
        penalty_limit,
        ..ReplayConfig::new(1, market)
    };
    let policy = &builtin_registry().parse_list(policy).unwrap()[0];
    let ran = replay(jobs.iter().copied(), policy.build(market), &settings);
    ran.unwrap().outcomes
}

/// Returns the price of a job with a large budget on an empty node in the commodity market.
#[track_caller]
fn price(policy: &str) -> f64 {
    let outcomes = outcomes(policy, Market::Commodity, &[arrival(0, 1000.0, 0.0)]);
    assert_eq!(outcomes[0].decision, Decision::Accepted, "{policy}");
    outcomes[0].price.as_f64()
}

/// Half of the node's time until the deadline is free.
#[test]
fn libra_dollar_price_is_alpha_times_base_plus_beta_by_the_free_part() {
    assert_eq!(price("libra-dollar"), 160.0);
    assert_eq!(price("libra-dollar:alpha=2"), 260.0);
    assert_eq!(price("libra-dollar:beta=0.6"), 220.0);
    assert_eq!(price("libra-dollar:beta=0"), 100.0);
    assert_eq!(price("libra-dollar:base-price=2"), 320.0);
}

#[test]
fn libra_price_is_gamma_times_estimate_plus_delta_by_the_deadline() {
    assert_eq!(price("libra"), 100.5);
    assert_eq!(price("libra:gamma=2"), 200.5);
    assert_eq!(price("libra:delta=100"), 150.0);
}

#[test]
fn base_price_of_a_queue_decides_which_jobs_can_pay() {
    assert_eq!(price("fcfs-bf"), 100.0);
    assert_eq!(price("fcfs-bf:base-price=3"), 300.0);
    let poor = [arrival(0, 299.0, 0.0)];
    let outcomes = outcomes("fcfs-bf:base-price=3", Market::Commodity, &poor);
    assert!(matches!(outcomes[0].decision, Decision::Rejected(_)));
}

/// The second job has the greater bid, the third one the greater penalty rate.
#[test]
fn alpha_weighs_bids_against_the_delay_of_other_jobs() {
    let jobs = [
        arrival(0, 10.0, 0.0),
        arrival(1, 1000.0, 0.0),
        arrival(1, 10.0, 5.0),
    ];
    let starts = |policy: &str| -> Vec<Instant> {
        let outcomes = outcomes(policy, Market::Bid, &jobs);
        let starts = outcomes.iter();
        starts.map(|outcome| outcome.ran.unwrap().start).collect()
    };
    let at = |seconds: [i64; 3]| seconds.map(Instant::from_secs);
    assert_eq!(starts("easy:order=reward"), at([0, 100, 200]));
    assert_eq!(starts("easy:order=reward,alpha=0"), at([0, 200, 100]));
}

/// Three jobs at once: the second is in time, the third 100 s late at 3 credits a second.
#[test]
fn delay_costs_at_most_the_limit() {
    let jobs = [arrival(0, 120.0, 3.0); 3];
    let utility = |factor: f64| {
        let limit = PenaltyLimit::of_budgets(factor);
        let outcomes = limited_outcomes("edf-bf:test=none", Market::Bid, &jobs, limit);
        let utilities = outcomes.iter().map(|outcome| outcome.utility.as_f64());
        utilities.collect::<Vec<f64>>()
    };
    assert_eq!(utility(f64::INFINITY), [120.0, 120.0, -180.0]);
    assert_eq!(utility(2.5), [120.0, 120.0, -180.0]);
    assert_eq!(utility(1.0), [120.0, 120.0, 0.0]);
    assert_eq!(utility(0.5), [120.0, 120.0, 60.0]);
    assert_eq!(utility(0.0), [120.0, 120.0, 120.0]);
}
