//! Jobs whose run time cannot be predicted, under each treatment.

use proptest::prelude::*;
use tollgate_forecast::{JobAttributes, UnpredictableAction, UnpredictableRule};
use tollgate_model::{Decision, Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_sim::{
    ClassId, EstimateOrigin, EstimateSetup, JobArrival, JobContext, LearnedHistory, RecordLevel,
    ReplayConfig, ReplayResult, replay_with,
};

const NODES: u32 = 6;
const ASIDE: u32 = 2;
const LIMIT: Span = Span::from_secs(3_000);

/// A job of one of two programs: those of the first take ten minutes, those of the second from seconds to hours.
#[derive(Clone, Copy, Debug)]
struct Draft {
    gap_s: i64,
    is_wild: bool,
    is_long: bool,
    procs: u32,
    deadline_s: i64,
}

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let draft = (
        0i64..20_000,
        any::<bool>(),
        any::<bool>(),
        1u32..4,
        600i64..100_000,
    );
    let draft = draft.prop_map(|(gap_s, is_wild, is_long, procs, deadline_s)| Draft {
        gap_s,
        is_wild,
        is_long,
        procs,
        deadline_s,
    });
    prop::collection::vec(draft, 30..60)
}

fn run(policy: &str, action: UnpredictableAction, drafts: &[Draft]) -> ReplayResult {
    let mut submit = Instant::ZERO;
    let (mut arrivals, mut contexts) = (Vec::new(), Vec::new());
    for draft in drafts {
        submit += Span::from_secs(draft.gap_s);
        let program = u32::from(draft.is_wild);
        contexts.push(JobContext {
            class: ClassId(program),
            context: JobAttributes {
                executable: Some(program),
                ..JobAttributes::default()
            },
            has_user_estimate: false,
        });
        let runtime = match (draft.is_wild, draft.is_long) {
            (false, _) => 600,
            (true, false) => 2,
            (true, true) => 40_000,
        };
        arrivals.push(JobArrival {
            spec: JobSpec {
                submit,
                estimate: Span::from_secs(runtime),
                procs: draft.procs,
                memory: 0,
                needs: Default::default(),
                restarts: 0,
                user: UserId(program),
                sla: Sla {
                    deadline: Some(Span::from_secs(draft.deadline_s)),
                    ..Sla::default()
                },
            },
            runtime: Span::from_secs(runtime),
            requested_memory: Default::default(),
            is_requested: false,
        });
    }
    let is_dedicated = action == UnpredictableAction::Dedicated;
    let config = ReplayConfig {
        record_level: RecordLevel::Checked,
        dedicated_nodes: if is_dedicated { ASIDE } else { 0 },
        ..ReplayConfig::new(NODES, Market::None)
    };
    let policy = &builtin_registry().parse_list(policy).unwrap()[0];
    let estimates = EstimateSetup {
        unpredictable: Some(UnpredictableRule {
            action,
            ..UnpredictableRule::default()
        }),
        origin: EstimateOrigin::User,
        uses_beliefs: policy.uses_beliefs(),
        contexts: &contexts,
        history: &LearnedHistory::default(),
    };
    let built = policy.build(Market::None);
    replay_with(arrivals.into_iter(), built, &config, &estimates).unwrap()
}

/// Returns the jobs whose run time could not be predicted.
fn unpredictable(ran: &ReplayResult) -> Vec<usize> {
    let outcomes = ran.outcomes.iter().enumerate();
    let found = outcomes.filter(|(_, outcome)| outcome.unpredictable);
    found.map(|(job, _)| job).collect()
}

/// Returns the first and the last node of a job that ran.
fn nodes(ran: &ReplayResult, job: usize) -> Option<(u32, u32)> {
    let ranges = ran.placements.as_ref().unwrap().of(job);
    let (first, last) = (ranges.first()?, ranges.last()?);
    Some((first.first, last.first + last.len - 1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn only_jobs_of_a_wild_class_are_recognised_and_without_a_treatment_nothing_changes(
        drafts in drafts(),
        policy in prop_oneof![Just("plan"), Just("easy"), Just("libra-risk")],
    ) {
        let ran = run(policy, UnpredictableAction::None, &drafts);
        for job in unpredictable(&ran) {
            prop_assert!(drafts[job].is_wild, "job {job} is like all of its class");
        }
        let outcomes = ran.outcomes.iter();
        prop_assert!(outcomes.clone().all(|outcome| !outcome.killed));
    }

    #[test]
    fn job_runs_no_longer_than_the_limit(drafts in drafts()) {
        let ran = run("plan", UnpredictableAction::Limit(LIMIT), &drafts);
        for (job, outcome) in ran.outcomes.iter().enumerate() {
            let is_cut = outcome.unpredictable && drafts[job].is_long && outcome.decision.is_admitted();
            prop_assert_eq!(outcome.killed, is_cut, "job {}", job);
            prop_assert!(!is_cut || outcome.runtime == LIMIT);
        }
    }

    #[test]
    fn no_deadline_of_them_is_promised(
        drafts in drafts(),
        policy in prop_oneof![Just("plan"), Just("easy")],
    ) {
        let ran = run(policy, UnpredictableAction::NoPromise, &drafts);
        for job in unpredictable(&ran) {
            let outcome = &ran.outcomes[job];
            prop_assert_eq!(outcome.decision, Decision::Unpromised);
            prop_assert!(outcome.due.is_some(), "what was asked is not forgotten");
        }
    }

    #[test]
    fn nodes_that_are_set_aside_run_them_and_no_others(drafts in drafts()) {
        let ran = run("plan", UnpredictableAction::Dedicated, &drafts);
        for (job, outcome) in ran.outcomes.iter().enumerate() {
            let Some((first, last)) = nodes(&ran, job) else {
                continue;
            };
            match outcome.unpredictable && drafts[job].procs <= ASIDE {
                true => prop_assert!(first >= NODES - ASIDE, "job {job} on {first}-{last}"),
                false => prop_assert!(last < NODES - ASIDE, "job {job} on {first}-{last}"),
            }
        }
    }
}

#[test]
fn many_jobs_of_a_wild_class_are_recognised() {
    let draft = |at: usize| Draft {
        gap_s: 50_000,
        is_wild: true,
        is_long: at % 2 == 1,
        procs: 1,
        deadline_s: 100_000,
    };
    let drafts: Vec<Draft> = (0..30).map(draft).collect();
    let ran = run("plan", UnpredictableAction::None, &drafts);
    assert!(unpredictable(&ran).len() >= 20, "{:?}", unpredictable(&ran));
}
