//! The live objectives equal those that a study computes over the same jobs.

use tollgate_model::outcome::{RunInterval, delay};
use tollgate_model::{Credits, CreditsPerSecond, Decision, Market, Outcome, Reason, Span};
use tollgate_risk::Objectives;
use tollgate_service::Submission;
use tollgate_store::{JobRow, Store};

use crate::common::{TestCluster, submission};

const PENALTY: f64 = 0.25;
const NODES: u32 = 2;
const JOBS: u64 = 7;

/// Jobs that are in time, late, rejected or without a deadline, with their run times.
fn jobs() -> Vec<(Submission, &'static str)> {
    let template = |estimate_s, deadline_s: Option<i64>, budget: f64| Submission {
        deadline: deadline_s.map(Span::from_secs),
        budget: Some(Credits::from_f64(budget)),
        penalty: CreditsPerSecond::from_f64(PENALTY),
        ..submission("sleep", estimate_s)
    };
    vec![
        (template(20, Some(100), 500.0), "20"),
        (template(30, Some(60), 700.0), "90"),
        (template(10, None, 300.0), "10"),
        (template(50, Some(40), 400.0), "50"),
        (template(40, Some(90), 600.0), "35"),
        (template(25, Some(200), 450.0), "250"),
        (template(15, Some(30), 350.0), "15"),
    ]
}

fn outcome(row: &JobRow, market: Market) -> Outcome {
    let ran = row
        .start
        .zip(row.finish)
        .filter(|_| row.state == "finished");
    let ran = ran.map(|(start, finish)| RunInterval { start, finish });
    let price = row.price.unwrap_or_default();
    let budget = row.budget.unwrap_or_default();
    let late = ran.zip(row.due).map(|(ran, due)| delay(ran.finish, due));
    let utility = match market {
        Market::None => Credits::ZERO,
        Market::Commodity => price,
        Market::Bid => {
            let penalty = CreditsPerSecond::from_f64(PENALTY);
            late.map_or(budget, |late| budget - penalty.times(late))
        }
    };
    let runtime = ran.map_or(row.estimate, |ran| ran.finish.since(ran.start));
    Outcome {
        unpredictable: false,
        submit: row.submit,
        runtime,
        task_runtime: runtime,
        planned_run: row.estimate,
        procs: row.procs,
        decision: match row.state.as_str() {
            "finished" => Decision::Accepted,
            "rejected" => Decision::Rejected(Reason::DeadlineRisk),
            other => panic!("job {} is {other}", row.id),
        },
        decided: row.decided.expect("a decision"),
        ran,
        due: row.due,
        budget,
        price,
        utility,
        killed: false,
    }
}

#[test]
fn service_objectives_equal_those_of_a_study_of_the_same_jobs() {
    for (policy, market) in [
        ("libra", Market::Commodity),
        ("libra-risk", Market::Bid),
        ("edf-bf", Market::Commodity),
    ] {
        let mut site = TestCluster::in_market(policy, market);
        for (at, (submission, secs)) in (0..).zip(jobs()) {
            site.wait_until(5 * at);
            site.submit_job(submission, &["sleep", secs]).unwrap();
        }
        for secs in (40..2_000).step_by(5) {
            site.wait_until(secs);
        }
        let outcomes: Vec<Outcome> = (1..=JOBS)
            .map(|job| outcome(&site.row(job), market))
            .collect();
        let studied = Objectives::of(&outcomes, NODES, market);
        let reader = Store::open(&site.store()).unwrap().reader().unwrap();
        let live = reader.objective_sums(None).unwrap();
        assert_eq!(live.books, studied.books, "{policy}");
        assert_eq!(live.books.no_deadline(), 1, "{policy}");
        assert_eq!(Some(live.utility), studied.utility, "{policy}");
        let mean_s = live.wait.as_secs_f64() / live.books.kept() as f64;
        let wait_s = studied.wait.expect("some are fulfilled").as_secs_f64();
        assert!(
            (mean_s - wait_s).abs() < 1e-6,
            "{policy}: {mean_s} {wait_s}"
        );
        let profitability = 100.0 * live.utility.as_f64() / live.budgets.as_f64();
        let studied_pct = studied.profitability_pct.expect("a market");
        assert!((profitability - studied_pct).abs() < 1e-9, "{policy}");
        // The comparison needs late and rejected jobs.
        let late = outcomes
            .iter()
            .filter(|job| job.ran.is_some() && !job.fulfilled());
        assert!(late.count() > 0, "{policy}: no job was late");
        assert!(studied.rejected > 0, "{policy}: no job was refused");
    }
}
