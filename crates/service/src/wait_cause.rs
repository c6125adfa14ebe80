//! The first cause for which a job or a task waits: for lists of many jobs, so without a look ahead.

use tollgate_model::{JobId, PlacementNeeds, TaskId};
use tollgate_policy::{JobPhase, View};

use crate::active_task::ActiveTask;
use crate::array::{ActiveArray, TaskGroup};
use crate::core::Core;

/// The first cause for which a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitCause {
    /// Its user holds it, or its launch is tried again later.
    Held,
    /// Other jobs have to end before.
    Dependency,
    /// It begins later.
    Begin,
    /// As many tasks of its array run as may run at once.
    ArrayLimit,
    /// The host on which it has to run has too few idle processors, or takes no jobs.
    Host,
    /// Too few licences are free.
    Licences,
    /// No host has enough free devices.
    Devices,
    /// Its deadline cannot be promised, and may be later.
    Promise,
    /// Fewer processors are idle than it needs.
    Resources,
    /// Enough processors are idle, and they are kept for jobs before it.
    Priority,
}

impl WaitCause {
    /// Every cause.
    pub const ALL: [Self; 10] = [
        Self::Held,
        Self::Dependency,
        Self::Begin,
        Self::ArrayLimit,
        Self::Host,
        Self::Licences,
        Self::Devices,
        Self::Promise,
        Self::Resources,
        Self::Priority,
    ];

    /// Returns the cause as a word of the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Dependency => "dependency",
            Self::Begin => "begin",
            Self::ArrayLimit => "array_limit",
            Self::Host => "host",
            Self::Licences => "licences",
            Self::Devices => "devices",
            Self::Promise => "promise",
            Self::Resources => "resources",
            Self::Priority => "priority",
        }
    }
}

impl Core {
    /// Returns the first cause for which a job waits, or one task of it; for an array that of its first task that
    /// waits and is not held. None if it does not wait, or is not known.
    pub fn wait_cause(&self, job: u64, task: Option<u32>) -> Option<WaitCause> {
        if let Some(waiting) = self.deferred_job(job) {
            let options = &waiting.options;
            let is_known = task.is_none_or(|task| waiting.has_task(task));
            return is_known.then_some(match (options.held, options.begin) {
                (true, _) => WaitCause::Held,
                (false, Some(_)) if options.dependencies.is_empty() => WaitCause::Begin,
                (false, _) => WaitCause::Dependency,
            });
        }
        match (self.array(job), task) {
            (Some(array), Some(task)) => self.task_cause(job, array, task),
            (Some(array), None) => self.array_cause(job, array),
            (None, _) => self.live_cause(self.job(job)?, None),
        }
    }

    fn task_cause(&self, job: u64, array: &ActiveArray, task: u32) -> Option<WaitCause> {
        if let Some(live) = self.job(TaskId { job, task }) {
            return self.live_cause(live, Some(array));
        }
        if let Some(group) = array.group_of(task) {
            return self.live_cause(&group.common, Some(array));
        }
        match (array.held_pending.contains(task), array.is_pending(task)) {
            (true, _) => Some(WaitCause::Held),
            (false, true) => Some(self.pending_cause(job, array)),
            (false, false) => None,
        }
    }

    fn array_cause(&self, job: u64, array: &ActiveArray) -> Option<WaitCause> {
        if let Some(cause) = self.first_live_cause(job, array) {
            return Some(cause);
        }
        if !array.pending.is_empty() {
            return Some(self.pending_cause(job, array));
        }
        (array.counts().held > 0).then_some(WaitCause::Held)
    }

    /// Returns the cause of tasks that are not in the gate yet: that of the tasks before them.
    fn pending_cause(&self, job: u64, array: &ActiveArray) -> WaitCause {
        if array.reached_limit().is_some() {
            return WaitCause::ArrayLimit;
        }
        let before = self.first_live_cause(job, array);
        before.unwrap_or(WaitCause::Resources)
    }

    /// Returns the cause of the first task in the gate that waits and is not held.
    fn first_live_cause(&self, job: u64, array: &ActiveArray) -> Option<WaitCause> {
        let of_groups = array.groups().iter().map(|group: &TaskGroup| &group.common);
        let lives = self.tasks_of(job).map(|(_, live)| live).chain(of_groups);
        let mut causes = lives.filter_map(|live| self.live_cause(live, Some(array)));
        causes.find(|cause| *cause != WaitCause::Held)
    }

    fn live_cause(&self, live: &ActiveTask, array: Option<&ActiveArray>) -> Option<WaitCause> {
        if live.has_nodes() {
            return None;
        }
        if live.held || live.launch_retry_at.is_some() {
            return Some(WaitCause::Held);
        }
        if live.awaits_turn || array.is_some_and(|array| array.reached_limit().is_some()) {
            return Some(WaitCause::ArrayLimit);
        }
        if live.follows.is_some() {
            return Some(WaitCause::Resources);
        }
        Some(self.queue_cause(live.slot))
    }

    fn queue_cause(&self, slot: JobId) -> WaitCause {
        let view = self.gate.view(self.now);
        let job = view.job(slot);
        let needs = &job.spec.needs;
        let is_unadmitted = job.phase == JobPhase::Queued && job.accepted.is_none();
        let promises = self.rules.policy.promise_level().is_some();
        let idle = match needs.host {
            Some(_) => n_idle_on_host(&view, needs),
            None => view.n_idle(),
        };
        if !view.free_licences().covers(&view.licences_of(needs)) {
            WaitCause::Licences
        } else if needs.host.is_some() && idle < job.spec.procs {
            WaitCause::Host
        } else if !has_free_devices(&view, needs) {
            WaitCause::Devices
        } else if promises && is_unadmitted && job.spec.sla.deadline.is_some() {
            WaitCause::Promise
        } else if idle < job.spec.procs {
            WaitCause::Resources
        } else {
            WaitCause::Priority
        }
    }
}

/// Returns the number of idle processors of the host on which a job has to run; 0 if it takes no jobs.
fn n_idle_on_host(view: &View<'_>, needs: &PlacementNeeds) -> u32 {
    let hosts = view.hosts().iter();
    let named = hosts.filter(|host| host.terms.name == needs.host);
    let up = named.filter(|host| view.n_up_in(host.nodes) > 0);
    let idle = up.map(|host| view.n_idle_in(host.nodes));
    idle.max().unwrap_or(0)
}

/// Returns whether a host that takes jobs has the devices that a job needs.
fn has_free_devices(view: &View<'_>, needs: &PlacementNeeds) -> bool {
    let devices = view.devices_of(needs);
    let mut hosts = view.hosts().iter();
    devices.is_none()
        || hosts.any(|host| view.n_up_in(host.nodes) > 0 && host.free_devices().covers(&devices))
}
