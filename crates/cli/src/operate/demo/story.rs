//! The steps of the demonstration.

use std::io::{self, Write};

use tollgate_client::types::{
    CalibrationReport, JobDetails, JobExplanation, OfferChange, PromiseOutcome,
};

use super::stage::{DemoError, Stage, expect};
use crate::exit::{CliFailure, ExitKind};

/// Shows the steps, and checks after each that the service did what the step says. With `once`, nothing
/// follows the last step.
///
/// # Errors
/// The first step that goes otherwise.
pub(super) fn narrate(stage: &Stage, once: bool) -> Result<(), CliFailure> {
    let data = stage.data().display();
    writeln!(
        io::stdout().lock(),
        "A service with one node, in {data}. Each step shows commands that you can type."
    )?;

    stage.step("A quote says what would be promised. Nothing is submitted.")?;
    stage.run(
        "quote --estimate 30s --deadline +1m -- sleep 8",
        ExitKind::Done,
    )?;

    stage.step("A deadline that cannot be promised is refused, with a counter-offer.")?;
    let render = "submit --name render --estimate 30s --otherwise reject";
    stage.run(
        &format!("{render} --deadline +10s -- sleep 8"),
        ExitKind::Rejected,
    )?;
    let offer_s = offered_deadline_s(stage, &stage.latest_job()?)?;

    stage.step("The offer, counted in seconds from now, is taken: the deadline is promised.")?;
    stage.run(
        &format!("{render} --deadline +{offer_s}s -- sleep 8"),
        ExitKind::Done,
    )?;
    let render = stage.latest_job()?;

    stage.step("Another job has to wait for the node. Its deadline is promised, too.")?;
    stage.run(
        "submit --name report --estimate 6s --deadline +2m -- sleep 4",
        ExitKind::Done,
    )?;
    let report = stage.latest_job()?;

    stage.step(
        "Without `--otherwise reject` such a job runs without a promise, where no promise suffers.",
    )?;
    stage.run(
        "submit --name index --estimate 40s --deadline +25s -- sleep 2",
        ExitKind::Done,
    )?;
    let index = stage.latest_job()?;

    stage.step("Why does it wait, and when will it end?")?;
    stage.run(&format!("explain {}", index.id), ExitKind::Done)?;

    stage.step("The first job ends; its promise is compared with what happened.")?;
    stage.run(&format!("wait {}", render.id), ExitKind::Done)?;
    stage.run(&format!("explain {}", render.id), ExitKind::Done)?;

    stage.step("The others end, too. What became of each promise?")?;
    let others = format!("wait {} {}", report.id, index.id);
    stage.run(&others, ExitKind::Done)?;
    stage.run(
        "jobs --all --columns id,name,state,run_s,promise",
        ExitKind::Done,
    )?;
    check_kept(stage, &render)?;
    check_kept(stage, &report)?;
    check_unpromised(stage, &index)?;

    stage.step("Can the probabilities be trusted? Promises kept, of those at each probability.")?;
    stage.run("calibration", ExitKind::Done)?;
    check_calibration(stage, 2)?;

    if !once {
        writeln!(
            io::stdout().lock(),
            "\nThe service goes on. In another terminal: `export TOLLGATE_DATA={data}`.\n\
             Then `tollgate open` shows it in a browser.\n\
             Ctrl-C ends the service and its jobs, and removes the directory."
        )?;
    }
    Ok(())
}

/// Returns the deadline that the service offers instead of a rejected one, in whole seconds from now.
fn offered_deadline_s(stage: &Stage, rejected: &JobDetails) -> Result<u64, CliFailure> {
    let thing = || format!("job {}", rejected.id);
    let path = format!("/v1/jobs/{}/explain", rejected.id);
    let explained: JobExplanation = stage.query(&path)?;
    let offers = explained.quote.map_or_else(Vec::new, |quote| quote.offers);
    let mut deadlines = offers
        .iter()
        .filter(|offer| offer.change == OfferChange::Deadline);
    let offered = deadlines.next().and_then(|offer| offer.deadline_s);
    let offered = offered.ok_or_else(|| expect(thing(), "an offer of a deadline", "none"))?;
    Ok(offered.ceil() as u64)
}

/// Checks that the promise to a job was kept.
fn check_kept(stage: &Stage, job: &JobDetails) -> Result<(), CliFailure> {
    match outcome(stage, job)? {
        Some(PromiseOutcome::Kept) => Ok(()),
        found => Err(wrong_promise(job, "kept", found).into()),
    }
}

/// Checks that a job had no promise, and ran.
fn check_unpromised(stage: &Stage, job: &JobDetails) -> Result<(), CliFailure> {
    match outcome(stage, job)? {
        Some(PromiseOutcome::UnpromisedInTime | PromiseOutcome::UnpromisedLate) => Ok(()),
        found => Err(wrong_promise(job, "without a promise", found).into()),
    }
}

fn outcome(stage: &Stage, job: &JobDetails) -> Result<Option<PromiseOutcome>, CliFailure> {
    let job: JobDetails = stage.query(&format!("/v1/jobs/{}", job.id))?;
    Ok(job.promise.and_then(|promise| promise.known()))
}

fn wrong_promise(job: &JobDetails, expected: &str, found: Option<PromiseOutcome>) -> DemoError {
    let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
    expect(format!("promise of job {}", job.id), expected, found)
}

/// Checks that all promises were kept, and that there were `promises` of them.
fn check_calibration(stage: &Stage, promises: u64) -> Result<(), CliFailure> {
    let report: CalibrationReport = stage.query("/v1/calibration")?;
    let figures = report.bins.iter().map(|bin| &bin.figures);
    let (made, kept) = figures.fold((0, 0), |(made, kept), figures| {
        (made + figures.promises, kept + figures.kept)
    });
    if (made, kept) == (promises, promises) {
        return Ok(());
    }
    let expected = format!("{promises} of {promises} promises kept");
    let found = format!("{kept} of {made}");
    Err(expect("calibration", expected, found).into())
}
