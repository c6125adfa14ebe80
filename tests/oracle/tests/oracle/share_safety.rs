//! Invariants of all time-shared policies, and the specification's statements about each.

use proptest::prelude::*;
use tollgate_model::{Credits, Decision, Market, Span};
use tollgate_oracle::OracleJob;
use tollgate_oracle::generate::{OracleCase, any_case, with_exact_estimates};
use tollgate_oracle::share::{self, OracleFit, OracleShareRule, OracleShareSettings};

fn rule() -> impl Strategy<Value = OracleShareRule> {
    prop::sample::select(vec![
        OracleShareRule::Full,
        OracleShareRule::Zero,
        OracleShareRule::Keep,
        OracleShareRule::OneSecond,
    ])
}

fn settings() -> impl Strategy<Value = OracleShareSettings> {
    let fit = prop::sample::select(vec![
        OracleFit::Libra,
        OracleFit::LibraDollar,
        OracleFit::LibraRisk,
    ]);
    let market = prop::sample::select(Market::ALL.to_vec());
    (fit, rule(), rule(), market).prop_map(|(fit, overrun, expired, market)| OracleShareSettings {
        fit,
        overrun,
        expired,
        market,
    })
}

/// Returns true if a job was not faster than its run time, which it takes alone on its nodes.
fn is_plausible(job: &OracleJob, took: Span) -> bool {
    took + Span::from_micros(2) >= job.runtime
}

proptest! {
    #[test]
    fn accepted_jobs_finish_and_never_run_too_fast(case in any_case(10), settings in settings()) {
        for (job, outcome) in case.jobs.iter().zip(share::run(&case.jobs, case.nodes, &settings)) {
            prop_assert_eq!(outcome.decided, job.spec.submit);
            let Some(ran) = outcome.ran else {
                prop_assert!(outcome.decision != Decision::Accepted);
                continue;
            };
            prop_assert_eq!(ran.start, job.spec.submit);
            prop_assert!(is_plausible(job, ran.finish.since(ran.start)));
            prop_assert_eq!(outcome.nodes.len(), job.spec.procs as usize);
            prop_assert!(outcome.nodes.is_sorted());
        }
    }

    #[test]
    fn libra_keeps_every_promise_on_exact_estimates(case in any_case(10), market in prop::sample::select(Market::ALL.to_vec())) {
        let case = with_exact_estimates(case);
        for policy in ["libra", "libra-dollar"] {
            let settings = OracleShareSettings::named(policy, market).expect("a time-shared policy");
            for (job, outcome) in case.jobs.iter().zip(share::run(&case.jobs, case.nodes, &settings)) {
                prop_assert!(outcome.decision != Decision::Accepted || outcome.fulfilled(job));
            }
        }
    }

    #[test]
    fn no_work_is_lost_on_a_node(case in any_case(10), settings in settings()) {
        let case = OracleCase { nodes: 1, ..case };
        let outcomes = share::run(&case.jobs, 1, &settings);
        let ran = case.jobs.iter().zip(&outcomes).filter_map(|(job, outcome)| Some((job, outcome.ran?)));
        let mut arrivals: Vec<_> = ran.clone().map(|(job, _)| (job.spec.submit, job.runtime)).collect();
        arrivals.sort();
        let Some(&(mut free, _)) = arrivals.first() else { return Ok(()) };
        for (submit, runtime) in arrivals {
            free = free.max(submit) + runtime;
        }
        let last = ran.map(|(_, ran)| ran.finish).max().expect("something arrived");
        let rounding = Span::from_micros(4 * case.jobs.len() as i64);
        prop_assert!(last.since(free) <= rounding && free.since(last) <= rounding);
    }

    #[test]
    fn price_never_exceeds_the_budget(case in any_case(10), settings in settings()) {
        for (job, outcome) in case.jobs.iter().zip(share::run(&case.jobs, case.nodes, &settings)) {
            prop_assert!(!job.cannot_pay(outcome.price));
            prop_assert!(settings.market == Market::Commodity || outcome.price == Credits::ZERO);
        }
    }

    #[test]
    fn without_a_price_libra_dollar_is_libra(case in any_case(10)) {
        for market in [Market::None, Market::Bid] {
            let run = |policy| {
                let settings = OracleShareSettings::named(policy, market).expect("a time-shared policy");
                share::run(&case.jobs, case.nodes, &settings)
            };
            prop_assert_eq!(run("libra"), run("libra-dollar"));
        }
    }
}
