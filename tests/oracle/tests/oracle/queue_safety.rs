//! Invariants of all space-shared policies, and the specification's statements about each.

use proptest::prelude::*;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Decision, Instant, Market, Span};
use tollgate_oracle::generate::{OracleCase, any_case, with_exact_estimates, with_safe_estimates};
use tollgate_oracle::queue::{
    self, FillRule, OracleDropRule, OraclePassTrigger, OracleQueueSettings, ReplanRule,
};
use tollgate_oracle::{OracleJob, OracleOutcome};

const POLICIES: [&str; 8] = [
    "fcfs",
    "easy",
    "conservative",
    "edf",
    "fcfs-bf",
    "sjf-bf",
    "edf-bf",
    "first-reward",
];

/// The policies that drop jobs that can no longer make their deadline.
const TESTED: [&str; 4] = ["edf", "fcfs-bf", "sjf-bf", "edf-bf"];

fn settings(policies: &[&'static str]) -> impl Strategy<Value = OracleQueueSettings> {
    let market = prop::sample::select(Market::ALL.to_vec());
    let policy = prop::sample::select(policies.to_vec());
    let pass = prop_oneof![
        Just(OraclePassTrigger::Instant),
        Just(OraclePassTrigger::Event)
    ];
    let test = prop_oneof![
        Just(OracleDropRule::Start),
        Just(OracleDropRule::Select),
        Just(OracleDropRule::Mixed)
    ];
    (policy, market, pass, test).prop_map(|(policy, market, pass, test)| {
        let named = OracleQueueSettings::named(policy, market).expect("a space-shared policy");
        let test = match named.test {
            OracleDropRule::Never => OracleDropRule::Never,
            OracleDropRule::Start | OracleDropRule::Select | OracleDropRule::Mixed => test,
        };
        OracleQueueSettings {
            pass,
            test,
            ..named
        }
    })
}

fn conservative(replan: ReplanRule) -> OracleQueueSettings {
    OracleQueueSettings {
        fill: FillRule::Conservative { replan },
        ..OracleQueueSettings::named("conservative", Market::None).expect("a space-shared policy")
    }
}

fn starts(case: &OracleCase, settings: &OracleQueueSettings) -> Vec<Option<RunInterval>> {
    let outcomes = queue::run(&case.jobs, case.nodes, settings);
    outcomes.into_iter().map(|outcome| outcome.ran).collect()
}

/// Returns true if two jobs that both ran shared a processor at some time.
fn collide(one: &OracleOutcome, other: &OracleOutcome) -> bool {
    let (Some(first), Some(second)) = (one.ran, other.ran) else {
        return false;
    };
    let meet = first.start < second.finish && second.start < first.finish;
    meet && one.nodes.iter().any(|node| other.nodes.contains(node))
}

fn check_job(job: &OracleJob, outcome: &OracleOutcome, nodes: u32) -> Result<(), TestCaseError> {
    prop_assert!(outcome.decided >= job.spec.submit);
    match outcome.decision {
        Decision::Rejected(_) => prop_assert_eq!(outcome.ran, None),
        Decision::Accepted | Decision::Unpromised => {
            let ran = outcome.ran.expect("an accepted job runs");
            prop_assert!(ran.start >= outcome.decided);
            prop_assert_eq!(ran.finish.since(ran.start), job.runtime);
            prop_assert_eq!(outcome.nodes.len(), job.spec.procs as usize);
            prop_assert!(outcome.nodes.iter().all(|node| node.0 < nodes));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_processor_runs_two_jobs(case in any_case(12), settings in settings(&POLICIES)) {
        let outcomes = queue::run(&case.jobs, case.nodes, &settings);
        for (place, outcome) in outcomes.iter().enumerate() {
            check_job(&case.jobs[place], outcome, case.nodes)?;
            let others = &outcomes[..place];
            prop_assert!(!others.iter().any(|other| collide(outcome, other)));
        }
    }

    #[test]
    fn exact_estimates_keep_every_tested_deadline(case in any_case(12), settings in settings(&TESTED)) {
        let case = with_exact_estimates(case);
        let outcomes = queue::run(&case.jobs, case.nodes, &settings);
        let accepted = case.jobs.iter().zip(&outcomes)
            .filter(|(_, outcome)| outcome.decision == Decision::Accepted);
        for (job, outcome) in accepted {
            prop_assert!(outcome.fulfilled(job));
        }
    }

    #[test]
    fn backfilling_never_delays_the_head_of_the_queue(case in any_case(12)) {
        let case = with_exact_estimates(case);
        let fcfs = OracleQueueSettings::named("fcfs", Market::None).expect("a space-shared policy");
        let easy = OracleQueueSettings::named("easy", Market::None).expect("a space-shared policy");
        let order = |job: &OracleJob| job.spec.submit;
        let wide = case.jobs.iter().filter(|job| job.spec.procs <= case.nodes);
        let Some(first) = wide.map(order).min() else { return Ok(()) };
        let first = case.jobs.iter()
            .position(|job| job.spec.submit == first && job.spec.procs <= case.nodes)
            .expect("it was found among them");
        prop_assert_eq!(starts(&case, &fcfs)[first], starts(&case, &easy)[first]);
    }

    #[test]
    fn all_readings_of_conservative_agree_on_exact_estimates(case in any_case(12)) {
        let case = with_exact_estimates(case);
        let every = starts(&case, &conservative(ReplanRule::EveryPass));
        prop_assert_eq!(&every, &starts(&case, &conservative(ReplanRule::EarlyEnd)));
        prop_assert_eq!(&every, &starts(&case, &conservative(ReplanRule::Never)));
    }

    #[test]
    fn both_compression_readings_agree_without_underestimates(case in any_case(12)) {
        let case = with_safe_estimates(case);
        prop_assert_eq!(
            starts(&case, &conservative(ReplanRule::EveryPass)),
            starts(&case, &conservative(ReplanRule::EarlyEnd))
        );
    }

    #[test]
    fn conservative_on_exact_estimates_is_first_come_first_placed(case in any_case(12)) {
        let case = with_exact_estimates(case);
        let found = starts(&case, &conservative(ReplanRule::EveryPass));
        let mut order: Vec<usize> = (0..case.jobs.len()).collect();
        order.sort_by_key(|&job| case.jobs[job].spec.submit);
        let mut placed: Vec<(RunInterval, u32)> = Vec::new();
        for job in order {
            let asked = &case.jobs[job];
            if asked.spec.procs <= case.nodes {
                let ran = earliest(asked, &placed, case.nodes);
                prop_assert_eq!(found[job], Some(ran));
                placed.push((ran, asked.spec.procs));
            }
        }
    }
}

/// Returns the earliest run of `job` beside jobs that are placed for good.
fn earliest(job: &OracleJob, placed: &[(RunInterval, u32)], nodes: u32) -> RunInterval {
    let busy = |at: Instant| {
        let on = placed
            .iter()
            .filter(|(ran, _)| ran.start <= at && at < ran.finish);
        on.map(|&(_, procs)| procs).sum::<u32>()
    };
    let fits = |start: &Instant| {
        let begins = placed.iter().map(|(ran, _)| ran.start);
        let mut inside = begins
            .filter(|&begin| begin.since(*start) >= Span::ZERO && begin < *start + job.runtime);
        busy(*start) + job.spec.procs <= nodes
            && inside.all(|at| busy(at) + job.spec.procs <= nodes)
    };
    let opens = placed
        .iter()
        .map(|(ran, _)| ran.finish)
        .filter(|&end| end > job.spec.submit);
    let mut opens: Vec<Instant> = opens.chain([job.spec.submit]).collect();
    opens.sort();
    let start = opens
        .into_iter()
        .find(fits)
        .expect("all is free in the end");
    RunInterval {
        start,
        finish: start + job.runtime,
    }
}
