//! What the fuzz targets run; hidden, public only for them and for the test that drives them
//! without a fuzzer.

use crate::open::{Columns, ReadOptions};
use crate::trace::Trace;
use crate::{pbs, sge, slurm, swf, table};

const OPTIONS: ReadOptions = ReadOptions {
    columns: Columns::All,
};

/// Reads `data` as SWF: whatever it is, there is an error or a sound trace.
pub fn swf(data: &[u8]) {
    if let Ok(trace) = swf::read("fuzz", data, OPTIONS) {
        check(&trace);
        write_and_read_back(&trace);
    }
}

/// Reads `data` as Grid Engine's `accounting`: there is an error or a sound trace.
pub fn sge(data: &[u8]) {
    if let Ok(trace) = sge::read("fuzz", data, OPTIONS) {
        check(&trace);
        write_and_read_back(&trace);
    }
}

/// Reads `data` as the output of `sacct -P`: there is an error or a sound trace.
pub fn slurm(data: &[u8]) {
    if let Ok(trace) = slurm::read("fuzz", data, OPTIONS) {
        check(&trace);
        write_and_read_back(&trace);
    }
}

/// Reads `data` as accounting records of PBS: there is an error or a sound trace.
pub fn pbs(data: &[u8]) {
    if let Ok(trace) = pbs::read("fuzz", data, OPTIONS) {
        check(&trace);
        write_and_read_back(&trace);
    }
}

/// Reads `data` as a job table: whatever it is, there is an error or a sound trace.
pub fn table(data: &[u8]) {
    if let Ok(trace) = table::read("fuzz", data, OPTIONS) {
        check(&trace);
        write_and_read_back(&trace);
    }
}

/// Reads `data` as whatever it looks like, decompressed if need be.
pub fn open(data: &[u8]) {
    match crate::open::read("fuzz", data, OPTIONS) {
        Ok(trace) => check(&trace),
        Err(error) => assert!(error.to_string().starts_with("fuzz: ")),
    }
}

fn check(trace: &Trace) {
    let rows = trace.jobs.len();
    assert!(rows > 0);
    for job in &trace.jobs {
        assert!(job.procs >= 1 && job.procs <= 10_000_000);
        assert!(job.submit.as_secs_f64() >= 0.0 && job.submit.as_secs_f64() <= 1e11);
        assert!(job.runtime.as_secs_f64() <= 1e11 && job.estimate.as_secs_f64() <= 1e11);
    }
    assert!(trace.slas.as_ref().is_none_or(|slas| slas.len() == rows));
    let names = trace.metadata.as_ref().expect("was asked for");
    assert!(names.user.len() == rows && names.queue.len() == rows);
}

fn write_and_read_back(trace: &Trace) {
    let mut written = Vec::new();
    table::write(trace, &mut written).expect("memory takes everything");
    let read = table::read("again", written.as_slice(), OPTIONS).expect("what was written");
    assert_eq!(read.jobs, trace.jobs);
    assert_eq!(read.slas, trace.slas);
    assert_eq!(read.extra, trace.extra);

    let mut writer = swf::Writer::new(Vec::new());
    writer.write(trace).expect("memory takes everything");
    let written = writer.finish().expect("memory takes everything");
    let read = swf::read("again", written.as_slice(), OPTIONS).expect("what was written");
    assert_eq!(read.jobs, trace.jobs);
}
