//! `tollgate study`: whole experiments.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | the flags of a run |
//! | [`error`] | the errors |
//! | [`mod@run`] | `study run` and `study chunk` |
//! | [`batch`] | a run as job arrays |
//! | [`mod@print`] | the claims ledger |
//! | [`report`] | `tollgate study report` |

mod args;
mod batch;
mod error;
mod print;
mod report;
mod run;

use std::io::{self, Write};

use clap::Subcommand;
use tollgate_policies::builtin_registry;
use tollgate_policy::PolicyRegistry;
use tollgate_study::{BUILTIN_EXPERIMENTS, BuiltinExperiment, Experiment, StudyError};

use crate::exit::CliFailure;

/// The options of `tollgate study`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    command: StudyCommand,
}

#[derive(Debug, Subcommand)]
enum StudyCommand {
    /// List the experiments that come with tollgate
    List {
        /// Print only the names
        #[arg(long, short)]
        quiet: bool,
    },
    /// Print the file of an experiment
    Show {
        /// Name of the experiment, as `tollgate study list` shows it
        name: String,
    },
    Run(Box<args::StudyRunArgs>),
    #[command(hide = true)]
    Chunk(args::StudyChunkArgs),
    Report(report::StudyReportArgs),
    /// Print the JSON schema of an experiment's file (`generate schema study`)
    #[command(hide = true)]
    Schema,
}

pub(crate) fn run(args: &StudyArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    match &args.command {
        StudyCommand::List { quiet } => list(*quiet),
        StudyCommand::Show { name } => show(name),
        StudyCommand::Run(args) => run::run(args, registry),
        StudyCommand::Chunk(args) => run::chunk(args, registry),
        StudyCommand::Report(args) => report::run(args),
        StudyCommand::Schema => print_schema(),
    }
}

/// Prints the JSON schema of an experiment's file.
pub(crate) fn print_schema() -> Result<(), CliFailure> {
    print_text(&Experiment::schema())
}

fn list(quiet: bool) -> Result<(), CliFailure> {
    let mut text = String::new();
    for builtin in BUILTIN_EXPERIMENTS {
        text += builtin.name;
        text.push('\n');
        if !quiet {
            let experiment = Experiment::parse(builtin.name, builtin.text, &builtin_registry())
                .map_err(StudyError::from)?;
            let Experiment { title, source, .. } = &experiment;
            let source = match source.as_str() {
                "" => "of our own",
                source => source,
            };
            let claims = experiment.claims.len();
            text += &format!("  {title}\n  {source}, {claims} claims\n");
        }
    }
    print_text(&text)
}

fn show(name: &str) -> Result<(), CliFailure> {
    let unknown = || StudyError::Unknown(name.to_owned());
    let builtin = BuiltinExperiment::find(name).ok_or_else(unknown)?;
    print_text(builtin.text)
}

fn print_text(text: &str) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
