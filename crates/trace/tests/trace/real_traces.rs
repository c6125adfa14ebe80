//! Tests with the archived traces, if a copy is available: every record is read, and the counts are
//! known.

use tollgate_model::Span;
use tollgate_trace::{Finding, FindingAction, ReadOptions, Trace, TraceSummary, open};

/// Reads the trace of this file name, if there is a directory of traces.
fn trace(name: &str) -> Option<Trace> {
    let path = tollgate_needs::traces()?.join("swf").join(name);
    Some(open(&path, ReadOptions::default()).unwrap_or_else(|error| panic!("{error}")))
}

/// File, records, share of run times above 0, widest job, processors of the machine, span in
/// days.
const TRACES: [(&str, usize, f64, u32, u32, f64); 11] = [
    (
        "SDSC-SP2-1998-4.2-cln.swf.gz",
        59_715,
        0.905,
        128,
        128,
        729.0,
    ),
    (
        "SDSC-BLUE-2000-4.2-cln.swf.gz",
        243_306,
        0.956,
        1152,
        1152,
        974.0,
    ),
    ("KTH-SP2-1996-2.1-cln.swf.gz", 28_476, 1.0, 100, 100, 333.0),
    (
        "LANL-CM5-1994-4.1-cln.swf.gz",
        122_060,
        1.0,
        1024,
        1024,
        721.0,
    ),
    ("RICC-2010-2.swf.gz", 447_794, 1.0, 8192, 8192, 153.0),
    ("MetaCentrum-wagap-2013.swf.gz", 17_900, 1.0, 256, 256, 89.0),
    ("lublin_256.swf.gz", 10_000, 1.0, 256, 256, 89.0),
    ("LCG-2005-1.swf.gz", 188_041, 0.997, 1, 24_515, 11.0),
    (
        "NASA-iPSC-1993-3.1-cln.swf.gz",
        18_239,
        0.991,
        128,
        128,
        92.0,
    ),
    ("SDSC-Par-1996-3.1-cln.swf.gz", 32_135, 1.0, 320, 400, 371.0),
    (
        "OSC-Clust-2000-3.1-cln.swf.gz",
        36_097,
        0.986,
        32,
        178,
        677.0,
    ),
];

#[test]
fn every_record_is_read() {
    for (name, records, ran, widest, machine, days) in TRACES {
        let Some(trace) = trace(name) else { return };
        assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0, "{name}");
        let summary = TraceSummary::of(&trace);
        assert_eq!(summary.jobs, records, "{name}");
        let ran_long = trace.jobs.iter().filter(|job| job.runtime > Span::ZERO);
        let share_ran = summary.share(ran_long.count());
        assert!((share_ran - ran).abs() < 0.0006, "{name}: {share_ran}");
        assert_eq!(summary.procs.unwrap().max, f64::from(widest), "{name}");
        assert_eq!(summary.nodes, machine, "{name}");
        let span_days = summary.span.as_secs_f64() / 86_400.0;
        assert!((span_days - days).abs() < 1.0, "{name}: {span_days}");
    }
}

#[test]
fn assumptions_are_counted() {
    let Some(sdsc) = trace("SDSC-SP2-1998-4.2-cln.swf.gz") else {
        return;
    };
    assert_eq!(sdsc.diagnostics.count(Finding::RequestedProcs), 5_669);
    assert_eq!(sdsc.diagnostics.count(Finding::RunTimeAsEstimate), 66);
    // Ten of them were cancelled after 0 s, with no processor time.
    assert_eq!(TraceSummary::of(&sdsc).never_ran, 5_681);

    let Some(lanl) = trace("LANL-CM5-1994-4.1-cln.swf.gz") else {
        return;
    };
    assert_eq!(lanl.diagnostics.count(Finding::OneProc), 3);
    assert_eq!(lanl.diagnostics.count(Finding::RunTimeAsEstimate), 11_290);
}

#[test]
fn unix_seconds_and_extra_columns_are_accepted() {
    let Some(trace) = trace("MetaCentrum-wagap-2013.swf.gz") else {
        return;
    };
    assert_eq!(
        trace.jobs[0].submit,
        tollgate_model::Instant::from_secs(1_356_996_147)
    );
    assert_eq!(trace.jobs[0].procs, 64);
    assert_eq!(trace.diagnostics.count(Finding::NegativeRunTime), 2);
}

#[test]
fn published_subsets_match_to_the_second() {
    for (n, interarrival, runtime, without) in [(3000, 2131, 8880, 278), (5000, 1969, 8671, 469)] {
        let Some(trace) = trace("SDSC-SP2-1998-4.2-cln.swf.gz") else {
            return;
        };
        let trace = trace.last(n);
        let summary = TraceSummary::of(&trace);
        let rounded = |span: Option<Span>| span.unwrap().as_secs_f64().round() as i64;
        assert_eq!(rounded(summary.mean_interarrival), interarrival);
        assert_eq!(rounded(summary.mean_runtime), runtime);
        // The published subsets count runs of less than a second with the jobs that never ran.
        let without_run = trace.jobs.iter().filter(|job| job.runtime <= Span::ZERO);
        assert_eq!(without_run.count(), without);
    }
}
