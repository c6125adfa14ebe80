//! Why a task waits.

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::JobDetails;
use tollgate_model::Instant;
use tollgate_service::{MAX_FAILED_LAUNCHES, WaitCause};

use crate::controller::{NamedHost, TaskOutlook, WaitFacts};

/// Returns what a queued task waits for.
pub(super) fn wait_sentence(procs: u32, outlook: &TaskOutlook) -> String {
    match (outlook.reached_limit, &outlook.host) {
        (Some(limit), _) => format!("queued: at most {limit} of its array's tasks run at once"),
        (None, Some(host)) => format!("queued: {}", host_words(procs, host)),
        (None, None) => {
            let words = nodes_words(procs, outlook.idle, outlook.has_nodes);
            format!("queued: {words}")
        }
    }
}

/// Returns what a job waits for first, as a sentence.
pub(in crate::api) fn cause_sentence(procs: u32, facts: &WaitFacts) -> String {
    match facts.cause {
        WaitCause::Held => match facts.failed_launches.map(|failed| failed.retry_at) {
            Some(Some(at)) => format!(
                "the site could not start it, and tries again at {}",
                format_iso(at)
            ),
            Some(None) => {
                "the site could not start it, and tries again once it is released".to_owned()
            }
            None => "held by its user".to_owned(),
        },
        WaitCause::Dependency | WaitCause::Begin => {
            match awaited_words(&facts.dependencies, facts.begin) {
                Some(awaited) => format!("waits {awaited}"),
                None => "the policy decides now".to_owned(),
            }
        }
        WaitCause::ArrayLimit => match facts.reached_limit {
            Some(limit) => format!("at most {limit} of its array's tasks run at once"),
            None => "its array has as many tasks running as may run at once".to_owned(),
        },
        WaitCause::Licences => "too few licences that it needs are free".to_owned(),
        WaitCause::Devices => "no host has enough free devices that it needs".to_owned(),
        WaitCause::Promise => "its deadline cannot be promised yet".to_owned(),
        WaitCause::Host | WaitCause::Resources | WaitCause::Priority => match &facts.host {
            Some(host) => host_words(procs, host),
            None => nodes_words(procs, facts.idle, facts.has_nodes),
        },
    }
}

fn nodes_words(procs: u32, idle: u32, has_nodes: bool) -> String {
    match has_nodes {
        true => idle_words(procs, idle, ""),
        false => "waits for a node: none takes jobs now".to_owned(),
    }
}

fn host_words(procs: u32, host: &NamedHost) -> String {
    let name = &host.name;
    match host.idle {
        Some(idle) => idle_words(procs, idle, &format!(" of host {name}")),
        None => format!("waits for host {name}, which takes no jobs now"),
    }
}

/// Returns why a task does not run on nodes of which this many are idle. `of_host` follows the word nodes.
fn idle_words(procs: u32, idle: u32, of_host: &str) -> String {
    let are = if idle == 1 { "is" } else { "are" };
    match idle {
        0 => format!("all nodes{of_host} are busy"),
        idle if idle < procs => {
            format!("it needs {procs} nodes{of_host} at once, and {idle} {are} idle")
        }
        idle => {
            format!("{idle} of the nodes{of_host} {are} idle, and kept for jobs before it")
        }
    }
}

/// Returns what is known of a task that is to be submitted to the policy as earlier ones of its array start.
pub(super) fn later_task_sentence(array: u64, tasks_ahead: u64) -> String {
    let more = match tasks_ahead {
        0 => "the next of its array to join the queue".to_owned(),
        1 => "1 task of its array joins the queue before it".to_owned(),
        n => format!("{n} tasks of its array join the queue before it"),
    };
    format!(
        "{more}; its own start is not forecast, that of the last task is: `tollgate explain {array}`"
    )
}

/// Returns what stands before a queued task.
pub(super) fn order_sentence(outlook: &TaskOutlook) -> String {
    let count = |n: u32, one: &str, more: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {more}")),
    };
    let Some(order) = outlook.order else {
        let ahead = count(outlook.queued_ahead, "job", "jobs");
        return match ahead {
            Some(ahead) => format!("{ahead} in the queue before it"),
            None => "first in the queue".to_owned(),
        };
    };
    if order.is_hopeless {
        return "behind all other jobs: it can hardly end by its deadline any more".to_owned();
    }
    let parts = [
        count(
            order.due_now,
            "promised job that has to start now",
            "promised jobs that have to start now",
        ),
        count(order.own_before, "job of its user", "jobs of its user"),
        count(
            order.users_before,
            "user who has used less of the machine (fair use)",
            "users who have used less of the machine (fair use)",
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let place = match parts.as_slice() {
        [] => "first in the order of fair use".to_owned(),
        [one] => format!("behind {one}"),
        [rest @ .., last] => format!("behind {} and {last}", rest.join(", ")),
    };
    match order.planned {
        0 => place,
        open => {
            format!("{place}; it starts as soon as no other promise suffers from it ({open} open)")
        }
    }
}

/// Returns what holds a job.
pub(super) fn hold_sentence(job: &JobDetails, outlook: Option<&TaskOutlook>) -> String {
    let Some(failed) = outlook.and_then(|outlook| outlook.failed_launches) else {
        return user_hold_sentence(outlook);
    };
    let (count, status) = (failed.count, job.status.as_deref().unwrap_or("not started"));
    match failed.retry_at {
        Some(at) => format!(
            "held until {}: the site could not start it ({status}); launches that failed: {count} of {MAX_FAILED_LAUNCHES}",
            format_iso(at)
        ),
        None => format!(
            "held: the site could not start it {count} times ({status}); `tollgate release {}` tries again",
            job.id
        ),
    }
}

pub(super) fn dependency_sentence(outlook: Option<&TaskOutlook>) -> String {
    match awaited(outlook) {
        None => "dependent: the policy decides now".to_owned(),
        Some(awaited) => format!("dependent: waits {awaited}; the policy decides then"),
    }
}

/// Returns what a job that its user holds waits for.
pub(super) fn user_hold_sentence(outlook: Option<&TaskOutlook>) -> String {
    match awaited(outlook) {
        None => "held by its user".to_owned(),
        Some(awaited) => format!("held by its user; once released, it waits {awaited}"),
    }
}

/// Returns the jobs and the instant for which the decision about a job waits, after the word "waits".
pub(super) fn awaited(outlook: Option<&TaskOutlook>) -> Option<String> {
    let outlook = outlook?;
    awaited_words(&outlook.dependencies, outlook.begin)
}

fn awaited_words(dependencies: &[u64], begin: Option<Instant>) -> Option<String> {
    let jobs: Vec<String> = dependencies.iter().map(u64::to_string).collect();
    let ends = match jobs.as_slice() {
        [] => None,
        [job] => Some(format!("for the end of job {job}")),
        jobs => Some(format!("for the end of jobs {}", jobs.join(", "))),
    };
    let begin = begin.map(|begin| format!("until {}", format_iso(begin)));
    let waits: Vec<String> = ends.into_iter().chain(begin).collect();
    (!waits.is_empty()).then(|| waits.join(" and "))
}
