//! How many tasks of a step run on which host of the job.

use tollgate_frontends::slurm::SlurmError;
use tollgate_spread::hosts::JobHosts;

use super::options::{SrunCall, TOOL};

/// The tasks of a step on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostTasks {
    /// The name of the host.
    pub(super) host: String,
    /// The number of the first task.
    pub(super) first: u32,
    /// The number of tasks, at least 1.
    pub(super) count: u32,
    /// The place of the host in the step, from 0.
    pub(super) node: u32,
}

/// Places the tasks of a step: the first hosts take as many as they have processors for.
///
/// # Errors
/// If the job has fewer processors than the tasks need, or not a host that is named.
pub(super) fn place(call: &SrunCall, hosts: &JobHosts) -> Result<Vec<HostTasks>, SlurmError> {
    if let Some(names) = &call.hosts {
        let unknown = names
            .iter()
            .find(|name| hosts.hosts.iter().all(|(host, _)| host != *name));
        if let Some(name) = unknown {
            let message = format!(
                "{}: {name}",
                step_error(hosts, "Requested node configuration is not available")
            );
            return Err(SlurmError::of(TOOL, message));
        }
    }
    let is_requested = |host: &&(String, u32)| {
        call.hosts
            .as_ref()
            .is_none_or(|names| names.contains(&host.0))
    };
    let requested: Vec<&(String, u32)> = hosts.hosts.iter().filter(is_requested).collect();
    let n_hosts = call
        .nodes
        .map_or(requested.len(), |nodes| nodes as usize)
        .min(requested.len());
    let requested = &requested[..n_hosts];
    let count = u32::try_from(n_hosts).unwrap_or(u32::MAX);
    let n_tasks = match (call.n_tasks, call.tasks_per_node) {
        (Some(tasks), _) => tasks,
        (None, Some(each)) => each.saturating_mul(count),
        (None, None) => call.nodes.map_or(1, |_| count),
    };
    let room = |procs: u32| {
        let procs = procs / call.cpus_per_task;
        call.tasks_per_node.map_or(procs, |each| procs.min(each))
    };
    let mut rooms: Vec<u32> = requested.iter().map(|(_, procs)| room(*procs)).collect();
    let total: u32 = rooms.iter().sum();
    if total < n_tasks {
        if !call.overcommit {
            let message = step_error(hosts, "More processors requested than permitted");
            return Err(SlurmError::of(TOOL, message));
        }
        let each = n_tasks.div_ceil(count.max(1));
        rooms.iter_mut().for_each(|room| *room = each);
    }
    // A step on several hosts has a task on each of them at least.
    let spare = call.nodes.map_or(0, |_| count.saturating_sub(1));
    let mut left = n_tasks;
    let mut parts = Vec::new();
    for (at, ((host, _), room)) in (0_u32..).zip(requested.iter().zip(rooms)) {
        let later = spare.saturating_sub(at);
        let taken = room.min(left.saturating_sub(later));
        if taken > 0 {
            parts.push(HostTasks {
                host: host.clone(),
                first: n_tasks - left,
                count: taken,
                node: u32::try_from(parts.len()).unwrap_or(u32::MAX),
            });
            left -= taken;
        }
    }
    Ok(parts)
}

fn step_error(hosts: &JobHosts, problem: &str) -> String {
    format!(
        "Unable to create step for job {}: {problem}",
        hosts.attempt.job
    )
}

#[cfg(test)]
mod tests {
    use tollgate_model::AttemptId;

    use super::*;

    fn placed(call: &SrunCall) -> Result<String, String> {
        let hosts = JobHosts {
            attempt: AttemptId {
                job: 7,
                task: 0,
                attempt: 1,
            },
            here: "a".to_owned(),
            hosts: vec![("a".to_owned(), 4), ("b".to_owned(), 2)],
        };
        let parts = place(call, &hosts).map_err(|error| error.text)?;
        let parts = parts.iter();
        let parts = parts.map(|part| format!("{}:{}+{}", part.host, part.first, part.count));
        Ok(parts.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn tasks_fill_the_hosts_in_order() {
        let call = |n_tasks, nodes, each, cpus| SrunCall {
            n_tasks,
            nodes,
            tasks_per_node: each,
            cpus_per_task: cpus,
            ..SrunCall::default()
        };
        for (call, expected) in [
            (call(None, None, None, 1), "a:0+1"),
            (call(Some(4), None, None, 1), "a:0+4"),
            (call(Some(6), None, None, 1), "a:0+4 b:4+2"),
            (call(Some(2), Some(2), None, 1), "a:0+1 b:1+1"),
            (call(None, Some(2), None, 1), "a:0+1 b:1+1"),
            (call(None, None, Some(2), 1), "a:0+2 b:2+2"),
            (call(Some(3), None, None, 2), "a:0+2 b:2+1"),
            (call(Some(2), Some(1), None, 1), "a:0+2"),
        ] {
            assert_eq!(placed(&call).as_deref(), Ok(expected), "{call:?}");
        }
    }

    #[test]
    fn more_tasks_than_processors_are_refused() {
        let mut call = SrunCall {
            n_tasks: Some(7),
            cpus_per_task: 1,
            ..SrunCall::default()
        };
        let expected = "srun: error: Unable to create step for job 7: More processors requested than permitted";
        assert_eq!(placed(&call).unwrap_err(), expected);
        call.overcommit = true;
        assert_eq!(placed(&call).unwrap(), "a:0+4 b:4+3");
    }
}
