//! Tests that one look-ahead through a few nodes, or through a copy of the gate, predicts the same for a job
//! as many event-by-event runs. The tests cover every policy and every run time.

mod event_by_event;

use event_by_event::{EventByEvent, JobTimes};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tollgate_gate::{
    Gate, GateInput, InputAck, JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject,
    OnEviction, WorkerId,
};
use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, Instant, JobId, JobSpec, Market, Sla, Span, SpeedList,
    UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_policy::{JobPhase, PolicySpec};

const NODES: u32 = 4;
const UNBOUNDED: u64 = u64::MAX;
/// The tolerance for rounding: ends are rounded up to the microsecond, in the reference at each
/// event.
const ROUNDING: Span = Span::from_micros(50);

#[derive(Clone, Copy, Debug)]
struct LookAheadJobDraft {
    estimate_s: i64,
    procs: u32,
    deadline_s: Option<i64>,
    forecast_s: Option<i64>,
}

#[derive(Clone, Debug)]
enum LookAheadStep {
    Wait(i64),
    Submit(LookAheadJobDraft),
    End(usize),
    Evict(usize),
}

fn draft() -> impl Strategy<Value = LookAheadJobDraft> {
    let deadline_s = prop::option::weighted(0.7, 1i64..200);
    let forecast_s = prop::option::of(1i64..20);
    (1i64..40, 1u32..=NODES, deadline_s, forecast_s).prop_map(
        |(estimate_s, procs, deadline_s, forecast_s)| LookAheadJobDraft {
            estimate_s,
            procs,
            deadline_s,
            forecast_s,
        },
    )
}

fn step() -> impl Strategy<Value = LookAheadStep> {
    prop_oneof![
        3 => (0i64..10_000_000).prop_map(LookAheadStep::Wait),
        6 => draft().prop_map(LookAheadStep::Submit),
        1 => any::<usize>().prop_map(LookAheadStep::End),
        1 => any::<usize>().prop_map(LookAheadStep::Evict),
    ]
}

fn spec(draft: LookAheadJobDraft, submit: Instant) -> JobSpec {
    JobSpec {
        restarts: 0,
        submit,
        estimate: Span::from_secs(draft.estimate_s),
        procs: draft.procs,
        memory: 0,
        needs: Default::default(),
        user: UserId(0),
        sla: Sla {
            deadline: draft.deadline_s.map(Span::from_secs),
            budget: Some(Credits::from_f64(1e6)),
            penalty: CreditsPerSecond::from_f64(0.001),
            ..Sla::default()
        },
    }
}

fn forecast(draft: LookAheadJobDraft) -> Option<Distribution> {
    let least = draft.forecast_s? as f64;
    let quantile = |level| Span::from_secs_f64(least * 1.2f64.powi(level as i32));
    Some(Distribution::new(std::array::from_fn(quantile)))
}

/// Returns a gate after these steps, and the present instant.
fn gate_after(
    choice: &PolicySpec,
    market: Market,
    speeds: &str,
    steps: &[LookAheadStep],
) -> (Gate, Instant) {
    let mut gate = Gate::new(choice.build(market), market);
    let speeds: SpeedList = speeds.parse().expect("a list of speeds");
    gate.set_speeds(speeds.of_machine(NODES).expect("as many speeds as nodes"));
    let (mut now, mut effects) = (Instant::ZERO, Vec::new());
    let up = GateInput::WorkerUp {
        worker: WorkerId(0),
        incarnation: 1,
        nodes: NODES,
        memory: None,
        terms: Default::default(),
        in_use: None,
    };
    gate.handle(now, up, &mut effects).expect("a new worker");
    for step in steps {
        let running: Vec<(JobId, u32)> = gate
            .view(now)
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running)
            .map(|(id, job)| (id, job.attempt))
            .collect();
        let pick = |n: usize| running.get(n.checked_rem(running.len())?).copied();
        let input = match *step {
            LookAheadStep::Wait(micros) => {
                now += Span::from_micros(micros);
                Some(GateInput::Tick)
            }
            LookAheadStep::Submit(draft) => Some(GateInput::Submitted {
                spec: spec(draft, now),
                on_eviction: OnEviction::Requeue,
                forecast: forecast(draft).map(Into::into),
            }),
            LookAheadStep::End(n) => {
                pick(n).map(|(job, attempt)| GateInput::Ended { job, attempt })
            }
            LookAheadStep::Evict(n) => {
                pick(n).map(|(job, attempt)| GateInput::Evicted { job, attempt })
            }
        };
        if let Some(input) = input {
            gate.handle(now, input, &mut effects)
                .expect("no stale input");
            gate.run_pass(now, &mut effects);
        }
    }
    (gate, now)
}

/// Returns the run time of the other jobs: some shorter than their estimates, some longer.
fn expected(job: JobId) -> Span {
    Span::from_micros(1_000_000 + i64::from(job.0 * 7_919 % 53) * 700_001)
}

/// Returns the result of the event-by-event run for a job that takes `runtime`.
fn simulate_event_by_event(
    gate: &Gate,
    now: Instant,
    subject: LookAheadSubject<'_>,
    runtime: Span,
) -> JobTimes {
    let mut fork = gate.fork();
    let me = match subject {
        LookAheadSubject::Existing(job) => job,
        LookAheadSubject::New(&spec, forecast) => {
            let submitted = GateInput::Submitted {
                spec,
                on_eviction: OnEviction::Fail,
                forecast: forecast.copied().map(Into::into),
            };
            let answer = fork.handle(now, submitted, &mut Vec::new());
            let Ok(InputAck::Job(job)) = answer else {
                panic!("a well-formed job gets a slot: {answer:?}");
            };
            // A job that starts at once is among the running jobs.
            job
        }
    };
    let work = |job| if job == me { runtime } else { expected(job) };
    EventByEvent::new(fork, now).run_until(me, work)
}

