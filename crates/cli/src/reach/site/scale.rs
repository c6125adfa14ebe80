//! `tollgate site scale`.

use std::io::{self, Write};

use tollgate_sites::{ScaleOutcome, ScalePlan, SiteControl};

use super::opened;
use super::pilot_service::ServiceTokens;
use crate::args::parse_integer;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Submit or cancel pilots until N wait or run.
///
/// Waiting pilots are cancelled before running ones, the youngest first. Pilots that an interrupted
/// command submitted are found by their names.
#[derive(Debug, clap::Args)]
pub(super) struct SiteScaleArgs {
    /// Name of the site
    name: String,
    /// Wanted number of pilots [default: --pilots of `site add`]
    #[arg(value_parser = parse_integer::<u32>)]
    pilots: Option<u32>,
    /// Print commands and script, and submit nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate site scale`.
pub(super) fn run(args: &SiteScaleArgs) -> Result<(), CliFailure> {
    let mut site = opened::open(&args.name)?;
    let target = args.pilots.unwrap_or(site.settings().pilots);
    let connect = site.settings().connect.clone();
    let service = args.address.for_workers(connect.as_deref())?;
    if args.dry_run {
        let preview = site.preview(target, &service);
        let mut out = io::stdout().lock();
        for command in &preview.commands {
            writeln!(out, "{command}")?;
        }
        if let Some(script) = &preview.script {
            writeln!(
                out,
                "--- script of the first pilot, its standard input:\n{script}"
            )?;
        }
        if preview.commands.is_empty() {
            writeln!(out, "nothing to do")?;
        }
        return Ok(());
    }
    let mut tokens = ServiceTokens::new(&args.address);
    let outcome = site.reconcile(target, &service, &mut tokens)?;
    super::note_joined(&mut site, &args.address)?;
    report(&site, target, &outcome)?;
    match outcome.stopped {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Prints what was done.
fn report(site: &SiteControl, target: u32, outcome: &ScaleOutcome) -> Result<(), CliFailure> {
    let mut done = Vec::new();
    if !outcome.submitted.is_empty() {
        done.push(format!(
            "submitted {}",
            pluralise(outcome.submitted.len(), "pilot")
        ));
    }
    if !outcome.cancelled.is_empty() {
        done.push(format!(
            "cancelled {}",
            pluralise(outcome.cancelled.len(), "pilot")
        ));
    }
    if done.is_empty() {
        done.push("nothing changed".to_owned());
    }
    let name = &site.settings().name;
    writeln!(
        io::stdout(),
        "site {name}: {}; {target} wanted, {}",
        done.join(", "),
        site.counts()
    )?;
    note_limits(site, &outcome.plan);
    Ok(())
}

fn note_limits(site: &SiteControl, plan: &ScalePlan) {
    let settings = site.settings();
    if plan.beyond_maximum > 0 {
        Verbosity::Notes.note(format_args!(
            "{} pilots fewer than wanted: at most {} at this site",
            plan.beyond_maximum, settings.at_most
        ));
    }
    if plan.beyond_hour > 0 {
        Verbosity::Notes.note(format_args!(
            "{} pilots are not submitted: at most {} within an hour (`site add --submit-at-most`)",
            plan.beyond_hour, settings.submit_at_most
        ));
    }
    if plan.beyond_queue > 0 {
        Verbosity::Notes.note(format_args!(
            "{} pilots are not submitted yet: at most {} may wait; repeat the command when some run",
            plan.beyond_queue,
            settings.queue_at_most.unwrap_or(u32::MAX)
        ));
    }
}
