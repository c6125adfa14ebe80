//! Tests of verdicts on claims with synthetic results.

use crate::common::SMALL;
use proptest::prelude::*;
use tollgate_model::{Market, Span};
use tollgate_policies::builtin_registry;
use tollgate_risk::Objectives;
use tollgate_study::claim::ClaimKind;
use tollgate_study::claim_results::ClaimVerdict;
use tollgate_study::plan::PlannedRow;
use tollgate_study::{ClaimResults, Experiment, RunMeasurements, RunPlan, StudyResults};

/// Returns results in which `sla` is the share of fulfilled jobs, in %, and `wait` is their wait.
fn results(
    experiment: &Experiment,
    sla: impl Fn(&PlannedRow) -> f64,
    wait: impl Fn(&PlannedRow) -> i64,
) -> StudyResults {
    let plan = RunPlan::of(experiment);
    let figures = plan.rows.iter().map(|row| {
        RunMeasurements::from(Objectives {
            sla_pct: sla(row),
            wait: Some(Span::from_secs(wait(row))),
            ..Objectives::of(&[], 1, Market::None)
        })
    });
    let figures = figures.collect();
    StudyResults::new(experiment.clone(), &plan, figures)
}

/// Returns the small experiment with five seeds and this claim about the policies of the bid
/// market, `fcfs-bf` and `libra-risk`.
fn claiming(claim: &str) -> Experiment {
    let (experiment, _) = SMALL.split_once("[[claim]]").unwrap();
    let experiment = experiment.replace("seeds = 2", "seeds = 5");
    let claim = format!(
        "{experiment}\n[[claim]]\nid = \"it\"\nsource = \"here\"\nclaim = \"so\"\n\
         expected = \"holds\"\nmarket = \"bid\"\n{claim}"
    );
    Experiment::parse("made-up.toml", &claim, &builtin_registry())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(claim: &str, sla: impl Fn(&PlannedRow) -> f64) -> ClaimVerdict {
    let ledger = ClaimResults::of(&results(&claiming(claim), sla, |row| row.value as i64));
    ledger.entries[0].verdict
}

/// Returns a deviation of at most a tenth that depends on the seed.
fn noise(row: &PlannedRow) -> f64 {
    [-0.1, 0.05, 0.0, 0.1, -0.05][row.seed as usize - 1]
}

const COMPARED: &str = "sets = [\"A\"]\nscenarios = [\"mix\"]\nmeasure = \"sla_pct\"\n\
                        policies = [\"libra-risk\"]\nthan = [\"fcfs-bf\"]\n";

#[test]
fn greater_and_less_respect_the_margin() {
    let lead = |row: &PlannedRow| 50.0 + 10.0 * row.policy as f64 * (1.0 + noise(row));
    for (relation, expected) in [
        ("relation = \"greater\"", ClaimVerdict::Holds),
        ("relation = \"greater\"\nby = 5", ClaimVerdict::Holds),
        ("relation = \"greater\"\nby = 10", ClaimVerdict::Undecided),
        ("relation = \"greater\"\nby = 15", ClaimVerdict::Fails),
        ("relation = \"less\"", ClaimVerdict::Fails),
        ("relation = \"less\"\nby = -15", ClaimVerdict::Holds),
        (
            "relation = \"is\"\nvalue = 10\nwithin = 2",
            ClaimVerdict::Holds,
        ),
        (
            "relation = \"is\"\nvalue = 10\nwithin = 0.1",
            ClaimVerdict::Undecided,
        ),
        (
            "relation = \"is\"\nvalue = 20\nwithin = 2",
            ClaimVerdict::Fails,
        ),
    ] {
        assert_eq!(
            verdict(&format!("{COMPARED}{relation}"), lead),
            expected,
            "{relation}"
        );
    }
}

#[test]
fn common_effect_of_a_seed_cancels_out() {
    let paired = |row: &PlannedRow| 50.0 + 30.0 * noise(row) + 0.1 * row.policy as f64;
    let claim = format!("{COMPARED}relation = \"greater\"\nby = 0");
    assert_eq!(verdict(&claim, paired), ClaimVerdict::Holds);
}

#[test]
fn effect_that_no_plot_shows_is_none() {
    let tiny = |row: &PlannedRow| 50.0 + 0.4 * row.policy as f64;
    let claim = format!("{COMPARED}relation = \"greater\"");
    assert_eq!(verdict(&claim, tiny), ClaimVerdict::Fails);
    assert_eq!(
        verdict(&format!("{claim}\nby = 0"), tiny),
        ClaimVerdict::Holds
    );
}

/// The lead is -2 at the first of three values, and 10 at the others.
#[test]
fn claim_on_the_mean_hides_a_point_that_contradicts_it() {
    let lead = |row: &PlannedRow| 50.0 + row.policy as f64 * [-2.0, 10.0, 10.0][row.value];
    for (at, expected, measured) in [
        ("each", ClaimVerdict::Fails, -2.0),
        ("mean", ClaimVerdict::Holds, 6.0),
    ] {
        let claim = format!("{COMPARED}relation = \"greater\"\nat = \"{at}\"");
        let ledger = ClaimResults::of(&results(&claiming(&claim), lead, |_| 1));
        let entry = &ledger.entries[0];
        assert_eq!(entry.verdict, expected, "{at}");
        assert_eq!((entry.agreement.agreeing, entry.agreement.all), (2, 3));
        let found = entry.measured.expect("every point is measured").mean;
        assert!((found - measured).abs() < 1e-9, "{at}: {found}");
    }
}

#[test]
fn quantity_is_compared_with_a_multiple_of_that_elsewhere() {
    let claim = format!(
        "{COMPARED}from = 1\nagainst = {{ to = 0, times = 2 }}\nrelation = \"is\"\nwithin = 0.1"
    );
    let doubling = |row: &PlannedRow| row.policy as f64 * [5.0, 7.0, 10.0][row.value];
    assert_eq!(verdict(&claim, doubling), ClaimVerdict::Holds);
}

#[test]
fn claims_are_counted_by_kind() {
    let claim = format!("{COMPARED}relation = \"greater\"\nkind = \"calibration\"");
    let experiment = claiming(&claim);
    let ledger = ClaimResults::of(&results(&experiment, |row| row.policy as f64, |_| 1));
    let counts = ledger.counts();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].0, ClaimKind::Calibration);
    assert_eq!((counts[0].1.all, counts[0].1.holds), (1, 1));
}

