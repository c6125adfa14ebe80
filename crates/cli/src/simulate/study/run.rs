//! `study run` and `study chunk`: from an experiment to its directory.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tollgate_policy::PolicyRegistry;
use tollgate_study::{ClaimResults, OnExistingResults, OutputDir, Study, StudyProgress};

use super::args::{StudyChunkArgs, StudyRunArgs};
use super::error::{BrokenClaims, NoBatchSystem};
use super::{batch, print, report};
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::simulate::missing_requests;

pub(super) fn run(args: &StudyRunArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let verbosity = if args.quiet {
        Verbosity::Errors
    } else {
        Verbosity::Notes
    };
    let changes = args.experiment.overrides();
    let study = Study::open(&args.experiment.study, &changes, registry)?;
    let path = output_dir(args.out.as_deref(), &study);
    let engine = args.on.batch_system();
    match (engine, args.flag_of_batch_systems()) {
        (None, Some(flag)) => return Err(NoBatchSystem { flag }.into()),
        (Some(engine), _) if args.dry_run => return batch::show(args, &study, &path, engine),
        (None | Some(_), _) => {}
    }
    let folder = create(&path)?;
    describe(&study, verbosity);
    let mut earlier = match args.resume {
        true => OnExistingResults::Resume,
        false => OnExistingResults::Refuse,
    };
    if let Some(engine) = engine {
        if !args.resume {
            study.ensure_unoccupied(&folder)?;
        }
        batch::run(args, &study, &folder, engine, verbosity)?;
        earlier = OnExistingResults::Resume;
    }
    let bar = bar();
    let outcome = study.run(&folder, args.threads(), earlier, |progress| {
        show(&bar, progress);
    });
    bar.finish_and_clear();
    let (_, ledger) = outcome?;
    report::write(&path, &args.weight_args)?;
    print::ledger(&ledger, args.format)?;
    verbosity.note(format!("the results are in {}", path.display()));
    if args.strict {
        check_strict(&ledger)?;
    }
    Ok(())
}

pub(super) fn chunk(args: &StudyChunkArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let changes = args.experiment.overrides();
    let study = Study::open(&args.experiment.study, &changes, registry)?;
    let folder = create(&output_dir(args.out.as_deref(), &study))?;
    let bar = bar();
    let outcome = study.run_chunk(&folder, args.chunk, args.threads, |progress| {
        show(&bar, progress);
    });
    bar.finish_and_clear();
    Ok(outcome?)
}

fn output_dir(out: Option<&Path>, study: &Study) -> PathBuf {
    let named = || PathBuf::from(&study.experiment().name);
    out.map_or_else(named, Path::to_owned)
}

fn create(path: &Path) -> Result<OutputDir, CliFailure> {
    OutputDir::create(path)
        .map_err(|error| CliFailure::write_failed(path.display().to_string(), error))
}

fn describe(study: &Study, verbosity: Verbosity) {
    if let Some(source) = study.source() {
        let trace = source.trace();
        for finding in trace.diagnostics.to_string().lines() {
            verbosity.note(format!("{}: {finding}", trace.source));
        }
        let nodes = match study.experiment().world.nodes {
            Some(_) => "as the experiment says".to_owned(),
            None => source.nodes_from().to_string(),
        };
        verbosity.note(format!(
            "{} of {}, on {} ({nodes})",
            pluralise(trace.jobs.len(), "job"),
            trace.source,
            pluralise(source.nodes() as usize, "node"),
        ));
        missing_requests::print_notes(study.missing_requests(), verbosity);
    }
    verbosity.note(format!(
        "{} of {}, with {}",
        pluralise(study.plan().runs(), "run"),
        pluralise(study.plan().rows.len(), "row"),
        pluralise(study.experiment().seeds as usize, "seed"),
    ));
}

/// Creates a progress bar, which is hidden unless the output is a terminal.
fn bar() -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{bar:40} {human_pos} of {human_len} runs, {per_sec}, {eta} left",
    );
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr())
        .with_style(style.expect("a template that is right"))
}

fn show(bar: &ProgressBar, progress: StudyProgress) {
    if bar.length() != Some(progress.all as u64) {
        bar.set_length(progress.all as u64);
        bar.set_position(progress.before as u64);
        bar.reset_eta();
    }
    bar.set_position(progress.done as u64);
}

fn check_strict(ledger: &ClaimResults) -> Result<(), BrokenClaims> {
    let broken: Vec<&str> = ledger
        .unexpected_failures()
        .map(|entry| entry.claim.id.as_str())
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(BrokenClaims {
        broken: broken.len(),
        all: ledger.entries.len(),
        ids: broken.join(", "),
    })
}