fn close(one: Instant, other: Instant) -> bool {
    one <= other + ROUNDING && other <= one + ROUNDING
}

fn compare(
    gate: &Gate,
    now: Instant,
    subject: LookAheadSubject<'_>,
    spec: &JobSpec,
    exact_until: Instant,
) -> Result<(), TestCaseError> {
    let due = spec.due();
    let most = Span::from_secs(60);
    let horizon = LookAheadHorizon {
        runtime: most,
        due: due.map(|due| (due, Span::MAX)),
    };
    let mut ahead = LookAhead::new(gate, now, &expected, UNBOUNDED);
    let course = ahead.trajectory(subject, &horizon);
    for runtime in [1, 17, 60].map(Span::from_secs) {
        let slow = simulate_event_by_event(gate, now, subject, runtime);
        match (course.as_ref().map(JobTrajectory::start), slow.start) {
            (Some(fast), Some(slow)) => prop_assert!(close(fast, slow), "{subject:?}"),
            (fast, slow) => prop_assert_eq!(fast, slow, "{:?}", subject),
        }
        let fast = course.as_ref().and_then(|course| course.finish(runtime));
        match (fast, slow.finish) {
            (Some(fast), Some(slow)) => {
                let counts = fast.min(slow) <= exact_until;
                prop_assert!(
                    !counts || close(fast, slow),
                    "{} {}: {:?}",
                    fast,
                    slow,
                    subject
                );
            }
            (fast, slow) => prop_assert!(
                fast == slow || fast.or(slow) > Some(exact_until),
                "{:?} {:?}: {:?}",
                fast,
                slow,
                subject
            ),
        }
    }
    let due = due.filter(|&due| due <= exact_until);
    let (Some(course), Some(due)) = (&course, due) else {
        return Ok(());
    };
    let longest = course.max_runtime(due);
    let finish = |runtime| simulate_event_by_event(gate, now, subject, runtime).finish;
    // A late job may lose the node at that very instant.
    let shorter = longest - ROUNDING;
    if shorter > Span::ZERO {
        let at = finish(shorter);
        prop_assert!(
            at.is_some_and(|at| at <= due + ROUNDING),
            "{:?} {} {:?}",
            at,
            due,
            subject
        );
    }
    let at = finish(longest + ROUNDING);
    prop_assert!(
        at.is_none_or(|at| at > due - ROUNDING),
        "{:?} {} {:?}",
        at,
        due,
        subject
    );
    Ok(())
}

proptest! {
    #![proptest_config(Config {
        cases: 60,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn trajectory_agrees_with_event_by_event_runs(
        steps in prop::collection::vec(step(), 0..30),
        draft in draft(),
        speeds in prop::sample::select(vec!["1", "1*1,2*1.5,2", "3*2,1"]),
    ) {
        for choice in builtin_registry().policies() {
            let market = if choice.runs_in(Market::None) { Market::None } else { Market::Bid };
            let (gate, now) = gate_after(&choice, market, speeds, &steps);
            let view = gate.view(now);
            let shares = choice.build(market).node_sharing(&Sla::default()).is_some();
            let waits = shares && view.jobs().any(|(_, job)| job.phase == JobPhase::Queued);
            let exact_until = |spec: &JobSpec| match spec.sla.deadline {
                // A task that ends before the other tasks of its job frees its place for a waiting
                // job, unless the tasks are one process. If a waiting job without a deadline starts
                // beside a job with one, shares are recomputed a little earlier than otherwise.
                _ if waits && spec.procs > 1 => Instant::ZERO,
                Some(_) if waits => Instant::ZERO,
                Some(_) | None => Instant::MAX,
            };
            let (spec, forecast) = (spec(draft, now), forecast(draft));
            let whom = LookAheadSubject::New(&spec, forecast.as_ref());
            compare(&gate, now, whom, &spec, exact_until(&spec))?;
            for (job, known) in view.jobs() {
                compare(&gate, now, LookAheadSubject::Existing(job), &known.spec, exact_until(&known.spec))?;
            }
        }
    }

    #[test]
    fn truncated_look_ahead_makes_no_false_claim(
        steps in prop::collection::vec(step(), 0..30),
        draft in draft(),
        looks in 0u64..5_000,
    ) {
        for choice in builtin_registry().policies() {
            let (gate, now) = gate_after(&choice, Market::Bid, "1", &steps);
            let (spec, forecast) = (spec(draft, now), forecast(draft));
            let whom = LookAheadSubject::New(&spec, forecast.as_ref());
            let horizon = LookAheadHorizon { runtime: Span::from_secs(60), due: None };
            let whole = LookAhead::new(&gate, now, &expected, UNBOUNDED).trajectory(whom, &horizon);
            let Some(short) = LookAhead::new(&gate, now, &expected, looks).trajectory(whom, &horizon) else {
                continue;
            };
            let whole = whole.expect("what starts within few looks starts within more");
            prop_assert_eq!(short.start(), whole.start());
            for runtime in [1, 17, 60].map(Span::from_secs) {
                if let Some(finish) = short.finish(runtime) {
                    prop_assert_eq!(Some(finish), whole.finish(runtime), "{}", choice.name());
                }
            }
        }
    }
}
