//! A slot: control groups, and a thread that runs one attempt after the other in them.

pub(crate) mod output;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod stuck;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time;

use output::OutputMonitor;
use queue::SlotQueue;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use rustix::thread::CpuSet;
use serde::{Deserialize, Serialize};
use stuck::SetupWatch;
use tollgate_engine::LaunchSpec;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptStart, KillReason, LaunchFailure, Span,
};

use crate::cgroup::group::{self, SlotCgroup};
use crate::cgroup::memory::SampledMemory;
use crate::cgroup::meter::CgroupUsageBaseline;
use crate::cgroup::priority::{PriorityControl, TasksPriority};
use crate::child::failure::{failed_call, failed_step};
use crate::child::setup::SpawnPhase;
use crate::child::spawn::{self, ChildStack, SpawnResult};
use crate::child::spec::SpawnSpec;
use crate::clock;
use crate::failpoint;
use crate::guard::{LaunchGuard, LaunchGuardError};
use crate::lease::LeaseEnd;
use crate::node_files;
use crate::process::handle::ProcessHandle;
use crate::process::kill_tree;
use crate::process::mark::RunnerId;
use crate::process::procfs;
use crate::scripts::{ScriptCopySpec, ScriptDirs};
use crate::started_files::StartedFiles;
use crate::supervisor::event::RunnerEvent;
use crate::supervisor::task::RunningProcess;

/// The state of a slot's thread.
pub(crate) struct SlotWorker {
    pub(crate) number: usize,
    pub(crate) group: SlotCgroup,
    pub(crate) boot: String,
    pub(crate) runner_id: RunnerId,
    pub(crate) started_files: Arc<StartedFiles>,
    pub(crate) scripts: Arc<ScriptDirs>,
    pub(crate) guard: Option<LaunchGuard>,
    /// The processor of each node.
    pub(crate) cpus: Arc<Vec<usize>>,
    /// The child that is being set up.
    pub(crate) setting_up: SetupWatch,
    pub(crate) events: Sender<RunnerEvent>,
    /// The end of the lease, after which no attempt may be started.
    pub(crate) lease: LeaseEnd,
    pub(crate) pinned_to: Option<String>,
    pub(crate) memory_limit: Option<u64>,
    /// Memory per node in bytes, where a control group can limit it.
    pub(crate) memory_share: Option<u64>,
    /// Present if tasks give way to all other processes.
    pub(crate) low_priority: Option<PriorityControl>,
    pub(crate) outputs: OutputMonitor,
}

/// An attempt for a slot to run.
pub(crate) struct SlotJob {
    pub(crate) launch: LaunchSpec,
    pub(crate) nice: i32,
}

/// The first line of a `started` file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartedFileHeader {
    pub(crate) boot: String,
    pub(crate) slot: usize,
    pub(crate) group: SlotCgroup,
    pub(crate) meter: CgroupUsageBaseline,
    pub(crate) at_micros: i64,
}

/// Runs attempts until the queue is closed.
pub(crate) fn serve(mut slot: SlotWorker, queue: &SlotQueue) {
    let joined = slot.group.join_thread(slot.low_priority.is_some());
    let mut stack = ChildStack::new();
    while let Some(order) = queue.pop() {
        let attempt = order.launch.attempt;
        let event = match &joined {
            Ok(()) => match slot.admit(order) {
                Ok(order) => slot.run(&order, &mut stack),
                Err(refused) => Some(not_started_event(failed_step(
                    SpawnPhase::User,
                    refused.to_string(),
                ))),
            },
            Err(error) => Some(not_started_event(failed_step(
                SpawnPhase::Confine,
                error.to_string(),
            ))),
        };
        let number = slot.number;
        let over = match event {
            Some(event) => RunnerEvent::Finished {
                slot: Some(number),
                attempt,
                event,
            },
            None => RunnerEvent::StuckSetupEnded(number),
        };
        if slot.events.send(over).is_err() {
            return;
        }
    }
}

