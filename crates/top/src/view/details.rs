//! The selected job in words.

use ratatui_core::text::Line;
use tollgate_client::types::JobDetails;
use tollgate_overview::job_facts::{WordTone, job_id};
use tollgate_overview::outlook::OpenPromise;
use tollgate_overview::words::{count, percent};

use super::DETAILS;
use super::cells::{clipped, wrapped};
use super::palette::ScreenColours;
use super::times::ShownClock;
use crate::safe_text::safe_line;
use crate::state::TopState;

/// Returns the lines about the selected job: as many as the screen keeps for them.
pub(super) fn lines(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(job) = state.selected_job() {
        let tone = colours.of_tone(WordTone::Plain);
        lines.push(Line::styled(clipped(&identity(job), width), tone));
        let words = outlook(job, clock);
        let style = match OpenPromise::of(job).is_some_and(|open| open.is_at_risk()) {
            true => colours.of_tone(WordTone::Bad),
            false => tone,
        };
        lines.push(Line::styled(clipped(&words, width), style));
    }
    lines.resize(DETAILS, Line::default());
    lines
}

/// Returns what a job is: its number, name and user, what it takes, and where it runs.
fn identity(job: &JobDetails) -> String {
    let procs = count(job.procs.into(), "processor");
    let name = safe_line(&job.name);
    let mut words = format!(
        "Job {} {name}, {}, {procs}",
        job_id(job),
        safe_line(&job.user)
    );
    if let Some(host) = job.hosts.as_ref().or(job.host.as_ref()) {
        words.push_str(&format!(", on {}", safe_line(host)));
    }
    if let Some(array) = &job.array {
        let over = array.finished
            + array.timed_out
            + array.out_of_memory
            + array.output_limit
            + array.cancelled
            + array.lost
            + array.rejected;
        let waits = array.queued + array.held;
        words.push_str(&format!(
            ": tasks {}: {} run, {waits} wait, {over} over",
            safe_line(&array.tasks),
            array.running
        ));
    }
    words
}

/// Returns why a job waits, or how sure its end is.
fn outlook(job: &JobDetails, clock: &ShownClock) -> String {
    let mut words = Vec::new();
    if let Some(waits) = &job.waits_for {
        words.push(format!("waits: {}", safe_line(&waits.text)));
    }
    if let Some(open) = OpenPromise::of(job) {
        words.push(format!("{} sure", percent(open.probability)));
        words.push(open.spare_words());
    }
    if let Some(expected) = &job.expected {
        let [low, high] = [&expected.earliest_finish_at, &expected.latest_finish_at]
            .map(|at| safe_line(&clock.short(at)));
        words.push(format!("8 in 10 end between {low} and {high}"));
    }
    match words.is_empty() {
        true => "its end is not known".to_owned(),
        false => words.join("; "),
    }
}

/// Returns a sentence as lines with a mark before the first.
pub(super) fn sentence(words: &str, width: usize) -> Vec<Line<'static>> {
    let lines = wrapped(&format!("- {}", safe_line(words)), width, 2);
    lines.into_iter().map(Line::raw).collect()
}
