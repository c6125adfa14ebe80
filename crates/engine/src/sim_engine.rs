//! An engine that runs no processes: a simulated machine with a simulated clock and injected
//! faults.

mod machine;
mod program;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate_model::{
    AttemptEvent, AttemptId, AttemptReport, Instant, KillReason, Span, WarningSignal,
};

pub use program::SimProgram;

use crate::capacity::{
    CpuPinning, MemoryEnforcement, ProcessEnforcement, ShareEnforcement, TreeTracking,
};
use crate::launch::check_shares;
use crate::output::{AttemptStream, OutputBytes, OutputFile, OutputPiece};
use crate::{
    BootTime, Engine, EngineCapacity, EngineError, LaunchSpec, OutputAnswer, OutputRead,
    RunningAttempt, SuspendedAttempt, WakeCallback,
};
use machine::SimMachine;

/// A simulated machine. Clones are the same machine: keep one to advance the clock and to inject
/// faults, and open a [`SimEngine`] on it for each restart of the caller.
#[derive(Clone)]
pub struct SimHost(Arc<Mutex<SimHostState>>);

struct SimHostState {
    nodes: u32,
    memory_per_node: u64,
    devices: BTreeMap<String, u8>,
    program_of: Box<dyn Fn(&LaunchSpec) -> SimProgram + Send>,
    machine: SimMachine,
    faults: SimFaults,
    /// Reports in transit, with their arrival times.
    pending_reports: Vec<(Instant, AttemptReport)>,
    outputs: Vec<OutputAnswer>,
    wake: Option<WakeCallback>,
}

/// The faults between a caller and a [`SimHost`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimFaults {
    /// Number of next calls that fail before they are carried out.
    pub fail_before: u32,
    /// Number of calls after those that are carried out and whose answer is lost.
    pub fail_after: u32,
    /// Whether every report arrives twice.
    pub double_reports: bool,
    /// The delay of reports.
    pub report_delay: Span,
}

