//! Tests that the embedded workload is like the published subset, and that its bytes never change.

use tollgate_trace::summary::QuantileSummary;
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, TraceSummary, job_table};
use tollgate_workload::{GeneratedMachine, WorkloadGenerator};

/// Asserts that `actual` is within `tolerance`, as a share, of `expected`.
fn near(what: &str, actual: f64, expected: f64, tolerance: f64) {
    let off = (actual / expected - 1.0).abs();
    assert!(
        off <= tolerance,
        "{what}: {actual}, expected about {expected}"
    );
}

fn quantiles(quantiles: Option<QuantileSummary>) -> QuantileSummary {
    quantiles.expect("there are some")
}

fn bytes(trace: &Trace) -> Vec<u8> {
    let mut written = Vec::new();
    job_table::write(trace, &mut written).unwrap();
    written
}

/// Returns the FNV-1a hash with 64 bits.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn default_workload_matches_published_statistics() {
    let summary = TraceSummary::of(&WorkloadGenerator::default().trace());
    assert_eq!(summary.jobs, 5000);
    assert_eq!(summary.nodes, 128);
    let seconds = |span: Option<tollgate_model::Span>| span.unwrap().as_secs_f64();
    near(
        "inter-arrival",
        seconds(summary.mean_interarrival),
        1969.0,
        0.01,
    );
    near("run time", seconds(summary.mean_runtime), 8671.0, 0.06);
    near("processors", summary.mean_procs.unwrap(), 16.91, 0.05);
    let utilisation = summary.utilisation.unwrap();
    assert!((0.83..=0.89).contains(&utilisation), "{utilisation}");
    near("never ran", summary.share(summary.never_ran), 0.094, 0.1);
    near(
        "over-estimates",
        summary.share(summary.over_estimated),
        0.92,
        0.02,
    );
    near(
        "under-estimates",
        summary.share(summary.under_estimated),
        0.079,
        0.1,
    );
}

#[test]
fn generated_estimates_have_realistic_errors() {
    let trace = WorkloadGenerator::default().trace();
    let summary = TraceSummary::of(&trace);
    let under = quantiles(summary.under_ratios);
    near("median overrun", under.median - 1.0, 0.0031, 0.3);
    near("90th percentile of overruns", under.p90, 1.087, 0.02);
    let over = quantiles(summary.over_ratios);
    assert!(over.median > 4.0, "{over:?}");
    near("quartile of over-estimates", over.p25, 1.86, 0.15);
    near("median over-estimate", over.median, 5.2, 0.15);
    near("90th percentile of over-estimates", over.p90, 167.0, 0.3);

    let round = |step: i64| {
        let micros = step * 1_000_000;
        let is_round = |job: &&tollgate_trace::TraceJob| job.estimate.as_micros() % micros == 0;
        trace.jobs.iter().filter(is_round).count() as f64 / 5000.0
    };
    near("estimates in whole hours", round(3600), 0.58, 0.2);
    near("estimates in five minutes", round(300), 0.94, 0.06);
}

#[test]
fn generated_runtimes_and_widths_match_measured_shape() {
    let summary = TraceSummary::of(&WorkloadGenerator::default().trace());
    let runtimes = quantiles(summary.runtimes_s);
    near("10th percentile of run times", runtimes.p10, 35.0, 0.15);
    near("median run time", runtimes.median, 631.0, 0.25);
    near("third quartile of run times", runtimes.p75, 10_851.0, 0.2);
    near("99th percentile of run times", runtimes.p99, 64_844.0, 0.05);
    let procs = quantiles(summary.procs);
    assert_eq!((procs.min, procs.max), (1.0, 128.0));
    near("median width", procs.median, 8.0, 0.13);
    near("99th percentile of widths", procs.p99, 64.0, 0.0);
}

#[test]
fn generated_users_submit_by_day_and_in_sessions() {
    let options = WorkloadGenerator {
        columns: ColumnSelection::All,
        ..WorkloadGenerator::default()
    };
    let trace = options.trace();
    let hour = |job: &tollgate_trace::TraceJob| job.submit.as_micros() / 3_600_000_000;
    let in_hours = |from, to| {
        let within = |job: &&_| (from..to).contains(&(hour(job) % 24));
        trace.jobs.iter().filter(within).count()
    };
    assert!(in_hours(13, 17) > 4 * in_hours(2, 6));
    let weekend = trace
        .jobs
        .iter()
        .filter(|job| hour(job) / 24 % 7 >= 5)
        .count();
    assert!((600..1200).contains(&weekend), "{weekend}");

    let users = &trace.metadata.as_ref().unwrap().user;
    let repeats = (1..5000).filter(|&row| {
        let before = &trace.jobs[row - 1];
        let same_user = users.id(row) == users.id(row - 1);
        same_user
            && before.procs == trace.jobs[row].procs
            && before.estimate == trace.jobs[row].estimate
    });
    // Independent jobs would reach only a hundredth of this.
    assert!(repeats.count() > 500);
}

