//! Objectives and measures of small sets of jobs, compared with hand computation and plain sums.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, Market, Outcome, Reason, Span};
use tollgate_risk::Objectives;

/// Returns a job submitted at 0 that would take 10 s on one processor and pay 100 credits within 50
/// s.
fn job() -> Outcome {
    Outcome {
        unpredictable: false,
        submit: Instant::ZERO,
        runtime: Span::from_secs(10),
        task_runtime: Span::from_secs(10),
        planned_run: Span::from_secs(10),
        procs: 1,
        decision: Decision::Accepted,
        decided: Instant::ZERO,
        ran: None,
        due: Some(Instant::from_secs(50)),
        budget: Credits::from_f64(100.0),
        price: Credits::ZERO,
        utility: Credits::ZERO,
        killed: false,
    }
}

fn rejected(reason: Reason) -> Outcome {
    Outcome {
        decision: Decision::Rejected(reason),
        ..job()
    }
}

fn ran(start_s: i64, finish_s: i64, utility: f64) -> Outcome {
    Outcome {
        ran: Some(RunInterval {
            start: Instant::from_secs(start_s),
            finish: Instant::from_secs(finish_s),
        }),
        utility: Credits::from_f64(utility),
        ..job()
    }
}

/// Returns five jobs: two fulfilled, one late, one rejected at submission, one rejected while
/// queued.
fn five_jobs() -> Vec<Outcome> {
    vec![
        ran(0, 10, 100.0),
        ran(40, 50, 100.0),
        ran(90, 100, -50.0),
        rejected(Reason::TooManyProcs),
        rejected(Reason::DeadlinePassed),
    ]
}

#[test]
fn the_four_objectives() {
    let found = Objectives::of(&five_jobs(), 2, Market::Bid);
    assert_eq!((found.submitted, found.accepted), (5, 3));
    assert_eq!((found.rejected, found.fulfilled), (2, 2));
    assert_eq!(found.wait, Some(Span::from_secs(20)));
    assert_eq!(found.sla_pct, 40.0);
    assert!((found.reliability_pct - 200.0 / 3.0).abs() < 1e-12);
    assert_eq!(found.profitability_pct, Some(30.0));
    assert_eq!(found.utility, Some(Credits::from_f64(150.0)));
}

#[test]
fn jobs_without_a_deadline_count_in_neither_sla_nor_reliability() {
    let free = |outcome: Outcome| Outcome {
        due: None,
        ..outcome
    };
    let mut jobs = five_jobs();
    jobs.extend([free(ran(0, 10, 0.0)), free(rejected(Reason::TooManyProcs))]);
    let (found, without) = (
        Objectives::of(&jobs, 2, Market::Bid),
        Objectives::of(&five_jobs(), 2, Market::Bid),
    );
    assert_eq!((found.submitted, found.accepted), (7, 4));
    assert_eq!(found.fulfilled, without.fulfilled);
    assert_eq!(found.sla_pct, without.sla_pct);
    assert_eq!(found.reliability_pct, without.reliability_pct);
    assert_eq!(found.wait, without.wait);
}

#[test]
fn the_usual_measures_count_late_jobs_too() {
    let found = Objectives::of(&five_jobs(), 2, Market::Bid);
    assert_eq!(found.mean_wait, Some(Span::from_micros(43_333_333)));
    assert_eq!(found.median_wait, Some(Span::from_secs(40)));
    assert_eq!(found.mean_bounded_slowdown, Some((1.0 + 5.0 + 10.0) / 3.0));
    assert_eq!(found.mean_slowdown_fulfilled, Some(3.0));
    assert_eq!(found.makespan, Some(Span::from_secs(100)));
    assert_eq!(found.utilisation, Some(0.15));
}

#[test]
fn reasons_are_counted_in_their_order() {
    let reasons = [
        Reason::DeadlineRisk,
        Reason::TooManyProcs,
        Reason::DeadlineRisk,
    ];
    let found = Objectives::of(&reasons.map(rejected), 1, Market::None);
    let expected = BTreeMap::from([(Reason::TooManyProcs, 1), (Reason::DeadlineRisk, 2)]);
    assert_eq!(found.rejected_by_reason, expected);
    assert!(found.rejected_by_reason.into_keys().is_sorted());
}

#[test]
fn without_a_market_there_is_no_money() {
    let found = Objectives::of(&five_jobs(), 2, Market::None);
    assert_eq!((found.utility, found.profitability_pct), (None, None));
    let found = Objectives::of(&five_jobs(), 2, Market::Commodity);
    assert_eq!(found.profitability_pct, Some(30.0));
}

#[test]
fn nothing_accepted_is_perfectly_reliable() {
    let found = Objectives::of(&[rejected(Reason::DeadlineRisk)], 1, Market::Bid);
    assert_eq!((found.sla_pct, found.reliability_pct), (0.0, 100.0));
    assert_eq!((found.wait, found.mean_slowdown_fulfilled), (None, None));
    assert_eq!((found.mean_wait, found.median_wait), (None, None));
    assert_eq!((found.makespan, found.utilisation), (None, None));
    assert_eq!(found.mean_bounded_slowdown, None);
}

