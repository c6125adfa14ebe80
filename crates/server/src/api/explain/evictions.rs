//! Sentences about evictions, and about tasks that are not tried again.

use tollgate_model::{EvictionCause, LimitOwner, Span};
use tollgate_store::{AbandonmentRow, EvictionRow};

/// Maximum number of abandoned tasks of an array that are named.
const MAX_TASKS: usize = 3;

/// Returns how often a job's tasks were evicted and why, and which were abandoned by which rule.
pub(in crate::api) fn eviction_sentences(
    evictions: &[EvictionRow],
    abandonments: &[AbandonmentRow],
) -> Vec<String> {
    let summary = (!evictions.is_empty()).then(|| summary(evictions));
    let given_up = abandonments.iter().take(MAX_TASKS).map(abandonment);
    let more = abandonments.len().saturating_sub(MAX_TASKS);
    let more = (more > 0).then(|| format!("{more} more tasks were abandoned"));
    summary.into_iter().chain(given_up).chain(more).collect()
}

fn summary(evictions: &[EvictionRow]) -> String {
    let held: Span = evictions.iter().fold(Span::ZERO, |sum, one| sum + one.held);
    let causes = EvictionCause::ALL.into_iter().filter_map(|cause| {
        let count = evictions.iter().filter(|one| one.cause == cause).count();
        (count > 0).then(|| format!("{} because {}", times(count as u64), cause.phrase()))
    });
    let causes: Vec<String> = causes.collect();
    format!(
        "evicted {}; these attempts held computers for {:.1} s",
        causes.join(", "),
        held.as_secs_f64()
    )
}

fn abandonment(row: &AbandonmentRow) -> String {
    let task = match row.task {
        0 => String::new(),
        task => format!("task {task} "),
    };
    let owner = match row.by {
        LimitOwner::User => "its user",
        LimitOwner::Site => "the site",
    };
    format!(
        "{task}abandoned by the rule of {owner}, {}: evicted {}, after {:.1} s on computers",
        row.rule,
        times(row.evictions.into()),
        row.held.as_secs_f64()
    )
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}
