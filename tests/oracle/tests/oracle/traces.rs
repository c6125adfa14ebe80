//! A minimal reader for the Standard Workload Format, sufficient for an oracle.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;

/// One record; seconds, and -1 where the trace has no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OracleTraceRecord {
    pub(crate) submit_s: i64,
    pub(crate) runtime_s: i64,
    pub(crate) used_procs: i64,
    pub(crate) requested_procs: i64,
    pub(crate) requested_s: i64,
}

impl OracleTraceRecord {
    /// Returns the number of processors used, or else requested.
    pub(crate) fn procs(&self) -> u32 {
        let known = if self.used_procs > 0 {
            self.used_procs
        } else {
            self.requested_procs
        };
        u32::try_from(known).expect("a record with processors")
    }

    /// Returns the user's estimate, or else the run time, in seconds.
    pub(crate) fn estimate_s(&self) -> i64 {
        if self.requested_s > 0 {
            self.requested_s
        } else {
            self.runtime_s
        }
    }
}

/// Returns the records of a trace in file order; None, with a message, without a trace directory.
pub(crate) fn records(name: &str) -> Option<Vec<OracleTraceRecord>> {
    let path = tollgate_needs::traces()?.join("swf").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = Vec::new();
    let mut reader = GzDecoder::new(file);
    reader.read_to_end(&mut text).expect("a whole gzip file");
    let text = String::from_utf8_lossy(&text);
    Some(
        text.lines()
            .filter(|line| !line.starts_with(';'))
            .map(record)
            .collect(),
    )
}

fn record(line: &str) -> OracleTraceRecord {
    let fields: Vec<f64> = line
        .split_whitespace()
        .map(|field| field.parse().expect("a number"))
        .collect();
    OracleTraceRecord {
        submit_s: fields[1] as i64,
        runtime_s: fields[3] as i64,
        used_procs: fields[4] as i64,
        requested_procs: fields[7] as i64,
        requested_s: fields[8] as i64,
    }
}
