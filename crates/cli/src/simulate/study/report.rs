//! `tollgate study report`: the page and the pictures of a finished study.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use tollgate_report::study::{FinishedStudy, page};
use tollgate_report::{ReportPage, write};
use tollgate_risk::Weights;

use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Write the report of a finished study, and its pictures.
///
/// DIR is the output directory of `tollgate study run`. The page, report.html, needs no network;
/// its pictures are in the directory `figures` beside it.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyReportArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    weight_args: WeightArgs,

    /// Print only the name of the page
    #[arg(long, short)]
    quiet: bool,
}

/// The weights of the objectives.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WeightArgs {
    /// More weights of the objectives to plot and rank, summing to 1
    #[arg(long, value_name = "wait=W,sla=W,..")]
    weights: Option<Weights>,
}

pub(crate) fn run(args: &StudyReportArgs) -> Result<(), CliFailure> {
    let page = write(&args.folder, &args.weight_args)?;
    let pictures = args.folder.join(write::PICTURES_DIR);
    let verbosity = if args.quiet {
        Verbosity::Errors
    } else {
        Verbosity::Notes
    };
    let counted = pluralise(page.pictures().len(), "picture");
    verbosity.note(format_args!("{counted} in {}", pictures.display()));
    let mut out = stdout().lock();
    writeln!(out, "{}", args.folder.join(write::PAGE_FILE).display())?;
    Ok(out.flush()?)
}

/// Writes the report of the study in a directory, and returns its page.
pub(crate) fn write(study: &Path, weighing: &WeightArgs) -> Result<ReportPage, CliFailure> {
    let page = page(&FinishedStudy::read(study)?, weighing.weights.as_ref());
    write::write(&page, study)?;
    Ok(page)
}
