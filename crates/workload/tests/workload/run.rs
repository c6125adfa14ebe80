//! Tests that the jobs of a run follow from trace, settings and market.

use std::sync::Arc;

use proptest::prelude::*;
use tollgate_model::{Credits, CreditsPerSecond, Instant, Market, Span};
use tollgate_trace::RecordNames;
use tollgate_trace::{NodeCountSource, Trace, TraceJob, TraceMetadata, TraceSla, TraceUsage};
use tollgate_workload::{
    DeadlineCounts, DeadlineModel, JobArrival, NeverRanHandling, SlaFactor, SynthesisedSlas,
    Workload, WorkloadConfig, WorkloadGenerator,
};

fn job(number: u64, submit: i64, runtime: i64, estimate: i64) -> TraceJob {
    TraceJob {
        number,
        submit: Instant::from_secs(submit),
        runtime: Span::from_secs(runtime),
        estimate: Span::from_secs(estimate),
        is_estimated: true,
        procs: number as u32,
    }
}

/// Returns four jobs of which the second comes first and the third never ran.
fn four() -> Trace {
    let mut trace = Trace::empty("four jobs");
    trace.jobs = vec![
        job(11, 110, 50, 100),
        job(12, 100, 10, 40),
        job(13, 120, -1, 30),
        job(14, 140, 20, 10),
    ];
    trace
}

fn workload(trace: Trace, market: Market, change: impl FnOnce(&mut WorkloadConfig)) -> Workload {
    let mut settings = WorkloadConfig {
        deadlines: DeadlineModel::Paper,
        ..WorkloadConfig::default()
    };
    change(&mut settings);
    Workload::new(Arc::new(trace), settings, market).unwrap()
}

#[test]
fn arrivals_are_ordered_from_the_first_submission() {
    let run = workload(four(), Market::None, |_| ());
    let numbers: Vec<u64> = (0..run.len()).map(|i| run.number(i)).collect();
    assert_eq!(numbers, [12, 11, 14]);
    let submits: Vec<Instant> = run.arrivals().map(|arrival| arrival.spec.submit).collect();
    assert_eq!(submits, [0, 10, 40].map(Instant::from_secs));
    assert_eq!(run.dropped(), 1);
    assert_eq!(run.mean_runtime(), Some(Span::from_secs_f64(80.0 / 3.0)));
}

#[test]
fn arrival_factor_scales_interarrival_times() {
    for (factor, submits) in [
        (0.25, [0.0, 2.5, 10.0]),
        (0.0, [0.0; 3]),
        (2.0, [0.0, 20.0, 80.0]),
    ] {
        let run = workload(four(), Market::None, |settings| {
            settings.arrival_factor = factor
        });
        let scaled = run
            .arrivals()
            .map(|arrival| arrival.spec.submit.as_secs_f64());
        assert_eq!(scaled.collect::<Vec<_>>(), submits);
        let ties: Vec<u64> = (0..run.len()).map(|i| run.number(i)).collect();
        assert_eq!(ties, [12, 11, 14]);
    }
}

#[test]
fn inaccuracy_scales_estimates_from_exact_to_traced() {
    for (inaccuracy, estimates) in [
        (0.0, [10.0, 50.0, 20.0]),
        (0.5, [25.0, 75.0, 15.0]),
        (1.0, [40.0, 100.0, 10.0]),
    ] {
        let run = workload(four(), Market::None, |settings| {
            settings.inaccuracy = inaccuracy
        });
        let spans = run
            .arrivals()
            .map(|arrival| arrival.spec.estimate.as_secs_f64());
        assert_eq!(spans.collect::<Vec<_>>(), estimates);
    }
}

#[test]
fn jobs_that_never_ran_can_run_for_a_second() {
    let run = workload(four(), Market::None, |settings| {
        settings.never_ran = NeverRanHandling::One
    });
    assert_eq!((run.len(), run.dropped()), (4, 0));
    let third = run.arrival(2);
    assert_eq!(run.number(2), 13);
    assert_eq!(third.runtime, Span::from_secs(1));
    assert_eq!(third.spec.estimate, Span::from_secs(30));

    let mut unknown = four();
    unknown.jobs[2].estimate = Span::from_secs(-1);
    let run = workload(unknown, Market::None, |settings| {
        settings.never_ran = NeverRanHandling::One
    });
    assert_eq!(run.arrival(2).spec.estimate, Span::from_secs(1));
}

#[test]
fn job_that_ran_for_less_than_a_second_takes_the_shortest_run() {
    for never_ran in [NeverRanHandling::Drop, NeverRanHandling::One] {
        let mut trace = four();
        trace.jobs[0].runtime = Span::ZERO;
        let run = workload(trace, Market::None, |settings| {
            settings.never_ran = never_ran
        });
        assert_eq!((run.number(1), run.arrival(1).runtime), (11, Span::TICK));
        assert_eq!(run.arrival(1).spec.estimate, Span::from_secs(100));
    }
}