#[test]
fn trend_claims_test_the_slope_of_a_curve() {
    let claim = |relation: &str| {
        format!(
            "sets = [\"A\", \"B\"]\nscenarios = [\"mix\"]\nmeasure = \"sla_pct\"\n\
             policies = [\"fcfs-bf\", \"libra-risk\"]\nrelation = \"{relation}\""
        )
    };
    let rising = |row: &PlannedRow| 50.0 + row.value as f64 + noise(row);
    assert_eq!(verdict(&claim("rising"), rising), ClaimVerdict::Holds);
    assert_eq!(verdict(&claim("falling"), rising), ClaimVerdict::Fails);
    let only_one = |row: &PlannedRow| 50.0 + (row.value * row.policy) as f64 + noise(row);
    assert_eq!(verdict(&claim("rising"), only_one), ClaimVerdict::Fails);
}

/// The values of the scenario are 0, 0.2 and 1; the lead is -2, then +2.
#[test]
fn curves_cross_between_two_values() {
    let claim = |at: f64| format!("{COMPARED}relation = \"crosses\"\nvalue = {at}\nwithin = 0.02");
    let crossing = |row: &PlannedRow| row.policy as f64 * [-2.0, 2.0, 3.0][row.value];
    assert_eq!(verdict(&claim(0.1), crossing), ClaimVerdict::Holds);
    assert_eq!(verdict(&claim(0.5), crossing), ClaimVerdict::Fails);
    assert_eq!(
        verdict(&claim(0.1), |row| row.policy as f64),
        ClaimVerdict::Fails
    );
}

#[test]
fn claim_is_tested_against_its_baseline() {
    let claim = format!(
        "{COMPARED}from = 1\nagainst = {{ to = 0 }}\nrelation = \"is\"\nvalue = 10\nwithin = 1"
    );
    let growing = |row: &PlannedRow| row.policy as f64 * [5.0, 7.0, 15.0][row.value];
    assert_eq!(verdict(&claim, growing), ClaimVerdict::Holds);
    assert_eq!(
        verdict(&claim, |row| row.policy as f64),
        ClaimVerdict::Fails
    );
}

#[test]
fn risk_metrics_are_tested() {
    let claim = |measure: &str, relation: &str| {
        format!(
            "sets = [\"A\"]\nmeasure = \"{measure}\"\nobjectives = [[\"sla\"]]\n\
             policies = [\"libra-risk\"]\n{relation}"
        )
    };
    // A steady best policy, against one that falls to the worst in the first scenario only.
    let sla = |row: &PlannedRow| {
        if row.policy == 1 || row.scenario == 1 {
            100.0
        } else {
            50.0 * row.value as f64
        }
    };
    for (measure, relation) in [
        (
            "performance",
            "than = [\"fcfs-bf\"]\nrelation = \"is\"\nvalue = 0.25\nwithin = 1e-9",
        ),
        ("performance", "relation = \"is\"\nvalue = 1"),
        (
            "volatility",
            "than = [\"fcfs-bf\"]\nrelation = \"less\"\nby = 0.2",
        ),
        (
            "min-performance",
            "than = [\"fcfs-bf\"]\nrelation = \"is\"\nvalue = 0.5\nwithin = 1e-9",
        ),
        (
            "off-ideal",
            "than = [\"fcfs-bf\"]\nrelation = \"is\"\nvalue = -1",
        ),
        ("rank-performance", "relation = \"is\"\nvalue = 1"),
        ("distance", "relation = \"is\""),
    ] {
        let claim = claim(measure, relation);
        assert_eq!(verdict(&claim, sla), ClaimVerdict::Holds, "{claim}");
    }
    let steady = claim("slope", "relation = \"is\"");
    assert_eq!(
        verdict(&steady, sla),
        ClaimVerdict::Undecided,
        "one point has no trend"
    );
}

proptest! {
    #[test]
    fn a_claim_and_its_opposite_never_both_hold(
        levels in proptest::collection::vec(0.0..100.0f64, 5 * 2),
        by in -20.0..20.0f64,
    ) {
        let sla = |row: &PlannedRow| levels[row.policy * 5 + row.seed as usize - 1];
        let greater = verdict(&format!("{COMPARED}relation = \"greater\"\nby = {by:?}"), sla);
        let less = verdict(&format!("{COMPARED}relation = \"less\"\nby = {:?}", -by), sla);
        prop_assert!((greater, less) != (ClaimVerdict::Holds, ClaimVerdict::Holds));
        if greater == ClaimVerdict::Holds {
            prop_assert_eq!(less, ClaimVerdict::Fails);
        }
    }
}
