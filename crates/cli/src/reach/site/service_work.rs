//! The work and the workers of the service, as pilots are decided by them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::timestamp::{format_iso, parse_iso};
use tollgate_client::types::{
    EndOfWorker, JobDetails, JobList, JobState, NodeAvailability, NodeList, WorkerLinkState,
};
use tollgate_client::{ApiClient, ClientError};
use tollgate_inside::{InsideError, PersonalScheduler};
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{PendingWork, SiteSupply, TaskGroup};
use tollgate_sites::{PilotWork, PilotWorker, SiteSettings};

use crate::output::format;
use crate::output::messages::pluralise;

/// The difference below which two ends of a pilot are the same: engines count in seconds.
const SAME_END: Span = Span::from_secs(1);

/// A job that no pilot of a site can hold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct MisfitJob {
    /// Number of the job.
    pub(super) id: u64,
    /// Its needs, against the resources of a pilot.
    pub(super) why: String,
}

/// The unfinished jobs and the nodes of the service at an instant.
#[derive(Debug)]
pub(super) struct ServiceWork {
    jobs: Vec<JobDetails>,
    nodes: NodeList,
    workers: BTreeMap<String, PilotWorker>,
    /// The jobs of a scheduler inside the pilots: those that wait, and those that run.
    inside: [Option<TaskGroup>; 2],
}

impl ServiceWork {
    /// Asks the service.
    pub(super) fn query(client: &mut ApiClient) -> Result<Self, ClientError> {
        let jobs: JobList = client.get(&format!("/v1/jobs?live=true&limit={MAX_JOBS}"))?;
        let nodes: NodeList = client.get("/v1/nodes")?;
        Ok(Self::new(jobs.jobs, nodes))
    }

    /// Asks the service for its nodes, for [`PilotWork::worker`].
    pub(super) fn query_nodes(client: &mut ApiClient) -> Result<Self, ClientError> {
        Ok(Self::new(Vec::new(), client.get("/v1/nodes")?))
    }

    fn new(jobs: Vec<JobDetails>, nodes: NodeList) -> Self {
        let mut workers: BTreeMap<String, PilotWorker> = BTreeMap::new();
        for worker in &nodes.workers {
            let takes_tasks = matches!(
                worker.state.known(),
                Some(WorkerLinkState::Connected | WorkerLinkState::Disconnected)
            );
            let none = PilotWorker {
                takes_tasks: false,
                idle_cores: 0,
                busy_cores: 0,
            };
            workers
                .entry(worker.name.clone())
                .or_insert(none)
                .takes_tasks |= takes_tasks;
        }
        for node in &nodes.nodes {
            let pilot_worker = node.worker.as_ref().and_then(|name| workers.get_mut(name));
            if let Some(pilot_worker) = pilot_worker {
                pilot_worker.idle_cores += u32::from(node.state == NodeAvailability::Idle);
                pilot_worker.busy_cores += u32::from(node.tasks > 0);
            }
        }
        Self {
            jobs,
            nodes,
            workers,
            inside: [None; 2],
        }
    }

    /// Returns the work of a scheduler inside the pilots of some sites. How long its jobs run is not
    /// known: each counts as half of the shortest pilot.
    pub(super) fn inside(
        scheduler: &PersonalScheduler,
        sites: &[SiteSettings],
    ) -> Result<Self, InsideError> {
        let nodes = scheduler.nodes()?;
        let load = scheduler.load()?;
        let none = NodeList {
            nodes: Vec::new(),
            memory_per_node_bytes: 0,
            enforced: Vec::new(),
            workers: Vec::new(),
            resources: Vec::new(),
            slowed_hosts: Vec::new(),
            expected_hosts: Vec::new(),
        };
        let mut work = Self::new(Vec::new(), none);
        for node in &nodes {
            for site in sites {
                let Some((pilot, is_idle)) = node.pilot_of(&site.name) else {
                    continue;
                };
                let worker = work.workers.entry(pilot).or_insert(PilotWorker {
                    takes_tasks: true,
                    idle_cores: 0,
                    busy_cores: 0,
                });
                match is_idle {
                    true => worker.idle_cores = site.cores,
                    false => worker.busy_cores = site.cores,
                }
            }
        }
        let shortest = sites.iter().map(SiteSettings::time).min();
        let run_time = Span::from_micros(shortest.map_or(0, |time| time.as_micros() / 2));
        work.inside = [load.waiting, load.running].map(|tasks| {
            let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
            (tasks > 0).then_some(TaskGroup {
                cores: 1,
                run_time,
                tasks,
                at_once: tasks,
                deadline: None,
                is_promised: false,
            })
        });
        Ok(work)
    }