#[test]
fn dropping_jobs_keeps_the_draws_of_the_others() {
    let plain = |settings: &mut WorkloadConfig| {
        settings.deadline = SlaFactor {
            bias: 1.0,
            ..SlaFactor::default()
        }
    };
    let without = workload(four(), Market::Bid, plain);
    let with = workload(four(), Market::Bid, |settings| {
        plain(settings);
        settings.never_ran = NeverRanHandling::One;
    });
    assert_eq!(without.arrival(2), with.arrival(3));
}

#[test]
fn traced_slas_are_used_and_missing_parts_drawn() {
    let mut trace = four();
    let carried = TraceSla {
        deadline: Some(Span::from_secs(77)),
        budget: Some(Credits::from_f64(3.5)),
        penalty: None,
    };
    trace.slas = Some(vec![
        TraceSla::default(),
        carried,
        carried,
        TraceSla::default(),
    ]);
    let run = workload(trace.clone(), Market::Bid, |_| ());
    let drawn = workload(four(), Market::Bid, |_| ());
    let first = run.arrival(0).spec.sla;
    assert_eq!(first.deadline, Some(Span::from_secs(77)));
    assert_eq!(first.budget, Some(Credits::from_f64(3.5)));
    assert_eq!(first.penalty, drawn.arrival(0).spec.sla.penalty);
    assert_eq!(run.arrival(1), drawn.arrival(1));
    assert_eq!(
        run.synthesised(),
        SynthesisedSlas {
            deadlines: 2,
            budgets: 2,
            penalties: 3
        }
    );

    let free = workload(trace, Market::None, |_| ());
    assert_eq!(
        free.synthesised(),
        SynthesisedSlas {
            deadlines: 2,
            budgets: 0,
            penalties: 0
        }
    );
    assert_eq!(
        free.arrival(0).spec.sla.budget,
        Some(Credits::from_f64(3.5))
    );
    assert_eq!(free.arrival(1).spec.sla.budget, None);
    assert_eq!(free.arrival(1).spec.sla.penalty, CreditsPerSecond::ZERO);
}

/// Returns the four jobs with names; the first two have one user, and the third has no request.
fn four_of_users() -> Trace {
    let mut trace = four();
    let mut metadata = TraceMetadata::default();
    for (row, (user, is_estimated)) in
        [("ann", true), ("ann", true), ("bob", false), ("bob", false)]
            .into_iter()
            .enumerate()
    {
        trace.jobs[row].is_estimated = is_estimated;
        let names = RecordNames {
            user: user.as_bytes(),
            ..RecordNames::default()
        };
        metadata.push(names, TraceUsage::default());
    }
    trace.metadata = Some(metadata);
    trace
}

#[test]
fn jobs_for_which_a_model_has_no_deadline_stay_without_one() {
    let run = workload(four_of_users(), Market::None, |settings| {
        settings.deadlines = DeadlineModel::Allowance
    });
    let deadlines: Vec<_> = run.arrivals().map(|a| a.spec.sla.deadline).collect();
    assert_eq!(deadlines[2], None);
    let (one, two) = (deadlines[0].unwrap(), deadlines[1].unwrap());
    assert_eq!(two - one, Span::from_secs(60));
    let counts = DeadlineCounts {
        given: 2,
        possible: 2,
        missing: 1,
    };
    assert_eq!(run.deadline_counts(), counts);
    assert_eq!(run.synthesised().deadlines, 2);
}

#[test]
fn deadline_of_the_record_goes_before_every_model() {
    for model in DeadlineModel::ALL {
        let mut trace = four_of_users();
        let carried = TraceSla {
            deadline: Some(Span::from_secs(15)),
            ..TraceSla::default()
        };
        trace.slas = Some(vec![carried; 4]);
        let run = workload(trace, Market::None, |settings| settings.deadlines = model);
        assert!(
            run.arrivals()
                .all(|arrival| arrival.spec.sla.deadline == carried.deadline)
        );
        assert_eq!(run.deadline_counts().possible, 1);
    }
}

#[test]
fn no_model_but_paper_looks_at_the_run_time_of_the_job() {
    for model in DeadlineModel::ALL {
        let deadlines = |runtime: i64| {
            let mut trace = four_of_users();
            trace.jobs[3].runtime = Span::from_secs(runtime);
            let run = workload(trace, Market::None, |settings| settings.deadlines = model);
            run.arrival(2).spec.sla.deadline
        };
        let differs = deadlines(20) != deadlines(2_000);
        assert_eq!(differs, model == DeadlineModel::Paper, "{model}");
    }
}