impl SimHost {
    /// Creates a machine of `nodes` nodes with `memory_per_node` bytes each. `program_of` defines the
    /// program of each attempt; [`SimProgram::of_command`] covers a handful of well-known commands.
    /// The clock starts at zero.
    pub fn new(
        nodes: u32,
        memory_per_node: u64,
        program_of: impl Fn(&LaunchSpec) -> SimProgram + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(SimHostState {
            nodes,
            memory_per_node,
            devices: BTreeMap::new(),
            program_of: Box::new(program_of),
            machine: SimMachine::default(),
            faults: SimFaults::default(),
            pending_reports: Vec::new(),
            outputs: Vec::new(),
            wake: None,
        })))
    }

    /// Sets the devices that the machine offers from the next [`Engine::capacity`] on.
    pub fn set_devices(&self, devices: BTreeMap<String, u8>) {
        self.lock().devices = devices;
    }

    /// Lets programs of later attempts start so long after their order, as in the queue of a batch system. Those that
    /// follow another attempt start at its end.
    pub fn set_start_delay(&self, delay: Span) {
        self.lock().machine.start_delay = delay;
    }

    /// Returns the machine's time.
    pub fn now(&self) -> Instant {
        self.lock().machine.now
    }

    /// Advances the clock to `until` and processes all events until then. The clock never goes
    /// back.
    pub fn advance_to(&self, until: Instant) {
        let mut machine = self.lock();
        machine.machine.advance_to(until);
        machine.send_reports();
    }

    /// Returns the time of the next start or end if no other event comes first; None if no attempt runs.
    pub fn next_end(&self) -> Option<Instant> {
        self.lock().machine.next_end()
    }

    /// Returns every attempt that was submitted and has not ended, from all engines on this
    /// machine.
    pub fn running(&self) -> Vec<RunningAttempt> {
        self.lock().machine.running()
    }

    /// Returns the attempts whose ends are not acknowledged.
    pub fn unacknowledged(&self) -> Vec<AttemptId> {
        self.lock().machine.unacknowledged()
    }

    /// Returns the output of an attempt on any simulated machine.
    pub fn output_of(attempt: AttemptId) -> String {
        format!("output of {attempt}\n")
    }

    /// Injects these faults from now on.
    pub fn set_faults(&self, faults: SimFaults) {
        self.lock().faults = faults;
    }

    /// Makes an unfinished attempt vanish: it is reported as lost.
    pub fn mark_lost(&self, attempt: AttemptId) {
        let mut machine = self.lock();
        machine.machine.mark_lost(attempt);
        machine.send_reports();
    }

    /// Ends an unfinished attempt by a signal that nothing here has sent, as a batch system does.
    pub fn end_by_signal(&self, attempt: AttemptId, signal: u8) {
        let mut machine = self.lock();
        machine.machine.end_by_signal(attempt, signal);
        machine.send_reports();
    }

    /// Locks the state. A panic in another thread leaves no inconsistent state, so a poisoned lock
    /// is usable.
    fn lock(&self) -> MutexGuard<'_, SimHostState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimHostState {
    /// Sends the new reports.
    fn send_reports(&mut self) {
        let arrives = self.machine.now + self.faults.report_delay;
        let copies = if self.faults.double_reports { 2 } else { 1 };
        let reports = std::mem::take(&mut self.machine.reports);
        if reports.is_empty() {
            return;
        }
        for report in reports {
            self.pending_reports
                .extend(std::iter::repeat_n((arrives, report), copies));
        }
        if let Some(wake) = &self.wake {
            wake();
        }
    }

    /// Answers a read. The output of a simulated attempt is a line with its key, and it writes no errors.
    fn read_output(&self, read: &OutputRead) -> OutputAnswer {
        let found = match (self.machine.has_started(read.attempt), read.stream) {
            (false, _) => Err("no such attempt runs here".to_owned()),
            (true, AttemptStream::Error) => Ok(OutputPiece::default()),
            (true, AttemptStream::Output) => {
                let output = SimHost::output_of(read.attempt).into_bytes();
                let size = output.len() as u64;
                let start = read.from.resolve(size);
                let rest = output.get(start as usize..).unwrap_or_default();
                let bytes = rest.iter().take(read.max as usize).copied().collect();
                Ok(OutputPiece {
                    start,
                    bytes: OutputBytes(bytes),
                    file: OutputFile {
                        size,
                        ..OutputFile::default()
                    },
                })
            }
        };
        OutputAnswer { id: read.id, found }
    }

    /// Removes and returns the reports that have arrived.
    fn take_arrived_reports(&mut self) -> Vec<AttemptReport> {
        let now = self.machine.now;
        let (arrived, under_way) = std::mem::take(&mut self.pending_reports)
            .into_iter()
            .partition::<Vec<_>, _>(|(at, _)| *at <= now);
        self.pending_reports = under_way;
        arrived.into_iter().map(|(_, report)| report).collect()
    }

    /// Advances the clock until a report arrives, at most to `until`.
    fn wait_for_report(&mut self, until: Instant) {
        while self
            .pending_reports
            .iter()
            .all(|(at, _)| *at > self.machine.now)
            && self.machine.now < until
        {
            let mail = self.pending_reports.iter().map(|(at, _)| *at).min();
            let next = self
                .machine
                .next_end()
                .into_iter()
                .chain(mail)
                .fold(until, Instant::min);
            self.machine.advance_to(next);
            self.send_reports();
        }
    }
}

/// An engine on a [`SimHost`]: the caller's end.
pub struct SimEngine {
    host: SimHost,
}

impl SimEngine {
    /// Opens the engine: all unacknowledged reports are delivered again.
    pub fn open(world: &SimHost) -> Self {
        let mut machine = world.lock();
        machine.pending_reports.clear();
        machine.outputs.clear();
        machine.wake = None;
        machine.machine.repeat_reports();
        machine.send_reports();
        drop(machine);
        Self {
            host: world.clone(),
        }
    }

    /// Carries out `call`, or fails it as injected.
    fn call<T>(
        &self,
        name: &'static str,
        call: impl FnOnce(&mut SimHostState) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut machine = self.host.lock();
        if machine.faults.fail_before > 0 {
            machine.faults.fail_before -= 1;
            let reason = "a fault was ordered".to_owned();
            return Err(EngineError::Unreachable { reason });
        }
        let answer = call(&mut machine);
        machine.send_reports();
        if machine.faults.fail_after > 0 {
            machine.faults.fail_after -= 1;
            let after = Duration::from_secs(10);
            return Err(EngineError::TimedOut { call: name, after });
        }
        answer
    }
}