    /// Returns whether the service expects pilots at a site.
    pub(super) fn expects(&self, site: &str) -> bool {
        let expected = self.nodes.expected_hosts.iter();
        expected.map(|host| host.site.as_str()).any(|of| of == site)
    }

    /// Returns the ends that are not those of the workers.
    pub(super) fn moved_ends(
        &self,
        ends: impl Iterator<Item = (String, Instant)>,
    ) -> Vec<EndOfWorker> {
        let workers = self.nodes.workers.iter();
        let known: BTreeMap<&str, Instant> = workers
            .filter(|worker| worker.state == WorkerLinkState::Connected)
            .filter_map(|worker| {
                let until = worker.until.as_ref()?;
                Some((worker.name.as_str(), parse_iso(until).ok()?))
            })
            .collect();
        let is_moved = |(worker, until): &(String, Instant)| {
            let known = known.get(worker.as_str());
            known.is_some_and(|known| known.since(*until).max(until.since(*known)) >= SAME_END)
        };
        let moved = ends.filter(is_moved);
        moved
            .map(|(worker, until)| EndOfWorker {
                worker,
                until: format_iso(until),
            })
            .collect()
    }
}

impl PilotWork for ServiceWork {
    fn worker(&self, name: &str) -> Option<PilotWorker> {
        self.workers.get(name).copied()
    }

    fn pending_work(&self, sites: &BTreeSet<&str>, now: Instant) -> PendingWork {
        let workers = self.nodes.workers.iter();
        let of_sites = workers.filter(|worker| {
            let site = worker.site.as_deref();
            site.is_some_and(|site| sites.contains(site))
        });
        let pilots: BTreeSet<&str> = of_sites.map(|worker| worker.name.as_str()).collect();
        let is_pilot = |host: &Option<String>| {
            let host = host.as_deref();
            host.is_some_and(|host| pilots.contains(host))
        };
        let idle = self
            .nodes
            .nodes
            .iter()
            .filter(|node| node.state == NodeAvailability::Idle);
        let idle_elsewhere = idle.filter(|node| !is_pilot(&node.worker)).count();
        // Tasks of an array have no host here. Those that run elsewhere take no room: a pilot's room
        // is never smaller than that of its idle cores.
        let runs_on_pilot = |job: &&JobDetails| job.array.is_some() || is_pilot(&job.host);
        PendingWork {
            waiting: self
                .jobs
                .iter()
                .filter_map(waiting)
                .chain(self.inside[0])
                .collect(),
            later: self.jobs.iter().filter_map(later).collect(),
            running: self
                .jobs
                .iter()
                .filter(runs_on_pilot)
                .filter_map(|job| running(job, now))
                .chain(self.inside[1])
                .collect(),
            idle_elsewhere: u32::try_from(idle_elsewhere).unwrap_or(u32::MAX),
        }
    }
}

impl ServiceWork {
    /// Returns at most `most` jobs that wait and that no pilot of a site can hold, with the reason.
    pub(super) fn misfits(&self, site: &SiteSupply, most: usize) -> Vec<MisfitJob> {
        let misfit = |job: &JobDetails| {
            let group = waiting(job)?;
            let most = site.most_cores();
            let cores = pluralise(most as usize, "core");
            let why = if group.cores > most {
                format!("{} cores: a pilot has {cores}", group.cores)
            } else if group.run_time > site.usable() {
                let [long, time] = [group.run_time, site.usable()]
                    .map(|span| format::format_span(span.as_secs_f64()));
                format!("expected to run {long}: a pilot has {time} for tasks")
            } else {
                return None;
            };
            Some(MisfitJob { id: job.id, why })
        };
        self.jobs.iter().filter_map(misfit).take(most).collect()
    }
}

