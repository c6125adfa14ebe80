//! Explanations of the state of a job, as text.

use tollgate_client::timestamp::{format_iso, parse_iso};
use tollgate_client::types::{ArrayStatus, JobDetails};
use tollgate_model::Instant;

use crate::controller::{NamedHost, TaskOutlook};

/// Returns the sentence about an exception from the share of the job's user.
pub(super) fn grant_sentence(at: Instant, by: &str, reason: &str) -> String {
    format!(
        "{by} let it go beyond its user's share at {}: {reason}",
        format_iso(at)
    )
}

/// Returns what a queued task waits for.
fn wait_sentence(procs: u32, story: &TaskOutlook) -> String {
    match (story.reached_limit, &story.host) {
        (Some(limit), _) => format!("queued: at most {limit} of its array's tasks run at once"),
        (None, Some(host)) => host_sentence(procs, host),
        (None, None) if story.has_nodes => {
            format!("queued: needs {procs} nodes, {} are idle", story.idle)
        }
        (None, None) => "queued: waits for a node: none takes jobs now".to_owned(),
    }
}

fn host_sentence(procs: u32, host: &NamedHost) -> String {
    let name = &host.name;
    match host.idle {
        Some(idle) => format!("queued: needs {procs} nodes of host {name}, {idle} are idle there"),
        None => format!("queued: waits for host {name}, which takes no jobs now"),
    }
}

/// Explains the state of a job. The text has counts of other jobs, never their numbers.
pub(super) fn explanation_sentences(job: &JobDetails, story: Option<&TaskOutlook>) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(array) = &job.array {
        return array_sentences(job, array, story);
    }
    match (job.state.as_str(), story) {
        ("queued", Some(story)) => {
            words.push(wait_sentence(job.procs, story));
            words.push(format!(
                "{} queued tasks were submitted earlier",
                story.queued_ahead
            ));
            if let Some(reserved) = story.reserved {
                words.push(format!(
                    "processors are reserved from {}",
                    format_iso(reserved)
                ));
            }
        }
        ("reserved", _) => words.push(format!(
            "a reserved quote: `tollgate submit --quote {}` claims it",
            job.id
        )),
        ("dependent", story) => words.push(dependency_sentence(story)),
        ("held", _) => words.push("held by its user".to_owned()),
        ("running", _) => words.push("running".to_owned()),
        ("cancelled", _) if failed_dependency(job).is_some() => {
            words.extend(failed_dependency(job))
        }
        ("rejected", _) => words.push(format!("rejected: {}", job.reasons.join(", "))),
        (state, _) => {
            // A status such as `lost (worker disconnected)` already contains the state, and what never ran is
            // not called finished.
            let says_all =
                |status: &str| status.starts_with(state) || status.starts_with("not started");
            words.push(match job.status.as_deref() {
                Some(status) if says_all(status) => status.to_owned(),
                Some(status) => format!("{state}: {status}"),
                None => format!("{state}: never started"),
            });
        }
    }
    if let Some(story) = story.filter(|story| story.failures > 0) {
        words.push(format!(
            "{} attempts at jobs of this name have failed by themselves",
            story.failures
        ));
    }
    words.extend(unpromised_sentence(job));
    words.extend(promise_sentence(job));
    words.extend(
        job.account
            .iter()
            .map(|account| format!("account {account}")),
    );
    words.extend(job.queue.iter().map(|queue| format!("queue {queue}")));
    words
}

/// Returns why a job that is not rejected has no promise, if it asked to run all the same.
fn unpromised_sentence(job: &JobDetails) -> Option<String> {
    let decided = ["rejected", "cancelled"].contains(&job.state.as_str());
    (!decided && !job.reasons.is_empty())
        .then(|| format!("without a promise: {}", job.reasons.join(", ")))
}

/// Returns how the promise of a deadline ended, if it has.
fn promise_sentence(job: &JobDetails) -> Option<String> {
    let deadline = parse_iso(job.deadline_at.as_ref()?).ok()?;
    let finish = job.finished_at.as_ref().map(|at| parse_iso(at));
    let text = match (job.promise.as_deref()?, finish) {
        ("kept", _) => "promise kept".to_owned(),
        ("unpromised", _) => return None,
        ("void", _) if job.state == "cancelled" => {
            "promise void: cancelled before the deadline".to_owned()
        }
        ("void", _) if (job.status.as_deref()).is_some_and(|end| end.ends_with("(time limit)")) => {
            "promise void: the job reached its time limit before its deadline".to_owned()
        }
        ("void", _) => "promise void: the job failed by itself before its deadline".to_owned(),
        (_, None) => "promise broken: the deadline has passed".to_owned(),
        (_, Some(Ok(finish))) if finish > deadline => {
            let late_s = finish.since(deadline).as_secs_f64();
            format!("promise broken: {late_s:.1} s late")
        }
        (_, Some(_)) if job.state == "lost" => "promise broken: the job was lost".to_owned(),
        (_, Some(_)) => "promise broken: the site ended the job".to_owned(),
    };
    Some(text)
}

fn dependency_sentence(story: Option<&TaskOutlook>) -> String {
    let after = story.map_or(&[][..], |story| &story.dependencies);
    let jobs: Vec<String> = after.iter().map(u64::to_string).collect();
    match jobs.as_slice() {
        [] => "dependent: the policy decides now".to_owned(),
        [job] => format!("dependent: waits for the end of job {job}; the policy decides then"),
        jobs => format!(
            "dependent: waits for the end of jobs {}; the policy decides then",
            jobs.join(", ")
        ),
    }
}

/// Returns the explanation if the job was cancelled because a job that it depends on failed.
fn failed_dependency(job: &JobDetails) -> Option<String> {
    let by = job
        .reasons
        .iter()
        .find_map(|key| key.strip_prefix("after:"))?;
    Some(format!(
        "cancelled: job {by}, which it depends on, did not end with exit code 0"
    ))
}

fn array_sentences(
    job: &JobDetails,
    array: &ArrayStatus,
    story: Option<&TaskOutlook>,
) -> Vec<String> {
    let mut words = match job.state.as_str() {
        "dependent" => vec![dependency_sentence(story)],
        "held" => vec!["held by its user".to_owned()],
        "rejected" => vec![format!("rejected: {}", job.reasons.join(", "))],
        "cancelled" => failed_dependency(job).into_iter().collect(),
        _ => unpromised_sentence(job).into_iter().collect(),
    };
    let counts = [
        (array.running, "are running"),
        (array.queued, "are queued"),
        (array.held, "are held"),
        (array.finished, "are finished"),
        (array.cancelled, "are cancelled"),
        (array.lost, "are lost"),
        (array.rejected, "are rejected"),
        (array.kept, "have a kept promise"),
        (array.broken, "have a broken promise"),
        (array.void, "have a void promise"),
        (array.unpromised, "ran without a promise"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counts.map(|(count, what)| format!("{count} tasks {what}")));
    words
}