#[test]
fn clock_deadlines_end_at_an_hour_of_the_simulated_clock() {
    let mut trace = four_of_users();
    trace.unix_start = Some(Instant::from_secs(8 * 3600));
    for factor in [1.0, 50.0] {
        let run = workload(trace.clone(), Market::None, |settings| {
            settings.deadlines = DeadlineModel::Clock;
            settings.arrival_factor = factor;
        });
        let due: Vec<_> = run.arrivals().map(|a| a.spec.due().unwrap()).collect();
        // The first submission is at 8:01:40.
        assert_eq!(due, [Instant::from_secs(3600 - 100); 3], "{factor}");
    }
}

#[test]
fn node_count_prefers_max_procs_then_max_nodes() {
    let mut trace = four();
    assert_eq!(trace.nodes(), (14, NodeCountSource::WidestJob));
    trace.max_nodes = Some(100);
    assert_eq!(trace.nodes(), (100, NodeCountSource::MaxNodes));
    trace.max_procs = Some(400);
    assert_eq!(
        workload(trace, Market::None, |_| ()).nodes(),
        (400, NodeCountSource::MaxProcs)
    );
}

#[test]
fn out_of_range_setting_is_rejected() {
    let settings = WorkloadConfig {
        high_urgency: 1.5,
        ..WorkloadConfig::default()
    };
    let error = Workload::new(Arc::new(four()), settings, Market::None).unwrap_err();
    assert_eq!(error.to_string(), "high-urgency is 1.5, expected 0 to 1");
}

#[test]
fn trace_without_run_jobs_gives_an_empty_workload() {
    let mut trace = four();
    trace.jobs.retain(|job| job.runtime < Span::ZERO);
    let run = workload(trace, Market::Bid, |_| ());
    assert!(run.is_empty());
    assert_eq!(run.mean_runtime(), None);
    assert_eq!(run.arrivals().count(), 0);
}

fn any_factor() -> impl Strategy<Value = SlaFactor> {
    (1.0..20.0, 1.0..10.0, 0.01..10.0).prop_map(|(low, ratio, bias)| SlaFactor { low, ratio, bias })
}

fn any_settings() -> impl Strategy<Value = WorkloadConfig> {
    let never_ran = prop_oneof![Just(NeverRanHandling::Drop), Just(NeverRanHandling::One)];
    let deadlines = (0..DeadlineModel::ALL.len()).prop_map(|n| DeadlineModel::ALL[n]);
    (
        (never_ran, deadlines),
        (0.0..=1.0, 0.0..3.0, 0.0..=1.0),
        any_factor(),
        any_factor(),
        any_factor(),
        any::<u64>(),
    )
        .prop_map(
            |(
                (never_ran, deadlines),
                (high_urgency, arrival_factor, inaccuracy),
                deadline,
                budget,
                penalty,
                seed,
            )| WorkloadConfig {
                never_ran,
                high_urgency,
                arrival_factor,
                inaccuracy,
                deadlines,
                without_deadline: high_urgency / 2.0,
                deadline,
                budget,
                penalty,
                penalty_limit: f64::INFINITY,
                seed,
            },
        )
}

proptest! {
    #[test]
    fn any_valid_settings_give_runnable_jobs(settings in any_settings(), seed in 0u64..50) {
        let trace = WorkloadGenerator { jobs: 60, seed, ..WorkloadGenerator::default() }.trace();
        let run = Workload::new(Arc::new(trace), settings, Market::Bid).unwrap();
        let arrivals: Vec<_> = run.arrivals().collect();
        prop_assert!(arrivals.is_sorted_by_key(|arrival| arrival.spec.submit));
        for arrival in &arrivals {
            let sla = arrival.spec.sla;
            prop_assert!(arrival.runtime > Span::ZERO);
            prop_assert!(arrival.spec.estimate > Span::ZERO);
            prop_assert!(arrival.spec.procs >= 1);
            prop_assert!(sla.deadline.is_none_or(|deadline| deadline > Span::ZERO));
            let paper = settings.deadlines == DeadlineModel::Paper;
            let is_long = |deadline| deadline >= arrival.runtime;
            prop_assert!(!paper || sla.deadline.is_none_or(is_long));
            prop_assert!(sla.budget.unwrap() >= Credits::ZERO);
            prop_assert!(sla.penalty >= CreditsPerSecond::ZERO);
        }
        let meets = |arrival: &&JobArrival| arrival.spec.sla.deadline >= Some(arrival.runtime);
        let possible = arrivals.iter().filter(meets).count();
        let given = arrivals.iter().filter(|arrival| arrival.spec.sla.deadline.is_some()).count();
        let missing = arrivals.len() - given;
        prop_assert!(missing == 0 || settings.without_deadline > 0.0);
        let counts = DeadlineCounts { given, possible, missing };
        prop_assert_eq!(run.deadline_counts(), counts);
        prop_assert!(arrivals.iter().copied().eq((0..run.len()).map(|i| run.arrival(i))));
    }
}
