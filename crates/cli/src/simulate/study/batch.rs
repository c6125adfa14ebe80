//! A study as job arrays of a batch system.

mod wait;

use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, absolute};

use tollgate_batch::{BatchJob, BatchJobName, BatchPlacement, EngineDialect, EngineKind, shell};
use tollgate_model::Span;
use tollgate_sites::EngineShell;
use tollgate_study::{BuiltinExperiment, OutputDir, Study};
use tollgate_trace::open::MAX_DECOMPRESSED_VARIABLE;

use super::args::{ExperimentArgs, StudyRunArgs};
use super::print_text;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

/// The chunks of a study, for an engine.
struct StudyChunks {
    engine: EngineKind,
    dialect: Box<dyn EngineDialect>,
    /// Number of chunks into which the study is cut; at least 1.
    of: NonZeroUsize,
    /// The program, as the nodes see it.
    program: String,
    /// The directory, as the nodes see it.
    folder: String,
    /// The name of the experiment.
    name: String,
    /// The arguments after the number of the chunk.
    arguments: Vec<String>,
    /// The time limit of an element. None for that of the queue.
    time: Option<Span>,
    /// Further arguments of the engine's submit command.
    engine_arguments: Vec<String>,
}

/// Prints the command and the script that would be submitted.
pub(super) fn show(
    args: &StudyRunArgs,
    study: &Study,
    folder: &Path,
    engine: EngineKind,
) -> Result<(), CliFailure> {
    let chunks = StudyChunks::new(args, study, folder, engine)?;
    let all: Vec<usize> = (1..=chunks.of.get()).collect();
    let job = chunks.job(&all, "KEY");
    let command = chunks.dialect.submit_array(&job, all.len() as u32);
    let line = command.map(|command| EngineShell::new(None).describe(&command));
    print_text(&format!("# {}\n{}", line.unwrap_or_default(), job.script))
}

/// Executes the chunks that `folder` does not hold, and waits for them.
pub(super) fn run(
    args: &StudyRunArgs,
    study: &Study,
    folder: &OutputDir,
    engine: EngineKind,
    verbosity: Verbosity,
) -> Result<(), CliFailure> {
    let chunks = StudyChunks::new(args, study, &folder.path(""), engine)?;
    wait::run(&chunks, study, folder, verbosity)
}

impl StudyChunks {
    /// Chunks run elsewhere, perhaps in another directory, so every path is absolute.
    fn new(
        args: &StudyRunArgs,
        study: &Study,
        folder: &Path,
        engine: EngineKind,
    ) -> Result<Self, CliFailure> {
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
        Ok(Self {
            engine,
            dialect: engine.dialect(&program),
            of: families
                .max()
                .and_then(NonZeroUsize::new)
                .map_or(NonZeroUsize::MIN, |families| families.min(args.chunks())),
            program,
            folder,
            name: study.experiment().name.clone(),
            arguments,
            time: args.time.map(Span::from_secs_f64),
            engine_arguments: args.engine_arguments.clone(),
        })
    }

    /// Returns the job of which each element executes one of `chunks`. `key` makes its name unique.
    fn job(&self, chunks: &[usize], key: &str) -> BatchJob {
        BatchJob {
            name: self.job_name(key),
            script: self.script(chunks),
            time: self.time,
            cores: 1,
            memory: None,
            placement: BatchPlacement::default(),
            arguments: self.engine_arguments.clone(),
        }
    }

    /// Returns a name for which the engine has no other job.
    fn job_name(&self, key: &str) -> BatchJobName {
        let plain = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
            _ => '-',
        };
        let study: String = self.name.chars().map(plain).take(60).collect();
        let name = format!("tg-study.{study}.{key}").parse();
        name.expect("plain letters only")
    }

    /// Returns the script of an array. Element n executes the n-th of `chunks`.
    fn script(&self, chunks: &[usize]) -> String {
        let numbers: Vec<String> = chunks.iter().map(ToString::to_string).collect();
        let element = self.dialect.element().unwrap_or("1");
        let logs = shell::quote(&self.folder);
        let limit = env::var(MAX_DECOMPRESSED_VARIABLE).ok();
        let limit = limit.map_or_else(String::new, |value| {
            format!(
                "export {MAX_DECOMPRESSED_VARIABLE}={}\n",
                shell::quote(&value)
            )
        });
        format!(
            "#!/bin/sh\n\
             set -- {numbers}\n\
             shift \"$(({element} - 1))\"\n\
             {limit}\
             exec {program} study chunk \"$1/{of}\" {arguments} \\\n\
             \x20 </dev/null >>{logs}/chunk-\"$1\".log 2>&1\n",
            numbers = numbers.join(" "),
            program = shell::quote(&self.program),
            of = self.of,
            arguments = shell::line(&self.arguments),
        )
    }
}

fn full(path: &Path) -> Result<String, CliFailure> {
    let path = absolute(path)?;
    Ok(path.display().to_string().trim_end_matches('/').to_owned())
}
