//! The entry points of the fuzz targets; hidden, public only for them and for the tests that drive
//! them without a fuzzer. Each returns false if it rejects its input.

pub mod samples;

use tollgate_model::Span;

use crate::error::ReadError;
use crate::format::TraceFormat;
use crate::options::{ColumnSelection, ReadOptions};
use crate::trace::Trace;
use crate::{condor, gwf, job_table, logins, lsf, pbs, sge, slurm, swf};

const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// The fuzz target of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatTarget {
    /// The name of the target, here and in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]) -> bool,
    /// Valid inputs.
    pub samples: &'static [&'static str],
}

impl FormatTarget {
    /// Returns the target of a format.
    pub const fn of(format: TraceFormat) -> Self {
        match format {
            TraceFormat::Swf => Self::new("swf", swf, &[samples::SWF]),
            TraceFormat::Gwf => Self::new("gwf", gwf, &[samples::GWF, samples::GWF_COMMAS]),
            TraceFormat::GridEngine => Self::new("sge", sge, &[samples::SGE]),
            TraceFormat::Slurm => {
                const SAMPLES: &[&str] =
                    &[samples::SLURM, samples::SLURM_BARE, samples::SLURM_NAMES];
                Self::new("slurm", slurm, SAMPLES)
            }
            TraceFormat::SlurmJson => Self::new("slurm_json", slurm_json, &[samples::SLURM_JSON]),
            TraceFormat::SlurmEvents => {
                Self::new("slurm_events", slurm_events, &[samples::SLURM_EVENTS])
            }
            TraceFormat::Pbs => Self::new("pbs", pbs, &[samples::PBS, samples::PBS_QUOTES]),
            TraceFormat::Lsf => Self::new("lsf", lsf, &[samples::LSF]),
            TraceFormat::CondorHistory => {
                Self::new("condor_history", condor_history, &[samples::CONDOR_HISTORY])
            }
            TraceFormat::CondorJson => {
                Self::new("condor_json", condor_json, &[samples::CONDOR_JSON])
            }
            TraceFormat::CondorEvents => {
                Self::new("condor_events", condor_events, &[samples::CONDOR_EVENTS])
            }
            TraceFormat::Table => Self::new("table", table, &[samples::TABLE, samples::TABLE_TABS]),
        }
    }

    const fn new(
        name: &'static str,
        run: fn(&[u8]) -> bool,
        samples: &'static [&'static str],
    ) -> Self {
        Self { name, run, samples }
    }
}

/// Reads `data` as SWF: whatever it is, there is an error or a sound trace.
pub fn swf(data: &[u8]) -> bool {
    check_result(swf::read("fuzz", data, OPTIONS))
}

/// Reads `data` as GWF, in either notation: whatever it is, there is an error or a sound trace.
pub fn gwf(data: &[u8]) -> bool {
    check_result(gwf::read("fuzz", data, OPTIONS))
}

/// Reads `data` as Grid Engine's `accounting`: whatever it is, there is an error or a sound trace.
pub fn sge(data: &[u8]) -> bool {
    check_result(sge::read("fuzz", data, OPTIONS))
}

/// Reads `data` as the output of `sacct -P`: whatever it is, there is an error or a sound trace.
pub fn slurm(data: &[u8]) -> bool {
    check_result(slurm::read("fuzz", data, OPTIONS))
}

/// Reads `data` as the output of `sacct --json`: whatever it is, there is an error or a sound
/// trace.
pub fn slurm_json(data: &[u8]) -> bool {
    check_result(slurm::json::read("fuzz", data, OPTIONS))
}

/// Reads `data` as events of Slurm's simulator: whatever it is, there is an error or a sound trace.
pub fn slurm_events(data: &[u8]) -> bool {
    check_result(slurm::events::read("fuzz", data, OPTIONS))
}

/// Reads `data` as accounting records of PBS: whatever it is, there is an error or a sound trace.
pub fn pbs(data: &[u8]) -> bool {
    check_result(pbs::read("fuzz", data, OPTIONS))
}

/// Reads `data` as LSF's `lsb.acct`: whatever it is, there is an error or a sound trace.
pub fn lsf(data: &[u8]) -> bool {
    check_result(lsf::read("fuzz", data, OPTIONS))
}

/// Reads `data` as HTCondor's job ads: whatever it is, there is an error or a sound trace.
pub fn condor_history(data: &[u8]) -> bool {
    check_result(condor::history::read("fuzz", data, OPTIONS))
}

/// Reads `data` as HTCondor's job ads in JSON: whatever it is, there is an error or a sound trace.
pub fn condor_json(data: &[u8]) -> bool {
    check_result(condor::json::read("fuzz", data, OPTIONS))
}

/// Reads `data` as HTCondor's job event log: whatever it is, there is an error or a sound trace.
pub fn condor_events(data: &[u8]) -> bool {
    check_result(condor::events::read("fuzz", data, OPTIONS))
}

/// Reads `data` as a job table: whatever it is, there is an error or a sound trace.
pub fn table(data: &[u8]) -> bool {
    check_result(job_table::read("fuzz", data, OPTIONS))
}

/// Reads `data` as log-ins: there is an error or the sessions are in order.
pub fn logins(data: &[u8]) -> bool {
    let Ok(logins) = logins::read("fuzz", data) else {
        return false;
    };
    assert!(logins.sessions.is_sorted_by_key(|session| session.from));
    for session in &logins.sessions {
        assert!(session.span().is_none_or(|span| span >= Span::ZERO));
        assert!(session.place.index() < logins.places().len());
    }
    true
}

/// Reads `data` in the format that is detected, decompressed if necessary.
pub fn open(data: &[u8]) -> bool {
    let read = crate::open::read("fuzz", data, OPTIONS);
    match &read {
        Ok(trace) => check(trace),
        Err(error) => assert!(error.to_string().starts_with("fuzz: ")),
    }
    read.is_ok()
}

fn check_result(read: Result<Trace, ReadError>) -> bool {
    let Ok(trace) = read else {
        return false;
    };
    check(&trace);
    write_and_read_back(&trace);
    true
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
    assert!(names.account.len() == rows && names.usage.len() == rows);
    for usage in names.usage.iter() {
        assert!(usage.wait.is_none_or(|wait| wait >= Span::ZERO));
        assert!(usage.cpu_time.is_none_or(|time| time >= Span::ZERO));
    }
    let Some(attempts) = &names.attempts else {
        return;
    };
    assert_eq!(attempts.len(), rows);
    for row in 0..rows {
        let of_job = attempts.of(row);
        assert!(of_job.iter().all(|attempt| attempt.end >= attempt.start));
        assert!(of_job.is_sorted_by_key(|attempt| attempt.start));
    }
}

fn write_and_read_back(trace: &Trace) {
    let mut written = Vec::new();
    job_table::write(trace, &mut written).expect("memory takes everything");
    let read = job_table::read("again", written.as_slice(), OPTIONS).expect("what was written");
    assert_eq!(read.jobs, trace.jobs);
    assert_eq!(read.slas, trace.slas);
    assert_eq!(read.extra, trace.extra);
    let (read, written) = (read.metadata, trace.metadata.as_ref());
    assert_eq!(
        read.map(|names| names.usage),
        written.map(|names| names.usage.clone())
    );

    let mut writer = swf::SwfWriter::new(Vec::new());
    writer.write(trace).expect("memory takes everything");
    let written = writer.finish().expect("memory takes everything");
    let read = swf::read("again", written.as_slice(), OPTIONS).expect("what was written");
    assert_eq!(read.jobs, trace.jobs);
}
