//! Tests with real records of the formats beside SWF and plain accounting, if a copy is available.

use std::path::PathBuf;

use tollgate_model::{Bytes, Instant, Span};
use tollgate_trace::logins::ComputerPresence;
use tollgate_trace::{
    ColumnSelection, Finding, FindingAction, ReadOptions, RecordField, Trace, TraceAttemptEnd,
    TraceFormat, TraceStatus, logins, open,
};

const ALL: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// Returns the path of this file or directory, if there is a directory of traces.
fn path(name: &str) -> Option<PathBuf> {
    Some(tollgate_needs::traces()?.join(name))
}

fn records(name: &str) -> Option<Trace> {
    let trace = open(&path(name)?, ALL).unwrap_or_else(|error| panic!("{error}"));
    println!("{}", trace.diagnostics);
    Some(trace)
}

#[test]
fn grid_workloads_are_read() {
    let Some(trace) = records("gwf/opendc-fixture-trace.gwf.gz") else {
        return;
    };
    assert_eq!(
        (trace.format, trace.jobs.len()),
        (Some(TraceFormat::Gwf), 70)
    );
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    assert_eq!(trace.jobs[6].submit, Instant::from_secs(87));
    assert_eq!(trace.jobs[6].runtime, Span::from_secs(11));
}

#[test]
fn lsf_records_are_read() {
    let Some(trace) = records("lsf/aws-hpc-cost-simulator-lsb.acct.16.gz") else {
        return;
    };
    assert_eq!(
        (trace.format, trace.jobs.len()),
        (Some(TraceFormat::Lsf), 82)
    );
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    let job = trace.jobs[4];
    assert_eq!((job.number, job.procs), (105, 1));
    assert_eq!(job.submit, Instant::from_secs(1_643_910_941));
    assert_eq!(job.runtime, Span::from_secs(5));
    let metadata = trace.metadata.unwrap();
    assert_eq!(metadata.executable.get(4), Some("/bin/sleep"));
    assert_eq!(metadata.account.get(4), Some("default"));
    let usage = metadata.usage.get(4).unwrap();
    assert_eq!(usage.wait, Some(Span::from_secs(1)));
    assert_eq!(usage.peak_memory, Some(Bytes::from_kibibytes(2048)));
    assert_eq!(usage.status, TraceStatus::Completed);
    let count = |status| {
        let of_status = metadata.usage.iter().filter(|usage| usage.status == status);
        of_status.count()
    };
    assert_eq!(
        count(TraceStatus::Completed) + count(TraceStatus::Failed),
        82
    );
}

#[test]
fn simulator_events_are_read() {
    let Some(trace) = records("slurm/ubccr-slurm-sim-workload_week.events.gz") else {
        return;
    };
    assert_eq!(trace.format, Some(TraceFormat::SlurmEvents));
    assert_eq!(trace.jobs.len(), 19_579);
    assert!(trace.diagnostics.is_empty());
    let over = trace.jobs.iter().filter(|job| job.runtime < job.estimate);
    assert_eq!(over.count(), 19_425);
    let widest = trace.jobs.iter().map(|job| job.procs).max();
    assert_eq!(widest, Some(256));
    let metadata = trace.metadata.unwrap();
    assert_eq!(metadata.user.names().len(), 64);
    let memory = metadata.usage.get(0).unwrap().requested_memory;
    assert_eq!(memory, Some(Bytes::new(500 << 30)));
}

#[test]
fn condor_history_is_read() {
    let Some(trace) = records("htcondor/gratia-probe-condor-7.4-history-ads.txt.gz") else {
        return;
    };
    assert_eq!(trace.format, Some(TraceFormat::CondorHistory));
    assert_eq!(trace.jobs.len(), 30);
    assert_eq!(trace.diagnostics.total(FindingAction::Skipped), 0);
    let expression = Finding::Expression(RecordField::RequestedMemory);
    assert_eq!(trace.diagnostics.count(expression), 30);
    assert_eq!(trace.jobs[0].runtime, Span::from_secs(910));
    let metadata = trace.metadata.unwrap();
    let statuses = metadata.usage.iter().map(|usage| usage.status);
    assert_eq!(
        statuses
            .filter(|status| *status == TraceStatus::Completed)
            .count(),
        20
    );
    let attempts = metadata.attempts.unwrap();
    assert_eq!(attempts.of(0)[0].ended, TraceAttemptEnd::Finished);
    assert_eq!(attempts.of(0)[0].span(), Span::from_secs(910));
}

#[test]
fn condor_events_are_read() {
    let Some(trace) = records("htcondor/htcondor-test_condor.userlog.gz") else {
        return;
    };
    assert_eq!(trace.format, Some(TraceFormat::CondorEvents));
    let runtimes: Vec<_> = trace.jobs.iter().map(|job| job.runtime).collect();
    assert_eq!(runtimes, [Span::from_secs(7), Span::from_secs(7)]);
    // The other events of the fixture are of a job numbered -1.
    let skipped = trace.diagnostics.total(FindingAction::Skipped);
    let nonsense = Finding::OutOfRange(RecordField::JobNumber);
    assert_eq!((skipped, trace.diagnostics.count(nonsense)), (845, 845));
}

