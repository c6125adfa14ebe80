//! Why a job is where it is, in words.

use super::instant::iso;
use super::types::{Array, Job};
use crate::keeper::Story;

/// Why a job is where it is. Counts of other jobs, never their numbers.
pub(super) fn words(job: &Job, story: Option<&Story>) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(array) = &job.array {
        return array_words(job, array, story);
    }
    match (job.state.as_str(), story) {
        ("queued", Some(story)) => {
            words.push(format!(
                "it waits: it needs {} nodes, {} are idle",
                job.procs, story.idle
            ));
            words.push(format!(
                "{} tasks that wait were handed in before it",
                story.ahead
            ));
            if let Some(reserved) = story.reserved {
                words.push(format!(
                    "processors are reserved for it from {}",
                    iso(reserved)
                ));
            }
        }
        ("reserved", _) => words.push(format!(
            "a reserved quote: `tollgate submit --quote {}` claims it",
            job.id
        )),
        ("dependent", story) => words.push(after_words(story)),
        ("held", _) => words.push("its user holds it back".to_owned()),
        ("running", _) => words.push("it runs".to_owned()),
        ("cancelled", _) if forsaken(job).is_some() => words.extend(forsaken(job)),
        ("rejected", _) => words.push(format!("it was rejected: {}", job.reasons.join(", "))),
        (state, _) => {
            let status = job.status.as_deref().unwrap_or("it never ran");
            words.push(format!("it is {state}: {status}"));
        }
    }
    words
}

fn after_words(story: Option<&Story>) -> String {
    let after = story.map_or(&[][..], |story| &story.after);
    let jobs: Vec<String> = after.iter().map(u64::to_string).collect();
    match jobs.as_slice() {
        [] => "it is about to be decided about".to_owned(),
        [job] => format!("it waits for job {job} to be over, and is decided about then"),
        jobs => format!(
            "it waits for jobs {} to be over, and is decided about then",
            jobs.join(", ")
        ),
    }
}

/// That the job before it did not end as it should, if that is why it was cancelled.
fn forsaken(job: &Job) -> Option<String> {
    let by = job
        .reasons
        .iter()
        .find_map(|key| key.strip_prefix("after:"))?;
    Some(format!(
        "it was cancelled: job {by}, which it was to start after, did not end with exit code 0"
    ))
}

fn array_words(job: &Job, array: &Array, story: Option<&Story>) -> Vec<String> {
    let mut words = match job.state.as_str() {
        "dependent" => vec![after_words(story)],
        "held" => vec!["its user holds it back".to_owned()],
        "rejected" => vec![format!("it was rejected: {}", job.reasons.join(", "))],
        "cancelled" => forsaken(job).into_iter().collect(),
        _ => Vec::new(),
    };
    let counts = [
        (array.running, "run"),
        (array.queued, "wait for those before them to start"),
        (array.held, "are held back"),
        (array.finished, "have finished"),
        (array.cancelled, "were cancelled"),
        (array.lost, "are lost"),
        (array.rejected, "were rejected"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counts.map(|(count, what)| format!("{count} tasks {what}")));
    words
}