fn waiting(job: &JobDetails) -> Option<TaskGroup> {
    if job.state == JobState::Dependent {
        return None;
    }
    let (tasks, at_once) = match &job.array {
        Some(array) => {
            let running = u32::try_from(array.running).unwrap_or(u32::MAX);
            let room = array.max_running.map(|most| most.saturating_sub(running));
            let queued = u32::try_from(array.queued).unwrap_or(u32::MAX);
            (queued, room.unwrap_or(queued))
        }
        None => {
            let queued = u32::from(job.state == JobState::Queued);
            (queued, queued)
        }
    };
    (tasks > 0).then(|| group(job, tasks, at_once, Span::ZERO))
}

/// Returns the tasks that wait for other jobs, or whose room is reserved.
fn later(job: &JobDetails) -> Option<TaskGroup> {
    let waits = job.state == JobState::Dependent || job.state == JobState::Reserved;
    waits.then(|| group(job, 1, 1, Span::ZERO))
}

fn running(job: &JobDetails, now: Instant) -> Option<TaskGroup> {
    match &job.array {
        Some(array) => {
            let tasks = u32::try_from(array.running).unwrap_or(u32::MAX);
            (tasks > 0).then(|| group(job, tasks, tasks, Span::ZERO))
        }
        None => (job.state == JobState::Running).then(|| {
            let started = job.started_at.as_ref().and_then(|at| parse_iso(at).ok());
            let past = started.map_or(Span::ZERO, |at| now.since(at));
            group(job, 1, 1, past)
        }),
    }
}

