//! The metrics of a follower as a file, for the textfile collector of a node exporter.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tollgate_beside::{KeptTally, QueueFollower, StatedQuantity};
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_host::replace_public;
use tollgate_sites::LiveQueue;

use super::error::{BesideError, file_error};

/// Number of the last outcomes that a part is taken from.
const TALLIED: usize = 1_000;

/// Replaces the file with the present metrics. Readers find the old or the new ones, and no part of them.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(
    path: &Path,
    live: &LiveQueue,
    follower: &QueueFollower,
    took: Duration,
) -> Result<(), BesideError> {
    let text = of(live, follower, took);
    replace_public(path, text.as_bytes()).map_err(|error| file_error(path, error))
}

/// Returns the present metrics.
pub(super) fn of(live: &LiveQueue, follower: &QueueFollower, took: Duration) -> String {
    let labels = format!(
        "engine=\"{}\",cluster=\"{}\"",
        live.kind().name(),
        escaped(&live.settings().cluster)
    );
    text(follower, &labels, took)
}

/// Returns the metrics in the text format of Prometheus.
fn text(follower: &QueueFollower, labels: &str, took: Duration) -> String {
    let at = follower.at().map_or(0.0, |at| at.as_secs_f64());
    let gauges = [
        (
            "last_look_seconds",
            "Time of the last look at the queue, since the epoch.",
            at,
        ),
        (
            "look_duration_seconds",
            "Time that the engine needed to list its queue.",
            took.as_secs_f64(),
        ),
        (
            "waits_learned",
            "Waits that were learned.",
            follower.n_waits() as f64,
        ),
        (
            "waiting_jobs",
            "Jobs that wait and may start.",
            follower.n_waiting() as f64,
        ),
        (
            "overdue_jobs",
            "Jobs that wait beyond the highest stated bound.",
            follower.n_overdue() as f64,
        ),
        (
            "cancelled_jobs",
            "Jobs with statements that were cancelled while they waited.",
            follower.calibration().n_cancelled() as f64,
        ),
    ];
    let mut text = String::new();
    for (name, help, value) in gauges {
        head(&mut text, name, help);
        let _ = writeln!(text, "tollgate_beside_{name}{{{labels}}} {value}");
    }
    let tallies = StatedQuantity::ALL.map(|quantity| (quantity, tally(follower, quantity)));
    head(
        &mut text,
        "judged_statements",
        "Last statements of forests that were judged, at most 1000.",
    );
    for (quantity, tally) in &tallies {
        let quantity = quantity.key();
        let _ = writeln!(
            text,
            "tollgate_beside_judged_statements{{{labels},quantity=\"{quantity}\"}} {}",
            tally.n
        );
    }
    head(
        &mut text,
        "kept_ratio",
        "Part of the last judged statements that was kept, by stated level.",
    );
    for (quantity, tally) in &tallies {
        let quantity = quantity.key();
        for (idx, level) in WAIT_LEVELS.iter().enumerate() {
            let Some(part) = tally.coverage(idx) else {
                continue;
            };
            let _ = writeln!(
                text,
                "tollgate_beside_kept_ratio{{{labels},quantity=\"{quantity}\",level=\"{level}\"}} {part}"
            );
        }
    }
    text
}

fn head(text: &mut String, name: &str, help: &str) {
    let _ = write!(
        text,
        "# HELP tollgate_beside_{name} {help}\n# TYPE tollgate_beside_{name} gauge\n"
    );
}

fn tally(follower: &QueueFollower, quantity: StatedQuantity) -> KeptTally {
    let mut tally = KeptTally::default();
    let outcomes = follower.calibration().outcomes().rev();
    outcomes
        .filter(|outcome| outcome.quantity == quantity && outcome.is_forest)
        .take(TALLIED)
        .for_each(|outcome| tally.add(outcome));
    tally
}

/// Returns a value of a label: a backslash, a quote and a new line are escaped.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
