//! EASY backfilling on a published workload model with exact estimates, compared with figures on
//! which independent simulators agree.

use tollgate_model::{Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_oracle::queue::{self, FillRule, OraclePassTrigger, OracleQueueSettings, TieOrder};
use tollgate_oracle::{OracleJob, OracleOutcome};

use crate::traces;

const PROCESSORS: u32 = 256;
/// Minimum run time used in bounded slowdown.
const THRESHOLD_S: f64 = 10.0;

fn lublin() -> Option<Vec<OracleJob>> {
    let records = traces::records("lublin_256.swf.gz")?;
    let jobs = records.into_iter().map(|record| {
        let runtime = Span::from_secs(record.runtime_s);
        OracleJob {
            spec: JobSpec {
                restarts: 0,
                submit: Instant::from_secs(record.submit_s),
                estimate: Span::from_secs(record.estimate_s()),
                procs: record.procs(),
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: Sla::default(),
            },
            runtime,
        }
    });
    Some(jobs.collect())
}

/// Returns mean wait and mean bounded slowdown (rounded as published) and makespan, all in s.
fn measures(jobs: &[OracleJob], outcomes: &[OracleOutcome]) -> (String, String, i64) {
    let count = jobs.len() as f64;
    let ran = |outcome: &OracleOutcome| outcome.ran.expect("EASY runs every job");
    let wait_s = |(job, outcome): (&OracleJob, &OracleOutcome)| {
        ran(outcome).start.since(job.spec.submit).as_secs_f64()
    };
    let slowdown = |(job, outcome): (&OracleJob, &OracleOutcome)| {
        let response_s = ran(outcome).finish.since(job.spec.submit).as_secs_f64();
        (response_s / job.runtime.as_secs_f64().max(THRESHOLD_S)).max(1.0)
    };
    let waits: f64 = jobs.iter().zip(outcomes).map(wait_s).sum();
    let slowdowns: f64 = jobs.iter().zip(outcomes).map(slowdown).sum();
    let last = outcomes.iter().map(|outcome| ran(outcome).finish).max();
    let first = jobs.iter().map(|job| job.spec.submit).min();
    let makespan = last.zip(first).map(|(last, first)| last.since(first));
    (
        format!("{:.2}", waits / count),
        format!("{:.3}", slowdowns / count),
        makespan.expect("a trace has jobs").as_micros() / 1_000_000,
    )
}

fn check(settings: OracleQueueSettings, wait: &str, slowdown: &str, makespan: i64) {
    let Some(jobs) = lublin() else { return };
    let outcomes = queue::run(&jobs, PROCESSORS, &settings);
    let expected = (wait.to_owned(), slowdown.to_owned(), makespan);
    assert_eq!(measures(&jobs, &outcomes), expected);
}

fn easy() -> OracleQueueSettings {
    OracleQueueSettings::named("easy", Market::None).expect("a space-shared policy")
}

#[test]
fn one_pass_an_instant() {
    check(easy(), "97155.99", "590.054", 8_730_698);
}

#[test]
fn one_pass_an_event_with_arrivals_first() {
    let settings = OracleQueueSettings {
        pass: OraclePassTrigger::Event,
        ties: TieOrder::ArrivalsFirst,
        ..easy()
    };
    check(settings, "97181.36", "590.753", 8_730_698);
}

#[test]
fn without_the_extra_processors() {
    let settings = OracleQueueSettings {
        fill: FillRule::Backfill { extra: false },
        ..easy()
    };
    check(settings, "117117.78", "442.143", 8_820_406);
}