/// Returns tasks of a job that have run for `past`.
fn group(job: &JobDetails, tasks: u32, at_once: u32, past: Span) -> TaskGroup {
    TaskGroup {
        cores: job.procs.max(1),
        run_time: (Span::ceil_secs_f64(job.estimate_s) - past).max(Span::ZERO),
        tasks,
        at_once,
        deadline: job.deadline_at.as_ref().and_then(|at| parse_iso(at).ok()),
        is_promised: job.promised_at.is_some() && !job.counts_on_expected_hosts,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Instant = Instant::from_secs(1_796_115_660);

    fn job(more: Value) -> JobDetails {
        let mut fields = json!({
            "id": 1, "user_id": 0, "name": "job", "state": "queued", "command": [], "dir": "/",
            "procs": 2, "submitted_at": "2026-12-01T09:00:00Z", "estimate_s": 100.0,
            "estimate_source": "user", "attempts": 0,
        });
        let more = more.as_object().cloned().expect("an object");
        fields.as_object_mut().expect("an object").extend(more);
        serde_json::from_value(fields).expect("a job")
    }

    fn array(queued: u64, running: u64, max_running: Option<u32>) -> Value {
        json!({
            "tasks": "1-100", "max_running": max_running, "queued": queued, "held": 3,
            "running": running, "finished": 0, "cancelled": 0, "lost": 0, "rejected": 0, "kept": 0,
            "broken": 0, "void": 0, "unpromised": 0,
        })
    }

    fn nodes() -> NodeList {
        let node = |id: u32, state: &str, worker: Option<&str>| json!({"id": id, "state": state, "tasks": u32::from(state == "busy"), "worker": worker});
        let worker = |name: &str, state: &str, site: Option<&str>| json!({"name": name, "state": state, "incarnation": 1, "first_node": 1, "nodes": 2, "site": site, "enforced": []});
        let list = json!({
            "memory_per_node_bytes": 0, "enforced": [],
            "nodes": [
                node(0, "idle", None), node(1, "idle", Some("west.1")), node(2, "busy", Some("west.1")),
                node(3, "idle", Some("desk")), node(4, "drained", Some("desk")),
            ],
            "workers": [
                worker("west.1", "connected", Some("west")), worker("west.2", "leaving", Some("west")),
                worker("desk", "connected", None),
            ],
        });
        serde_json::from_value(list).expect("nodes")
    }

    #[test]
    fn only_tasks_that_could_start_wait() {
        let groups = |more: Value| waiting(&job(more)).map(|group| (group.tasks, group.at_once));
        assert_eq!(groups(json!({})), Some((1, 1)));
        for state in ["held", "running", "dependent", "reserved"] {
            assert_eq!(groups(json!({ "state": state })), None, "{state}");
        }
        let limited = json!({"state": "running", "array": array(7, 2, Some(4))});
        assert_eq!(groups(limited), Some((7, 2)));
        let dependent = json!({"state": "dependent", "array": array(7, 0, None)});
        assert_eq!(groups(dependent), None);
        let later = |state: &str| later(&job(json!({ "state": state }))).is_some();
        assert_eq!(
            ["dependent", "reserved", "queued", "held"].map(later),
            [true, true, false, false]
        );
    }

    #[test]
    fn jobs_that_run_on_pilots_take_room_for_the_rest_of_their_time() {
        let started =
            json!({"state": "running", "started_at": "2026-12-01T09:00:30Z", "host": "west.1"});
        let elsewhere = json!({"state": "running", "host": "desk"});
        let work = ServiceWork::new(vec![job(started), job(elsewhere)], nodes());
        let work = work.pending_work(&BTreeSet::from(["west"]), NOW);
        let times: Vec<Span> = work.running.iter().map(|group| group.run_time).collect();
        assert_eq!(times, [Span::from_secs(70)]);
        assert!(work.waiting.is_empty());
    }

    #[test]
    fn idle_cores_belong_to_pilots_or_are_elsewhere() {
        let work = ServiceWork::new(Vec::new(), nodes());
        let worker = |name| {
            work.worker(name)
                .map(|worker| (worker.takes_tasks, worker.idle_cores, worker.busy_cores))
        };
        assert_eq!(worker("west.1"), Some((true, 1, 1)));
        assert_eq!(worker("west.2"), Some((false, 0, 0)));
        assert_eq!(worker("west.3"), None);
        let idle = |sites: &[&str]| {
            let sites = sites.iter().copied().collect();
            work.pending_work(&sites, NOW).idle_elsewhere
        };
        assert_eq!((idle(&["west"]), idle(&[])), (2, 3));
    }

    #[test]
    fn moved_ends_are_reported() {
        let until = |name: &str, at: &str| json!({"name": name, "state": "connected", "incarnation": 1, "first_node": 1, "nodes": 2, "until": at, "site": "west", "enforced": []});
        let list = json!({
            "memory_per_node_bytes": 0, "enforced": [], "nodes": [],
            "workers": [until("west.1", "2026-12-01T10:00:00Z"), until("west.2", "2026-12-01T10:00:00.4Z")],
        });
        let work = ServiceWork::new(Vec::new(), serde_json::from_value(list).expect("nodes"));
        let at = |secs| parse_iso("2026-12-01T10:00:00Z").unwrap() + Span::from_secs(secs);
        let reported = |ends: [(&str, i64); 2]| {
            let ends = ends.map(|(name, secs)| (name.to_owned(), at(secs)));
            let moved = work.moved_ends(ends.into_iter()).into_iter();
            moved.map(|end| (end.worker, end.until)).collect::<Vec<_>>()
        };
        assert_eq!(reported([("west.1", 0), ("west.2", 0)]), []);
        // The third pilot has not joined: it reads its end itself.
        let moved = reported([("west.1", -600), ("west.3", 600)]);
        assert_eq!(
            moved,
            [("west.1".to_owned(), "2026-12-01T09:50:00Z".to_owned())]
        );
    }
}