#[test]
fn other_seeds_and_lengths_have_similar_statistics() {
    for seed in 1..=10 {
        let trace = WorkloadGenerator {
            jobs: 20_000,
            seed,
            ..WorkloadGenerator::default()
        }
        .trace();
        assert_eq!(trace.jobs.len(), 20_000);
        assert!(trace.jobs.is_sorted_by_key(|job| job.submit));
        let summary = TraceSummary::of(&trace);
        near(
            "inter-arrival",
            summary.mean_interarrival.unwrap().as_secs_f64(),
            1969.0,
            0.01,
        );
        near(
            "run time",
            summary.mean_runtime.unwrap().as_secs_f64(),
            8671.0,
            0.2,
        );
        near("processors", summary.mean_procs.unwrap(), 16.91, 0.2);
        near("never ran", summary.share(summary.never_ran), 0.094, 0.25);
        near(
            "under-estimates",
            summary.share(summary.under_estimated),
            0.079,
            0.25,
        );
    }
}

#[test]
fn any_number_of_jobs_can_be_generated() {
    for jobs in [0, 1, 2, 100] {
        let trace = WorkloadGenerator {
            jobs,
            ..WorkloadGenerator::default()
        }
        .trace();
        assert_eq!(trace.jobs.len(), jobs);
        let machine = GeneratedMachine::LogUniform {
            nodes: 10,
            max_width: 10,
            load: 0.5,
        };
        let generator = WorkloadGenerator {
            jobs,
            machine,
            ..WorkloadGenerator::default()
        };
        assert_eq!(generator.trace().jobs.len(), jobs);
    }
}

#[test]
fn jobs_for_a_machine_of_any_size_have_its_load_and_widths() {
    for (nodes, max_width, load) in [(1, 1, 0.9), (500, 500, 2.0), (93_312, 8_192, 0.3)] {
        let machine = GeneratedMachine::LogUniform {
            nodes,
            max_width,
            load,
        };
        let generator = WorkloadGenerator {
            machine,
            ..WorkloadGenerator::default()
        };
        let summary = TraceSummary::of(&generator.trace());
        assert_eq!((summary.jobs, summary.nodes), (5000, nodes));
        // Submissions are whole seconds.
        near("load", summary.utilisation.unwrap(), load, 1e-5);
        let widths = quantiles(summary.procs);
        assert!((1.0..=f64::from(max_width)).contains(&widths.max));
        let magnitude = f64::from(max_width).log2() / 2.0;
        assert!((widths.median.log2() - magnitude).abs() < 1.5, "{widths:?}");
        assert_eq!(generator.trace().jobs, generator.trace().jobs);
    }
}

#[test]
fn generated_bytes_match_pinned_fingerprint() {
    let all = WorkloadGenerator {
        columns: ColumnSelection::All,
        ..WorkloadGenerator::default()
    };
    let written = bytes(&all.trace());
    let lines: Vec<&str> = std::str::from_utf8(&written)
        .unwrap()
        .lines()
        .take(3)
        .collect();
    assert_eq!(lines, FIRST_LINES);
    assert_eq!(fingerprint(&written), FINGERPRINT);
    assert_eq!(bytes(&all.trace()), written);
}

const FIRST_LINES: [&str; 3] = [
    "job_id,submit_s,runtime_s,procs,estimate_s,user,group,executable,queue",
    "1,15393,107,32,5400,user25,group12,user25/program1,",
    "2,21511,6887,64,13500,user5,group2,user5/program0,",
];
const FINGERPRINT: u64 = 0x3150_1fc7_8e17_533e;

#[test]
fn measured_trace_matches_generator_parameters() {
    let Some(folder) = tollgate_needs::traces() else {
        return;
    };
    let path = folder.join("swf/SDSC-SP2-1998-4.2-cln.swf.gz");
    let trace = tollgate_trace::open(&path, ReadOptions::default()).unwrap();
    let trace = trace.last(5000);
    let without_run = trace
        .jobs
        .iter()
        .filter(|job| job.runtime <= tollgate_model::Span::ZERO);
    assert_eq!(without_run.count(), 469);
    let summary = TraceSummary::of(&trace);
    near(
        "inter-arrival",
        summary.mean_interarrival.unwrap().as_secs_f64(),
        1968.88,
        1e-5,
    );
    near(
        "run time",
        summary.mean_runtime.unwrap().as_secs_f64(),
        8670.94,
        1e-5,
    );
    near("processors", summary.mean_procs.unwrap(), 16.91, 1e-3);
    near(
        "over-estimates",
        summary.share(summary.over_estimated),
        0.9208,
        1e-3,
    );
    near("utilisation", summary.utilisation.unwrap(), 0.887, 1e-3);
    near(
        "90th percentile of overruns",
        summary.under_ratios.unwrap().p90,
        1.087,
        1e-3,
    );
}
