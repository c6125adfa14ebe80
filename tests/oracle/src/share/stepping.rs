//! The same nodes simulated in small time steps: events are detected, not predicted. As the steps
//! get smaller, the result converges to that of the event-driven nodes.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tollgate_model::{Instant, Market, Span};

use super::node::{OracleShareNode, OracleShareTask};
use super::{OracleFit, OracleShareRule, OracleShareSettings};
use crate::OracleJob;
use crate::generate::{OracleCase, fractional};

/// Returns the end of each job of `case` if one node took them all, by events.
fn by_events(case: &OracleCase, settings: &OracleShareSettings) -> Vec<Instant> {
    let mut node = OracleShareNode::of_speed(1.0, Instant::ZERO);
    let mut finishes = vec![Instant::ZERO; case.jobs.len()];
    for (job, arriving) in arrivals(case) {
        node.advance(arriving.spec.submit, settings, &mut finishes);
        node.add(
            OracleShareTask::new(job, arriving),
            arriving.spec.submit,
            settings,
        );
    }
    node.drain(settings, &mut finishes);
    finishes
}

/// Returns the same ends in steps of `step`.
fn by_steps(case: &OracleCase, settings: &OracleShareSettings, step: Span) -> Vec<Instant> {
    let mut node = OracleShareNode::of_speed(1.0, Instant::ZERO);
    let mut finishes = vec![Instant::ZERO; case.jobs.len()];
    let mut coming = arrivals(case).into_iter().peekable();
    let mut now = Instant::ZERO;
    while coming.peek().is_some() || !node.tasks.is_empty() {
        if node.had_event(now) {
            node.step(now, settings, &mut finishes);
        }
        while let Some((job, arriving)) =
            coming.next_if(|(_, arriving)| arriving.spec.submit <= now)
        {
            node.add(OracleShareTask::new(job, arriving), now, settings);
        }
        now += step;
    }
    finishes
}

fn arrivals(case: &OracleCase) -> Vec<(usize, &OracleJob)> {
    let mut arrivals: Vec<(usize, &OracleJob)> = case.jobs.iter().enumerate().collect();
    arrivals.sort_by_key(|(_, job)| job.spec.submit);
    arrivals
}

/// Returns the largest difference between two lists of instants, in seconds.
fn max_difference(one: &[Instant], other: &[Instant]) -> f64 {
    let apart = one.iter().zip(other);
    apart
        .map(|(one, other)| one.since(*other).as_secs_f64().abs())
        .fold(0.0, f64::max)
}

fn settings(overrun: OracleShareRule, expired: OracleShareRule) -> OracleShareSettings {
    OracleShareSettings {
        fit: OracleFit::Libra,
        overrun,
        expired,
        market: Market::None,
    }
}

fn rule() -> impl Strategy<Value = OracleShareRule> {
    prop_oneof![
        Just(OracleShareRule::Full),
        Just(OracleShareRule::Zero),
        Just(OracleShareRule::Keep),
        Just(OracleShareRule::OneSecond),
    ]
}

/// Where two events happen at nearly one instant, their order changes a share, and no step is small
/// enough; so the cases are fixed ones without ties.
#[test]
fn small_steps_converge_to_the_event_simulation() {
    let generator = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::with_cases(128), generator);
    let cases = (fractional(5), rule(), rule());
    let checked = runner.run(&cases, |(case, overrun, expired)| {
        let settings = settings(overrun, expired);
        let events = by_events(&case, &settings);
        let steps = |micros| by_steps(&case, &settings, Span::from_micros(micros));
        prop_assert!(max_difference(&events, &steps(4_000)) <= 0.080);
        prop_assert!(max_difference(&events, &steps(250)) <= 0.005);
        Ok(())
    });
    checked.expect("every case converges");
}