impl Engine for SimEngine {
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        self.call("capacity", |machine| {
            Ok(EngineCapacity {
                nodes: machine.nodes,
                memory_per_node: machine.memory_per_node,
                shares: ShareEnforcement::Simulated,
                pinning: CpuPinning::Simulated,
                memory: MemoryEnforcement::Unenforced,
                processes: ProcessEnforcement::Unenforced,
                tree: TreeTracking::Simulated,
                other_users: true,
                devices: machine.devices.clone(),
            })
        })
    }

    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError> {
        self.call("start", |machine| {
            for launch in launches {
                launch.validate(machine.nodes)?;
            }
            for launch in launches {
                let program = (machine.program_of)(launch);
                machine.machine.start(launch, program);
            }
            Ok(())
        })
    }

    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
        self.call("set_shares", |machine| {
            check_shares(shares)?;
            for &(attempt, share) in shares {
                machine.machine.set_share(attempt, share);
            }
            Ok(())
        })
    }

    fn kill(&mut self, attempts: &[AttemptId], why: KillReason) -> Result<(), EngineError> {
        self.call("kill", |machine| {
            for &attempt in attempts {
                machine.machine.kill(attempt, why);
            }
            Ok(())
        })
    }

    /// Ends the attempts by the signal: a simulated program handles none.
    fn signal(&mut self, attempts: &[AttemptId], signal: WarningSignal) -> Result<(), EngineError> {
        self.call("signal", |machine| {
            for &attempt in attempts {
                machine.machine.end_by_signal(attempt, signal.number());
            }
            Ok(())
        })
    }

    fn suspend(&mut self, attempts: &[AttemptId]) -> Result<Vec<SuspendedAttempt>, EngineError> {
        self.call("suspend", |machine| {
            let suspended = attempts.iter().filter(|it| machine.machine.suspend(**it));
            Ok(suspended
                .map(|attempt| SuspendedAttempt {
                    attempt: *attempt,
                    memory: None,
                    holds_gpu: false,
                })
                .collect())
        })
    }

    fn resume(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.call("resume", |machine| {
            for &attempt in attempts {
                machine.machine.resume(attempt);
            }
            Ok(())
        })
    }

    /// Returns the reports. With a `timeout` the clock advances to the next event, so no real time
    /// passes. With a zero `timeout` it stands still, for a caller that advances it by
    /// [`SimHost::advance_to`]. A failing call loses no report.
    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError> {
        let mut arrived = Vec::new();
        self.call("poll", |machine| {
            let span = i64::try_from(timeout.as_micros()).map_or(Span::MAX, Span::from_micros);
            let until = machine.machine.now + span;
            machine.wait_for_report(until);
            if machine.faults.fail_after == 0 {
                arrived = machine.take_arrived_reports();
            }
            Ok(())
        })?;
        Ok(arrived)
    }

    fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.call("acknowledge", |machine| {
            for &attempt in attempts {
                machine.machine.acknowledge(attempt);
            }
            machine.pending_reports.retain(|(_, report)| {
                matches!(report.event, AttemptEvent::Started(_))
                    || !attempts.contains(&report.attempt)
            });
            Ok(())
        })
    }

    /// Renews the lease. The machine's clock was at zero at its boot. A machine whose lease was
    /// never renewed has none.
    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError> {
        self.call("renew_lease", |machine| {
            let micros = i64::try_from(until.since_boot().as_micros()).unwrap_or(i64::MAX);
            machine.machine.renew_lease(Instant::from_micros(micros));
            Ok(())
        })
    }

    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError> {
        self.call("running", |machine| Ok(machine.machine.running()))
    }

    fn request_outputs(&mut self, reads: &[OutputRead]) -> Result<(), EngineError> {
        self.call("request_outputs", |machine| {
            let answers: Vec<_> = reads.iter().map(|read| machine.read_output(read)).collect();
            machine.outputs.extend(answers);
            Ok(())
        })
    }

    fn take_outputs(&mut self) -> Vec<OutputAnswer> {
        std::mem::take(&mut self.host.lock().outputs)
    }

    fn on_report(&mut self, wake: WakeCallback) {
        self.host.lock().wake = Some(wake);
    }
}
