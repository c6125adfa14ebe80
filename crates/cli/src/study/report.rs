//! `tollgate study report`: the page and the pictures of a study that was run.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use tollgate_report::study::{Finished, page};
use tollgate_report::{Page, folder};
use tollgate_risk::Weights;

use crate::exit::Failure;
use crate::voice::{Voice, counted};

/// Write the report of a finished study, and its pictures.
///
/// DIR is the output directory of `tollgate study run`. The page, report.html, needs no network;
/// its pictures are in the directory `figures` beside it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    weights: Weighing,

    /// Print only the name of the page
    #[arg(long, short)]
    quiet: bool,
}

/// What counts how much.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Weighing {
    /// More weights of the objectives to plot and rank, summing to 1
    #[arg(long, value_name = "wait=W,sla=W,..")]
    weights: Option<Weights>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let page = write(&args.folder, &args.weights)?;
    let pictures = args.folder.join(folder::PICTURES);
    let voice = if args.quiet {
        Voice::Errors
    } else {
        Voice::Notes
    };
    let counted = counted(page.pictures().len(), "picture");
    voice.note(format_args!("{counted} in {}", pictures.display()));
    let mut out = stdout().lock();
    writeln!(out, "{}", args.folder.join(folder::PAGE).display())?;
    Ok(out.flush()?)
}

/// Writes the report of the study in a folder, and gives the page.
pub(crate) fn write(study: &Path, weighing: &Weighing) -> Result<Page, Failure> {
    let page = page(&Finished::read(study)?, weighing.weights.as_ref());
    folder::write(&page, study)?;
    Ok(page)
}
