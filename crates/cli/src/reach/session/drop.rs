//! `tollgate session drop`: a site that is gone for good is written off.

use std::io::{self, BufRead, IsTerminal, Write};

use tollgate_session::{SessionFolder, SiteWriteOff};

use super::events::SessionPrinter;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Write off a site of a session whose pilots move.
///
/// The pilots of the site are given up; the other sites go on without it. A site that was written off
/// does not come back.
#[derive(Debug, clap::Args)]
pub(super) struct SessionDropArgs {
    /// Name of the site
    site: String,
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// `tollgate session drop`.
pub(super) fn run(args: &SessionDropArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let write_off = SiteWriteOff::prepare(&folder, &args.site)?;
    let (site, kept) = (&args.site, write_off.kept());
    let pilots = pluralise(write_off.given_up() as usize, "pilot");
    let question =
        format!("site {site}: {pilots} will be given up; {kept} stay at the other sites");
    if !args.yes && !confirm(&question)? {
        let kept = write_off.refuse("kept; --yes writes it off without a question");
        return Err(kept.into());
    }
    let others = SessionPrinter::new()?.watch(|context| write_off.carry_out(context))?;
    let others = pluralise(others, "other site");
    writeln!(
        io::stdout(),
        "site {site}: WRITTEN OFF: {pilots} given up; {kept} stay at {others}"
    )?;
    Verbosity::Notes.note(
        "pilots that still wait or run there end by themselves; `tollgate session exit` cancels those that it reaches",
    );
    Ok(())
}

fn confirm(question: &str) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() {
        Verbosity::Notes.note(question);
        return Ok(false);
    }
    let mut out = io::stdout();
    write!(out, "{question}. Write it off? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CliFailure::read_failed("the terminal".to_owned(), error))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
