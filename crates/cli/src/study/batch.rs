//! A study as a job array of a batch system.

use std::env;
use std::path::{Path, absolute};

use tollgate_study::job_array::{JobArray, submit_to_slurm};
use tollgate_study::{BuiltinExperiment, OutputDir, Study};

use super::args::{ExperimentArgs, StudyRunArgs};
use super::print_text;
use crate::exit::CliFailure;
use crate::messages::{Verbosity, pluralise};

/// The file name of the script.
const SCRIPT: &str = "chunks.sbatch";

/// Prints the script.
pub(super) fn show(args: &StudyRunArgs, study: &Study, folder: &Path) -> Result<(), CliFailure> {
    print_text(&job_array(args, study, folder)?.slurm_script())
}

/// Submits the chunks and waits for them.
pub(super) fn run(
    args: &StudyRunArgs,
    study: &Study,
    folder: &OutputDir,
    voice: Verbosity,
) -> Result<(), CliFailure> {
    let array = job_array(args, study, &folder.path(""))?;
    let script = folder.path(SCRIPT);
    folder
        .write(SCRIPT, array.slurm_script().as_bytes())
        .map_err(|error| CliFailure::write_failed(script.display().to_string(), error))?;
    voice.note(format!("waiting for {}", pluralise(array.chunks, "chunk")));
    Ok(submit_to_slurm(&script)?)
}

/// Builds the job array. Its elements run elsewhere, perhaps in another directory, so every path is
/// absolute.
fn job_array(args: &StudyRunArgs, study: &Study, folder: &Path) -> Result<JobArray, CliFailure> {
    let folder = full(folder)?;
    let program = full(&env::current_exe()?)?;
    let ExperimentArgs {
        study: named,
        workload,
        seeds,
        scale,
    } = &args.experiment;
    let mut arguments = vec![match BuiltinExperiment::find(named) {
        Some(builtin) => builtin.name.to_owned(),
        None => full(Path::new(named))?,
    }];
    let mut flag = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    flag("--out", folder.clone());
    if let Some(workload) = workload {
        flag("--workload", full(Path::new(workload))?);
    }
    if let Some(seeds) = seeds {
        flag("--seeds", seeds.to_string());
    }
    if let Some(scale) = scale {
        flag("--scale", scale.to_string());
    }
    let families = study.plan().batches.iter().map(|batch| batch.family + 1);
    Ok(JobArray {
        name: format!("tollgate-{}", study.experiment().name),
        chunks: args.chunks.get().min(families.max().unwrap_or(1)),
        logs: folder,
        command: [&program, "study", "chunk"].map(str::to_owned).to_vec(),
        arguments,
    })
}

fn full(path: &Path) -> Result<String, CliFailure> {
    let path = absolute(path)?;
    Ok(path.display().to_string().trim_end_matches('/').to_owned())
}
