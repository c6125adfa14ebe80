//! `seff`: how much of what a job requested it used.

use std::io::{self, Write};

use tollgate_frontends::slurm::{CLUSTER_NAME, SlurmError};

use super::failure::SlurmFailure;
use super::scontrol;
use crate::connection::endpoint::ServiceAddressArgs;

/// Prints the use of processors and memory of a job, or of each task.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let mut jobs = words.iter().filter(|word| !word.starts_with('-'));
    let Some(job) = jobs.next() else {
        return Err(SlurmError::new("Usage: seff [Options] <Jobid>", 1).into());
    };
    let mut client = address.connect()?;
    let mut out = io::stdout().lock();
    for row in scontrol::rows_of(&mut client, job)? {
        let details = &row.job;
        let state = row.status.state.words().0;
        let (code, _) = row.status.exit;
        writeln!(out, "Job ID: {}", row.raw_id())?;
        if row.is_of_array {
            writeln!(out, "Array Job ID: {}", row.display_id())?;
        }
        writeln!(out, "Cluster: {CLUSTER_NAME}")?;
        writeln!(out, "User/Group: {0}/{0}", details.user)?;
        writeln!(out, "State: {state} (exit code {code})")?;
        writeln!(out, "Nodes: 1\nCores per node: {}", details.procs)?;
        let wall = details.run_s.unwrap_or(0.0);
        let reserved = wall * f64::from(details.procs);
        let used = details.cpu_s.unwrap_or(0.0);
        writeln!(out, "CPU Utilized: {}", clock(used))?;
        writeln!(
            out,
            "CPU Efficiency: {} of {} core-walltime",
            percent(used, reserved),
            clock(reserved)
        )?;
        writeln!(out, "Job Wall-clock time: {}", clock(wall))?;
        let peak = details.peak_memory_bytes.unwrap_or(0) as f64;
        writeln!(out, "Memory Utilized: {:.2} MB", peak / 1_048_576.0)?;
        match details.memory_bytes {
            Some(bytes) => {
                let bytes = bytes as f64;
                let of = bytes / 1_048_576.0;
                writeln!(
                    out,
                    "Memory Efficiency: {} of {of:.2} MB",
                    percent(peak, bytes)
                )?;
            }
            None => writeln!(out, "Memory Efficiency: no limit was requested")?,
        }
    }
    Ok(())
}

fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    };
    format!("{share:.2}%")
}

fn clock(seconds: f64) -> String {
    let secs = seconds.max(0.0).round() as u64;
    let (days, hours, minutes) = (secs / 86_400, secs / 3600 % 24, secs / 60 % 60);
    let clock = format!("{hours:02}:{minutes:02}:{:02}", secs % 60);
    match days {
        0 => clock,
        days => format!("{days}-{clock}"),
    }
}
