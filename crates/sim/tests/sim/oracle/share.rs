//! Comparison of time-shared policies with a brute-force simulator written from the rules.

use proptest::prelude::*;
use tollgate_model::{Instant, Market, Span};
use tollgate_oracle::generate::{OracleCase, any_case};
use tollgate_oracle::share::{self as oracle, OracleShareRule, OracleShareSettings};
use tollgate_oracle::tail::{self, OracleTailSettings};
use tollgate_oracle::{OracleJob, OracleOutcome};
use tollgate_sim::ReplayResult;

use super::common::{SpeedCase, any_speeds};

/// Returns true if two instants are equal but for the rounding of real-valued work.
fn close(a: Instant, b: Instant) -> bool {
    a.since(b).as_micros().abs() <= 50
}

/// Returns the oracle's outcomes, unless the case is on a knife's edge. There the oracle itself decides
/// otherwise if every run time is a few microseconds longer or shorter, and the rounding of real-valued work
/// decides by chance.
fn settled(
    case: &OracleCase,
    oracle: impl Fn(&[OracleJob]) -> Vec<OracleOutcome>,
) -> Option<Vec<OracleOutcome>> {
    let expected = oracle(&case.jobs);
    let stable = [-3, 3].into_iter().all(|micros| {
        let mut jobs = case.jobs.clone();
        for job in &mut jobs {
            job.runtime += Span::from_micros(micros);
        }
        let nearby = oracle(&jobs);
        let mut pairs = expected.iter().zip(&nearby);
        pairs.all(|(one, other)| difference(one, other).is_none())
    });
    stable.then_some(expected)
}

/// Returns a difference between two outcomes of a job beyond rounding, if any.
fn difference(one: &OracleOutcome, other: &OracleOutcome) -> Option<&'static str> {
    if one.decision != other.decision {
        return Some("decision");
    }
    if one.nodes != other.nodes {
        return Some("nodes");
    }
    let (Some(ran), Some(other_ran)) = (one.ran, other.ran) else {
        return (one.ran != other.ran).then_some("run");
    };
    if ran.start != other_ran.start || !close(ran.finish, other_ran.finish) {
        return Some("run");
    }
    let off = (one.utility - other.utility).as_f64().abs();
    (off > 1e-3).then_some("utility")
}

fn compare(
    case: &OracleCase,
    words: &str,
    settings: &OracleShareSettings,
) -> Result<(), TestCaseError> {
    let oracle = |jobs: &[OracleJob]| oracle::run(jobs, case.nodes, settings);
    compare_with(case, words, settings.market, oracle)
}

fn compare_with(
    case: &OracleCase,
    words: &str,
    market: Market,
    oracle: impl Fn(&[OracleJob]) -> Vec<OracleOutcome>,
) -> Result<(), TestCaseError> {
    let Some(expected) = settled(case, oracle) else {
        return Ok(());
    };
    let replay = super::common::replay(&case.jobs, case.nodes, words, market);
    agree(words, &replay, &expected)
}

/// Compares the policy and the oracle on nodes of these speeds.
fn compare_at_speeds(
    case: &OracleCase,
    speeds: &SpeedCase,
    words: &str,
    market: Market,
    oracle: impl Fn(&[OracleJob], &[f64]) -> Vec<OracleOutcome>,
) -> Result<(), TestCaseError> {
    let nodes = case.nodes;
    let relative = speeds.relative(nodes);
    let observed = OracleCase {
        nodes,
        jobs: speeds.on_slowest(&case.jobs, nodes),
    };
    let Some(expected) = settled(&observed, |jobs| oracle(jobs, &relative)) else {
        return Ok(());
    };
    let machine = speeds.machine(nodes);
    let replay = super::common::replay_at_speeds(&case.jobs, nodes, machine, words, market);
    agree(words, &replay, &expected)
}

fn agree(
    words: &str,
    replay: &ReplayResult,
    expected: &[OracleOutcome],
) -> Result<(), TestCaseError> {
    for (job, expected) in expected.iter().enumerate() {
        let observed = super::common::observed_outcome(replay, job);
        let what = difference(&observed, expected);
        prop_assert_eq!(
            what,
            None,
            "{} job {}: {:?} is not {:?}",
            words,
            job,
            observed,
            expected
        );
    }
    Ok(())
}

const RULES: [(&str, OracleShareRule); 4] = [
    ("full", OracleShareRule::Full),
    ("zero", OracleShareRule::Zero),
    ("keep", OracleShareRule::Keep),
    ("one-second", OracleShareRule::OneSecond),
];

proptest! {
    #![proptest_config(super::common::cases(1500))]

    #[test]
    fn agrees_with_brute_force_in_every_market(case in any_case(16), market in 0usize..3) {
        let market = Market::ALL[market];
        for name in ["libra", "libra-risk", "libra-dollar"] {
            let settings = OracleShareSettings::named(name, market).expect("time-shared");
            compare(&case, name, &settings)?;
        }
    }

    #[test]
    fn agrees_with_brute_force_under_every_rule(case in any_case(16), overrun in 0usize..4, expired in 0usize..4) {
        for name in ["libra", "libra-risk"] {
            let plain = OracleShareSettings::named(name, Market::None).expect("time-shared");
            let settings = OracleShareSettings {
                overrun: RULES[overrun].1,
                expired: RULES[expired].1,
                ..plain
            };
            let words = format!("{name}:overrun={},expired={}", RULES[overrun].0, RULES[expired].0);
            compare(&case, &words, &settings)?;
        }
    }

    #[test]
    fn agrees_with_brute_force_on_nodes_of_any_speeds(
        case in any_case(16),
        speeds in any_speeds(),
        market in 0usize..3,
    ) {
        let market = Market::ALL[market];
        for name in ["libra", "libra-risk", "libra-dollar"] {
            let settings = OracleShareSettings::named(name, market).expect("time-shared");
            compare_at_speeds(&case, &speeds, name, market, |jobs, speeds| {
                oracle::run_at_speeds(jobs, speeds, &settings)
            })?;
        }
        let settings = OracleTailSettings { bound: 0.1, trusted: true, market };
        let words = "tail-risk:bound=0.1,deadlines=trusted";
        compare_at_speeds(&case, &speeds, words, market, |jobs, speeds| {
            tail::run_at_speeds(jobs, speeds, &settings)
        })?;
    }

    #[test]
    fn tail_admission_agrees_with_brute_force(
        case in any_case(16),
        market in 0usize..3,
        bound in 0usize..3,
        trusted in any::<bool>(),
    ) {
        let bound = [0.01, 0.1, 0.5][bound];
        let market = Market::ALL[market];
        let settings = OracleTailSettings { bound, trusted, market };
        let deadlines = if trusted { "trusted" } else { "tested" };
        let words = format!("tail-risk:bound={bound},deadlines={deadlines}");
        compare_with(&case, &words, market, |jobs| tail::run(jobs, case.nodes, &settings))?;
    }
}