#[test]
fn objectives_of_no_jobs_are_defined() {
    let found = Objectives::of(&[], 1, Market::Bid);
    assert_eq!((found.submitted, found.sla_pct), (0, 100.0));
    assert_eq!(found.profitability_pct, None);
    assert_eq!(found.utility, Some(Credits::ZERO));
}

#[test]
fn late_jobs_alone_have_waits_but_no_wait_objective() {
    let found = Objectives::of(&[ran(60, 70, 0.0)], 1, Market::None);
    assert_eq!((found.wait, found.mean_slowdown_fulfilled), (None, None));
    assert_eq!(found.mean_wait, Some(Span::from_secs(60)));
    assert_eq!(found.reliability_pct, 0.0);
}

#[test]
fn the_makespan_starts_with_the_first_submission_even_of_a_rejected_job() {
    let early = Outcome {
        submit: Instant::from_secs(-30),
        ..rejected(Reason::DeadlineRisk)
    };
    let found = Objectives::of(&[ran(0, 10, 0.0), early], 1, Market::None);
    assert_eq!(found.makespan, Some(Span::from_secs(40)));
    assert_eq!(found.utilisation, Some(0.25));
}

#[test]
fn tiny_jobs_are_bounded_at_ten_seconds() {
    let tiny = Outcome {
        runtime: Span::from_micros(1),
        ..ran(90, 95, 0.0)
    };
    let found = Objectives::of(&[tiny], 1, Market::None);
    assert_eq!(found.mean_bounded_slowdown, Some(9.5));
}

#[test]
fn a_job_without_run_time_has_no_slowdown() {
    for runtime in [Span::ZERO, Span::TICK] {
        let empty = Outcome {
            runtime,
            ..ran(5, 5, 0.0)
        };
        let found = Objectives::of(&[empty, ran(10, 20, 0.0)], 1, Market::None);
        assert_eq!(found.fulfilled, 2);
        assert_eq!(found.mean_slowdown_fulfilled, Some(2.0));
    }
}

#[test]
fn absurd_money_saturates() {
    let rich = Outcome {
        budget: Credits::from_micros(i64::MAX),
        utility: Credits::from_micros(i64::MAX),
        ..ran(0, 10, 0.0)
    };
    let found = Objectives::of(&[rich, rich, rich], 1, Market::Bid);
    assert_eq!(found.utility, Some(Credits::from_micros(i64::MAX)));
    assert_eq!(found.profitability_pct, Some(100.0));
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let times = (0..1_000_000i64, 0..1_000_000i64, 1..1_000_000i64);
    let reason = proptest::sample::select(Reason::ALL.to_vec());
    let end = prop_oneof![
        Just((Decision::Accepted, true)),
        Just((Decision::Accepted, false)),
        reason.prop_map(|reason| (Decision::Rejected(reason), false)),
    ];
    (times, 1..8u32, 0..2_000_000i64, end).prop_map(|(times, procs, deadline, (decision, ran))| {
        let (submit, wait, runtime) = times;
        let at = Instant::from_micros;
        Outcome {
            submit: at(submit),
            runtime: Span::from_micros(runtime),
            task_runtime: Span::from_micros(runtime),
            planned_run: Span::from_micros(runtime),
            procs,
            decision,
            decided: at(submit),
            ran: ran.then(|| RunInterval {
                start: at(submit + wait),
                finish: at(submit + wait + runtime),
            }),
            due: Some(at(submit + deadline)),
            ..job()
        }
    })
}

proptest! {
    #[test]
    fn counts_and_waits_agree_with_plain_sums(
        outcomes in proptest::collection::vec(any_outcome(), 0..120),
    ) {
        let found = Objectives::of(&outcomes, 4, Market::None);
        prop_assert_eq!(found.submitted, found.accepted + found.rejected);
        prop_assert_eq!(found.rejected, found.rejected_by_reason.values().sum::<u64>());
        prop_assert!(found.fulfilled <= found.accepted);

        let mut waits: Vec<_> = outcomes.iter().filter_map(Outcome::wait).collect();
        waits.sort_unstable();
        let micros: Vec<_> = waits.iter().map(|wait| wait.as_micros()).collect();
        let n = micros.len();
        let mean = (n > 0).then(|| (micros.iter().sum::<i64>() as f64 / n as f64).round() as i64);
        prop_assert_eq!(found.mean_wait, mean.map(Span::from_micros));
        let median = (n > 0).then(|| (micros[(n - 1) / 2] + micros[n / 2] + 1).div_euclid(2));
        prop_assert_eq!(found.median_wait, median.map(Span::from_micros));
        let upper = found.wait_quantiles.map(|quantiles| [quantiles.p90, quantiles.p95]);
        let ranks = [(90 * n).div_ceil(100), (95 * n).div_ceil(100)];
        prop_assert_eq!(upper, (n > 0).then(|| ranks.map(|rank| waits[rank - 1])));
    }

    #[test]
    fn the_order_of_jobs_changes_no_exact_measure(
        outcomes in proptest::collection::vec(any_outcome(), 0..40),
    ) {
        let mut reversed = outcomes.clone();
        reversed.reverse();
        let exact = |outcomes: &[Outcome]| Objectives {
            mean_bounded_slowdown: None,
            mean_slowdown_fulfilled: None,
            ..Objectives::of(outcomes, 4, Market::Bid)
        };
        prop_assert_eq!(exact(&outcomes), exact(&reversed));
    }
}