#[test]
fn recorded_usage_is_read() {
    let Some(blue) = records("swf/SDSC-BLUE-2000-4.2-cln.swf.gz") else {
        return;
    };
    let usage = blue.metadata.unwrap().usage;
    let with_time = usage.iter().filter(|usage| usage.cpu_time.is_some());
    assert_eq!(with_time.count(), 218_827);
    let cancelled = usage
        .iter()
        .filter(|one| one.status == TraceStatus::Cancelled);
    assert_eq!(cancelled.count(), 47_718);

    let Some(meta) = records("swf/MetaCentrum-wagap-2013.swf.gz") else {
        return;
    };
    let usage = meta.metadata.unwrap().usage;
    assert_eq!(
        usage.get(0).unwrap().requested_memory,
        Some(Bytes::new(64 << 30))
    );
    let most = usage
        .iter()
        .filter_map(|usage| usage.requested_memory)
        .max();
    assert_eq!(most, Some(Bytes::new(512 << 30)));

    let Some(aws) = records("slurm/aws-hpc-cost-simulator-sacct-output-v2.txt.gz") else {
        return;
    };
    let usage = aws.metadata.unwrap().usage.get(0).unwrap();
    assert_eq!(usage.peak_memory, Some(Bytes::from_kibibytes(114_944)));
    assert_eq!(usage.requested_memory, Some(Bytes::new(100 << 20)));
    assert_eq!(usage.cpu_time, Some(Span::from_micros(130_584_000)));
    assert_eq!(usage.status, TraceStatus::OutOfMemory);

    let Some(phillips) = records("slurm/xdmod-phillips.sacct.gz") else {
        return;
    };
    let usage = phillips.metadata.unwrap().usage;
    let with_memory = usage.iter().filter(|one| one.requested_memory.is_some());
    assert_eq!(with_memory.count(), 4_285);
    // In the first record 31000 MB per node, on one node; in others the total of the resources.
    assert_eq!(
        usage.get(0).unwrap().requested_memory,
        Some(Bytes::new(31_000 << 20))
    );
}

#[test]
fn directory_is_one_trace() {
    let Some(trace) = records("sge") else { return };
    assert_eq!(trace.jobs.len(), 135);
    assert!(trace.jobs.is_sorted_by_key(|job| job.submit));
    let error = open(&path("slurm").unwrap(), ALL).unwrap_err().to_string();
    assert!(error.contains("expected files of one format"), "{error}");
}

#[test]
fn logins_are_read() {
    let Some(path_of_logins) = path("availability/UW-DEOHS-lab-logins-2015.csv.gz") else {
        return;
    };
    let uw = logins::open(&path_of_logins).unwrap();
    assert_eq!(uw.sessions.len(), 4_719);
    let of = |place: &str| {
        let sessions = uw.sessions.iter();
        sessions.filter(|one| uw.place(one.place) == place).count()
    };
    assert_eq!((of("HSB"), of("Roo"), of("HAL")), (1_433, 1_274, 2_012));
    assert_eq!(uw.diagnostics.count(Finding::AssumedUtc), 1);
    assert_eq!(uw.diagnostics.total(FindingAction::Skipped), 0);
    let error = open(&path_of_logins, ALL).unwrap_err();
    assert!(error.to_string().contains("log-ins"), "{error}");

    let lanl = logins::open(&path("availability/FTA-LANL05-event_trace.tab.gz").unwrap()).unwrap();
    assert_eq!(
        lanl.diagnostics.total(FindingAction::Skipped),
        0,
        "{}",
        lanl.diagnostics
    );
    assert_eq!(lanl.sessions.len(), 43_325);
    assert_eq!(lanl.places().len(), 3_577);
    let outages = lanl
        .sessions
        .iter()
        .filter(|one| one.presence == ComputerPresence::Unavailable);
    let hours: Vec<f64> = outages
        .filter_map(|one| one.span())
        .map(|span| span.as_secs_f64() / 3600.0)
        .collect();
    assert_eq!(hours.len(), 23_451);
    let mean = hours.iter().sum::<f64>() / hours.len() as f64;
    assert!((mean - 5.9).abs() < 0.05, "{mean}");

    let volunteers = path("availability/volunteer-browser-contributions-2016.csv.gz").unwrap();
    let volunteers = logins::open(&volunteers).unwrap();
    // One line holds a fragment of a page and an address instead of a time.
    let skipped = volunteers.diagnostics.total(FindingAction::Skipped);
    assert_eq!((skipped, volunteers.sessions.len()), (1, 53_161));
    assert_eq!(volunteers.places().len(), 318);
}
