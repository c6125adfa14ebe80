//! Tests with real accounting records, if a copy is available: the jobs and the findings.

use tollgate_model::{Instant, Span};
use tollgate_trace::{
    ColumnSelection, Finding, FindingAction, ReadOptions, RecordField, Trace, open,
};

/// Reads the records in this file, if there is a directory of traces.
fn records(name: &str) -> Option<Trace> {
    let folder = tollgate_needs::traces()?;
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let path = folder.join(name);
    Some(open(&path, options).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn grid_engine_records_are_read() {
    let Some(trace) = records("sge/stanford-oge-accounting-sample.txt.gz") else {
        return;
    };
    println!("{}", trace.diagnostics);
    assert_eq!(trace.jobs.len(), 133);
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    let first = trace.jobs[0];
    assert_eq!(first.submit, Instant::from_secs(1_375_802_836));
    assert_eq!(first.runtime, Span::from_secs(292));
    assert_eq!((first.number, first.procs), (4_759_736, 4));
    let parallel = trace.jobs.iter().filter(|job| job.procs > 1).count();
    assert_eq!(parallel, 9);
    let names = trace.metadata.unwrap();
    assert_eq!(names.user.get(0), Some("user01"));
    assert_eq!(names.queue.get(0), Some("seq_pipeline"));

    let Some(limited) = records("sge/xdmod-fixture-sge-accounting.log.gz") else {
        return;
    };
    assert_eq!(limited.jobs.len(), 2);
    assert_eq!(limited.jobs[1].estimate, Span::from_secs(36_000));
}

#[test]
fn slurm_records_without_a_header_are_read() {
    let Some(trace) = records("slurm/xdmod-phillips.sacct.gz") else {
        return;
    };
    println!("{}", trace.diagnostics);
    assert_eq!(trace.jobs.len(), 4285);
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    assert_eq!(trace.diagnostics.count(Finding::AssumedOrder), 1);
    assert_eq!(trace.diagnostics.count(Finding::AssumedUtc), 1);
    let first = trace.jobs[0];
    assert_eq!(first.submit, Instant::from_secs(1_482_390_912));
    assert_eq!(first.runtime, Span::from_secs(912_426));
    assert_eq!(first.estimate, Span::from_secs(3_247_200));
    assert_eq!((first.number, first.procs), (163_485, 12));
    let names = trace.metadata.unwrap();
    assert_eq!(names.user.names().len(), 4);
    assert_eq!(names.queue.get(0), Some("focaccia"));
}

#[test]
fn slurm_steps_are_folded_into_their_jobs() {
    let name = "slurm/aws-hpc-cost-simulator-sacct-output-v2.txt.gz";
    let Some(trace) = records(name) else { return };
    println!("{}", trace.diagnostics);
    let folded = trace.diagnostics.count(Finding::PartOfJob);
    assert!(folded > 0);
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    assert_eq!(trace.jobs.len() as u64 + folded, 878);
    assert_eq!(trace.jobs[0].runtime, Span::from_secs(316));
}

#[test]
fn slurm_arrays_and_states_are_distinguished() {
    for (name, jobs) in [
        ("slurm/xdmod-fixture-accounting-logs.sacct.gz", 4),
        (
            "slurm/xdmod-fixture-accounting-logs-with-job-arrays.sacct.gz",
            6,
        ),
    ] {
        let Some(trace) = records(name) else { return };
        assert_eq!(trace.jobs.len(), jobs, "{name}: {}", trace.diagnostics);
    }
    let Some(folder) = tollgate_needs::traces() else {
        return;
    };
    let path = folder.join("slurm/xdmod-fixture-non-ended-job-state.sacct.gz");
    let error = open(&path, ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the job has not ended"), "{error}");

    // States that Slurm does not have, of jobs that have an end.
    let unknown = records("slurm/xdmod-fixture-unknown-job-state.sacct.gz").unwrap();
    let runtimes = unknown.jobs.iter().map(|job| job.runtime);
    let expected = [Span::from_secs(81_142), Span::from_secs(-1)];
    assert_eq!(runtimes.collect::<Vec<_>>(), expected);
    let unusable = Finding::Unusable(RecordField::Status);
    assert_eq!(unknown.diagnostics.count(unusable), 2);
}

#[test]
fn pbs_records_are_read() {
    let Some(trace) = records("pbs/xdmod-fixture-pbs-accounting.log.gz") else {
        return;
    };
    println!("{}", trace.diagnostics);
    assert_eq!(trace.jobs.len(), 9);
    let procs: Vec<u32> = trace.jobs.iter().map(|job| job.procs).collect();
    assert_eq!(procs[..4], [32, 32, 4, 65]);
    assert_eq!(trace.jobs[0].runtime, Span::from_secs(2197));
    assert_eq!(trace.jobs[0].estimate, Span::from_secs(14_400));
    assert_eq!(trace.metadata.unwrap().user.get(0), Some("jonesm"));
}
