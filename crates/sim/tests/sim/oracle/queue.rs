//! Comparison of space-shared policies with a brute-force scheduler written from the rules.

use proptest::prelude::*;
use tollgate_model::Decision;
use tollgate_model::{Market, Reason};
use tollgate_oracle::OracleOutcome;
use tollgate_oracle::generate::{OracleCase, any_case, with_exact_estimates, with_safe_estimates};
use tollgate_oracle::queue::{
    self, FillRule, OracleAdmissionTest, OracleDropRule, OraclePassTrigger, OraclePenaltyScope,
    OracleQueueSettings, TieOrder,
};
use tollgate_sim::ReplayResult;

use super::common::{SpeedCase, any_speeds};

fn compare(
    case: &OracleCase,
    words: &str,
    settings: &OracleQueueSettings,
) -> Result<(), TestCaseError> {
    let expected = queue::run(&case.jobs, case.nodes, settings);
    let replay = super::common::replay(&case.jobs, case.nodes, words, settings.market);
    agree(words, &replay, expected)
}

/// Compares the policy and the oracle on processors of these speeds.
fn compare_at_speeds(
    case: &OracleCase,
    speeds: &SpeedCase,
    words: &str,
    settings: &OracleQueueSettings,
) -> Result<(), TestCaseError> {
    let (nodes, market) = (case.nodes, settings.market);
    let jobs = speeds.on_slowest(&case.jobs, nodes);
    let expected = queue::run_at_speeds(&jobs, &speeds.relative(nodes), settings);
    let machine = speeds.machine(nodes);
    let replay = super::common::replay_at_speeds(&case.jobs, nodes, machine, words, market);
    agree(words, &replay, expected)
}

fn agree(
    words: &str,
    replay: &ReplayResult,
    expected: Vec<OracleOutcome>,
) -> Result<(), TestCaseError> {
    for (job, mut expected) in expected.into_iter().enumerate() {
        let mut observed = super::common::observed_outcome(replay, job);
        // The user's bid is the price where users bid; the oracle knows only the provider's price.
        observed.price = expected.price;
        if let (Decision::Rejected(a), Decision::Rejected(b)) =
            (observed.decision, expected.decision)
            && hopeless(a)
            && hopeless(b)
        {
            expected.decision = observed.decision;
        }
        prop_assert_eq!(observed, expected, "{} job {}", words, job);
    }
    Ok(())
}

/// Returns true for either reason of a hopeless job: only the product distinguishes a missed
/// deadline from one out of reach.
fn hopeless(reason: Reason) -> bool {
    matches!(reason, Reason::DeadlinePassed | Reason::DeadlineUnreachable)
}

/// Returns the policies' variants, as text and as the oracle's settings.
fn variants(market: Market) -> Vec<(String, OracleQueueSettings)> {
    let named = |name| OracleQueueSettings::named(name, market).expect("space-shared");
    let mut variants = Vec::new();
    for name in [
        "fcfs",
        "easy",
        "conservative",
        "edf",
        "fcfs-bf",
        "sjf-bf",
        "edf-bf",
        "tail-risk-bf",
    ] {
        variants.push((name.to_owned(), named(name)));
    }
    if market != Market::None {
        variants.push(("first-reward".to_owned(), named("first-reward")));
        let entry = OracleAdmissionTest::Slack(OraclePenaltyScope::Waiting);
        let waiting = OracleQueueSettings {
            entry,
            ..named("first-reward")
        };
        variants.push(("first-reward:count=waiting".to_owned(), waiting));
    }
    for name in ["edf", "fcfs-bf", "sjf-bf", "edf-bf"] {
        for (word, test) in [
            ("select", OracleDropRule::Select),
            ("mixed", OracleDropRule::Mixed),
        ] {
            let settings = OracleQueueSettings {
                test,
                ..named(name)
            };
            variants.push((format!("{name}:test={word}"), settings));
        }
    }
    for name in ["easy", "fcfs-bf", "sjf-bf", "edf-bf"] {
        let plain = named(name);
        let extra = plain.fill != FillRule::Backfill { extra: true };
        let fill = FillRule::Backfill { extra };
        variants.push((
            format!("{name}:extra={extra}"),
            OracleQueueSettings { fill, ..plain },
        ));
        let event = OracleQueueSettings {
            pass: OraclePassTrigger::Event,
            ties: TieOrder::ArrivalsFirst,
            ..plain
        };
        variants.push((format!("{name}:pass=event"), event));
    }
    variants
}

proptest! {
    #![proptest_config(super::common::cases(600))]

    #[test]
    fn agrees_with_brute_force_without_a_market(case in any_case(14)) {
        for (words, settings) in variants(Market::None) {
            compare(&case, &words, &settings)?;
        }
    }

    #[test]
    fn agrees_with_brute_force_in_the_commodity_market(case in any_case(12)) {
        for (words, settings) in variants(Market::Commodity) {
            compare(&case, &words, &settings)?;
        }
    }

    #[test]
    fn agrees_with_brute_force_in_the_bid_market(case in any_case(12)) {
        for (words, settings) in variants(Market::Bid) {
            compare(&case, &words, &settings)?;
        }
    }

    #[test]
    fn agrees_with_brute_force_on_nodes_of_any_speeds(
        case in any_case(12),
        speeds in any_speeds(),
        market in 0usize..3,
    ) {
        for (words, settings) in variants(Market::ALL[market]) {
            compare_at_speeds(&case, &speeds, &words, &settings)?;
        }
    }

    /// Jobs that end when they were expected to leave the reservations of the last pass as they are.
    #[test]
    fn conservative_agrees_with_brute_force_on_exact_estimates(
        case in any_case(30).prop_map(with_exact_estimates),
    ) {
        let settings = OracleQueueSettings::named("conservative", Market::None).expect("space-shared");
        compare(&case, "conservative", &settings)?;
    }

    /// A policy that may drop jobs on sight makes all reservations anew at each pass. Jobs without a
    /// deadline are never dropped.
    #[test]
    fn reservations_of_the_last_pass_decide_like_new_ones(
        case in any_case(40),
        exact in any::<bool>(),
        depth in prop::sample::select(vec!["2", "3", "all"]),
        order in prop::sample::select(vec!["fcfs", "sjf"]),
        pass in prop::sample::select(vec!["instant", "event"]),
    ) {
        let mut case = if exact { with_exact_estimates(case) } else { case };
        for job in &mut case.jobs {
            job.spec.sla.deadline = None;
        }
        let words = format!("conservative:depth={depth},order={order},pass={pass}");
        let run = |words: &str| super::common::replay(&case.jobs, case.nodes, words, Market::None);
        prop_assert_eq!(run(&words), run(&format!("{words},test=mixed")));
    }

    /// Kept reservations slip only when a job outlives its estimate.
    #[test]
    fn kept_reservations_agree_with_brute_force(case in any_case(12).prop_map(with_safe_estimates)) {
        let plain = OracleQueueSettings::named("conservative", Market::None).expect("space-shared");
        let fill = FillRule::Conservative { replan: queue::ReplanRule::Never };
        compare(&case, "conservative:compress=false", &OracleQueueSettings { fill, ..plain })?;
    }
}
