//! Tests of the dialects over recorded answers of real engines, and over any text whatever.
//!
//! The answers in `tests/answers` are recorded by `.ci/parts/engines/record.sh`: Slurm 22.05, Grid
//! Engine 8.1.9, HTCondor 23.9.

mod htcondor;
mod sge;
mod slurm;
mod totality;
mod words;

use std::fs;
use std::path::Path;

use tollgate_batch::{
    BatchJob, BatchJobName, BatchJobPhase, BatchJobReport, BatchPlacement, CommandAnswer,
    EngineFault, JobMemory, RetryAdvice,
};
use tollgate_model::{Bytes, Span};

/// Returns a recorded answer.
pub(crate) fn answer(name: &str) -> CommandAnswer {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/answers/{name}.txt"));
    let text = fs::read_to_string(&file).expect("a recorded answer");
    let (head, rest) = text.split_once("--- output\n").expect("an output");
    let (output, errors) = rest.split_once("--- errors\n").expect("errors");
    let exit = head.lines().find_map(|line| line.strip_prefix("exit "));
    CommandAnswer {
        exit: exit
            .and_then(|code| code.parse().ok())
            .expect("an exit code"),
        output: output.to_owned(),
        errors: errors.to_owned(),
    }
}

/// Returns a name of a job.
pub(crate) fn name(text: &str) -> BatchJobName {
    text.parse().expect("a legal name")
}

/// Returns a job of an hour on two cores.
pub(crate) fn job(script: &str, arguments: &[&str]) -> BatchJob {
    BatchJob {
        name: name("tg.site.7f3a.1"),
        script: script.to_owned(),
        time: Some(Span::from_secs(3600)),
        cores: 2,
        memory: Some(JobMemory::Bytes(Bytes::from_kibibytes(100 * 1024))),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        placement: BatchPlacement::default(),
    }
}

/// Returns names and phases, in the order of the names.
pub(crate) fn phases(jobs: &[BatchJobReport]) -> Vec<(&str, BatchJobPhase)> {
    let mut phases: Vec<_> = jobs
        .iter()
        .map(|job| (job.name.as_str(), job.phase))
        .collect();
    phases.sort_unstable();
    phases
}

/// Returns the phase of the youngest job. The engine may have had jobs of the same name before.
pub(crate) fn youngest(jobs: &[BatchJobReport]) -> Option<(&str, BatchJobPhase)> {
    let youngest = jobs.iter().max_by_key(|job| job.id)?;
    Some((&youngest.name, youngest.phase))
}

/// Returns the advice of a refusal. Panics at an answer that is not understood.
pub(crate) fn advice(fault: &EngineFault) -> RetryAdvice {
    match fault {
        EngineFault::Refused { retry, .. } => *retry,
        EngineFault::Unreadable { .. } => panic!("{fault}"),
    }
}