impl SlotWorker {
    /// Returns the job as it is carried out: with the user that the guard determines, if there is a
    /// guard.
    fn admit(&self, order: SlotJob) -> Result<SlotJob, LaunchGuardError> {
        let Some(guard) = &self.guard else {
            return Ok(order);
        };
        let user = Some(guard.resolve_user(&order.launch)?);
        let launch = LaunchSpec {
            user,
            ..order.launch
        };
        Ok(SlotJob { launch, ..order })
    }

    /// Runs an attempt to its end. Returns None if it was given up while it was set up.
    fn run(&mut self, order: &SlotJob, stack: &mut ChildStack) -> Option<AttemptEvent> {
        let meter = CgroupUsageBaseline::read(&self.group);
        let plan = match self.prepare(order, meter) {
            Ok(plan) => plan,
            Err(error) => {
                return Some(not_started_event(failed_step(
                    SpawnPhase::Confine,
                    error.to_string(),
                )));
            }
        };
        // The child shares memory and locks with this process until its program replaces it.
        let low_priority = self.low_priority.as_ref();
        let raised = low_priority.map(|priority| priority.raise(TasksPriority::Usual));
        let birth = match spawn::spawn(&plan, &self.lease, stack, &self.setting_up) {
            Ok(birth) => birth,
            Err(error) => {
                return Some(not_started_event(failed_step(
                    SpawnPhase::Begin,
                    error.to_string(),
                )));
            }
        };
        drop(raised);
        let began = time::Instant::now();
        failpoint::kill_at("spawned");
        let live = Arc::new(ProcessHandle::child(birth.pid));
        if birth.error.is_none() && birth.phase == SpawnPhase::Program && !birth.is_given_up {
            if let Some(most) = order.launch.limits.output {
                let attempt = order.launch.attempt;
                self.outputs.watch(attempt, &live, plan.files(), most);
            }
            self.report_started(order.launch.attempt, &live, meter);
        }
        let memory = pidfd_open(birth.pid, PidfdFlags::empty()).map_or_else(
            |_| SampledMemory::default(),
            |process| SampledMemory::until_end(&process, &self.group),
        );
        wait_without_reaping(birth.pid);
        let wall = Span::from_secs_f64(began.elapsed().as_secs_f64());
        failpoint::kill_at("ended");
        kill_tree::kill_own(
            &self.group,
            &live,
            &self.runner_id.mark(order.launch.attempt),
        );
        let reaped = live.reap(spawn::reap);
        if birth.is_given_up {
            return None;
        }
        Some(match reaped {
            Ok((status, usage)) => finish_event(&birth, || AttemptOutcome {
                status,
                killed: meter
                    .ran_out_of_memory(&self.group)
                    .then_some(KillReason::MemoryLimit),
                at: clock::now(),
                wall,
                cpu: meter
                    .cpu(&self.group)
                    .map_or(usage.cpu, |cpu| cpu.max(usage.cpu)),
                suspended: Span::ZERO,
                peak_memory: memory.peak(
                    Some(usage.peak_memory),
                    procfs::own_peak_memory(),
                    self.group.kernel_peak_memory(),
                ),
            }),
            Err(_) => AttemptEvent::Lost { at: clock::now() },
        })
    }

    fn report_started(
        &self,
        attempt: AttemptId,
        live: &Arc<ProcessHandle>,
        meter: CgroupUsageBaseline,
    ) {
        let started = RunnerEvent::Started {
            attempt,
            start: AttemptStart {
                pid: u32::try_from(live.pid().as_raw_pid()).ok(),
                at: clock::now(),
            },
            process: RunningProcess {
                handle: Arc::clone(live),
                group: self.group.clone(),
                meter,
            },
        };
        // A closed channel means that the runner is ending.
        let _ = self.events.send(started);
    }

