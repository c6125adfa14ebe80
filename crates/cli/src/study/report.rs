//! `tollgate study report`: the page and the pictures of a study that was run.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use tollgate_report::study::{Finished, page};
use tollgate_report::{Page, folder};
use tollgate_risk::Weights;

use crate::exit::Failure;
use crate::voice::{Voice, counted};

/// Write the page of a study that was run, and its pictures as SVG and PNG files.
///
/// DIR is where `tollgate study run` left the study. The page, report.html, needs no network;
/// the pictures in it are in the folder `figures` beside it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of the study
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    weights: Weighing,

    /// Print the name of the page only
    #[arg(long, short)]
    quiet: bool,
}

/// What counts how much.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Weighing {
    /// Plot and rank the objectives with these weights too, which sum to 1
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