    /// Prepares the slot and the child for an attempt.
    fn prepare(&mut self, order: &SlotJob, meter: CgroupUsageBaseline) -> io::Result<SpawnSpec> {
        let launch = &node_files::with_paths(&order.launch, self.scripts.path());
        let mut plan = SpawnSpec::new(
            launch,
            (&self.runner_id, rustix::process::getpid()),
            Arc::clone(&self.started_files),
            self.scripts.path_of(launch),
        );
        plan.script = ScriptCopySpec::new(&self.scripts, launch)?;
        self.group.set_share(launch.share, launch.nodes.len())?;
        plan.affinity = self.pin(launch)?;
        plan.address_space = self.limit_memory(self.memory_limit_for(launch))?;
        // The code that ended the processes of the task before may have removed the limit.
        self.group.limit_processes(launch.limits.processes)?;
        plan.nice = order.nice;
        plan.is_low_priority = self.low_priority.is_some() && !launch.is_probe;
        plan.cgroup_files = self.group.open_procs_files(self.low_priority.is_some())?;
        plan.header = crate::protocol::encode_line(&StartedFileHeader {
            boot: self.boot.clone(),
            slot: self.number,
            group: self.group.clone(),
            meter,
            at_micros: clock::now().as_micros(),
        });
        Ok(plan)
    }

    /// Pins the slot to the launch's nodes. If no cpuset can, returns the processors to start on.
    fn pin(&mut self, launch: &LaunchSpec) -> io::Result<Option<CpuSet>> {
        let cpu = |node: &tollgate_model::NodeId| self.cpus.get(node.index()).copied();
        let cpus: Vec<usize> = launch.nodes.iter().filter_map(cpu).collect();
        let list = group::cpu_list(&cpus);
        if self.pinned_to.as_ref() == Some(&list) {
            return Ok(None);
        }
        if self.group.pin(&list)? {
            self.pinned_to = Some(list);
            return Ok(None);
        }
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.set(cpu);
        }
        Ok(Some(set))
    }

    /// Returns the memory limit of a launch: its own limit, else its nodes' share if the launch
    /// asks for it.
    fn memory_limit_for(&self, launch: &LaunchSpec) -> Option<u64> {
        let share = self.memory_share.filter(|_| launch.limits.share_of_memory);
        let share = share.map(|bytes| bytes.saturating_mul(launch.nodes.len() as u64));
        launch.limits.memory.or(share)
    }

    /// Limits the slot's memory. If no control group can, returns the limit for each process.
    fn limit_memory(&mut self, limit: Option<u64>) -> io::Result<Option<u64>> {
        if self.memory_limit == limit {
            return Ok(None);
        }
        if self.group.limit_memory(limit)? {
            self.memory_limit = limit;
            return Ok(None);
        }
        Ok(limit)
    }
}

/// Waits until a child has ended, without reaping it.
fn wait_without_reaping(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
}

/// Returns the end of a child that may never have become its program.
fn finish_event(birth: &SpawnResult, ended: impl FnOnce() -> AttemptOutcome) -> AttemptEvent {
    match birth.error {
        // The attempt was started before, by the runner that this one has replaced.
        Some(Errno::EXIST) if birth.phase == SpawnPhase::Started => {
            AttemptEvent::Lost { at: clock::now() }
        }
        Some(spawn::LEASE_ENDED) if birth.phase == SpawnPhase::Program => {
            not_started_event(failed_step(SpawnPhase::Begin, "the lease has ended"))
        }
        Some(errno) => not_started_event(failed_call(birth.phase, errno)),
        None if birth.phase != SpawnPhase::Program => not_started_event(failed_step(
            birth.phase,
            "it was killed while it was set up",
        )),
        None => AttemptEvent::Ended(ended()),
    }
}

/// Returns the end of an attempt whose program never ran.
pub(crate) fn not_started_event(failure: LaunchFailure) -> AttemptEvent {
    AttemptEvent::Ended(AttemptOutcome::not_started(failure, clock::now()))
}
