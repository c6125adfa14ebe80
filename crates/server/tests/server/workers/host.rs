//! A host with a worker.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_engine::SimHost;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_model::{AttemptId, Instant, Span};
use tollgate_workers::agent::{DesktopSettings, HostPresence};
use tollgate_workers::departure::WorkerEnd;
use tollgate_workers::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};

use super::network::{NetworkDelivery, SimNetwork};
use crate::simulation::engine::{AckTrackingEngine, AcknowledgedAttempts};
use crate::simulation::lies::ReportFalsifier;

/// Time for which tasks are suspended on a desktop before they are evicted.
const SUSPEND_FOR: Duration = Duration::from_secs(8);
/// Time without a task after which a pilot leaves.
const PILOT_IDLE: Duration = Duration::from_secs(20);

pub(super) struct WorkerHost {
    number: usize,
    /// Contents of the disk: an identity that is drawn once, and the worker's persistent state.
    identity: String,
    disk: Arc<Mutex<AgentPersistentState>>,
    pub(super) world: SimHost,
    acknowledged: AcknowledgedAttempts,
    falsifier: ReportFalsifier,
    worker_agent: Option<WorkerAgent<AckTrackingEngine>>,
    /// Whether the worker leaves by itself.
    is_pilot: bool,
    /// The use of the host by others, which goes on when its worker ends.
    presence: HostPresence,
    pub(super) line: Option<u64>,
    /// Deliveries that arrived while the worker is stopped; None while it is not.
    stopped: Option<Vec<(u64, NetworkDelivery)>>,
    dial_at: Duration,
}

impl WorkerHost {
    pub(super) fn new(
        number: usize,
        live: u32,
        (acknowledged, falsifier): (&AcknowledgedAttempts, &ReportFalsifier),
        now: Instant,
    ) -> Self {
        let world = SimHost::new(2, 1 << 30, SimProgram::of_command);
        world.advance_to(now);
        Self {
            number,
            identity: format!("host {number}, disk {live}"),
            disk: Arc::default(),
            world,
            acknowledged: Arc::clone(acknowledged),
            falsifier: falsifier.clone(),
            worker_agent: None,
            is_pilot: false,
            presence: HostPresence::default(),
            line: None,
            stopped: None,
            dial_at: Duration::ZERO,
        }
    }

    /// Starts the worker if it is not running.
    pub(super) fn start(&mut self) {
        self.start_until(None);
    }

    /// Starts a pilot if no worker is running: one that ends at a known time, or when it is idle.
    pub(super) fn start_pilot(&mut self, until: Duration) {
        let end = WorkerEnd {
            until: instant(until),
            since_boot: until,
        };
        self.start_until(Some(end));
    }

    /// Returns the name of the pilots here. A new pilot takes the place of one that is gone.
    pub(super) fn pilot_name(&self) -> String {
        format!("pilot on {}", self.identity)
    }

    /// Kills a worker that would leave by itself.
    pub(super) fn kill_pilot(&mut self, network: &SimNetwork) {
        if self.is_pilot {
            self.kill_worker(network);
        }
    }

    fn start_until(&mut self, end: Option<WorkerEnd>) {
        if self.worker_agent.is_some() {
            return;
        }
        let (world, acknowledged) = (self.world.clone(), Arc::clone(&self.acknowledged));
        let falsifier = self.falsifier.clone();
        let disk = Arc::clone(&self.disk);
        let kit = AgentConfig {
            desktop: self.is_desktop(end).then_some(DesktopSettings {
                suspend_for: SUSPEND_FOR,
                suspend_memory: None,
                presence: self.presence,
                facts: Vec::new(),
            }),
            identity: self.identity.clone(),
            name: match end {
                Some(_) => self.pilot_name(),
                None => format!("host {}", self.number),
            },
            user: "me".to_owned(),
            all_users: false,
            root_jobs: false,
            site: end.map(|_| "site".to_owned()),
            end,
            max_idle: end.map(|_| PILOT_IDLE),
            is_pilot: end.is_some(),
            environment: Box::new(|_| Vec::new()),
            probe: None,
            open_engine: Box::new(move |_| {
                Ok(AckTrackingEngine::open(&world, &acknowledged).lying(&falsifier))
            }),
            resolve_owner: Box::new(|owner| match owner {
                "me" => Ok(None),
                other => Err(format!("{other} is not me")),
            }),
            access: tollgate_engine::SpreadAccess {
                program: "/opt/tollgate".into(),
                socket: "/run/spread".into(),
                service: None,
            },
            write_state: Box::new(move |memory| {
                disk.lock().unwrap().clone_from(memory);
                Ok(())
            }),
        };
        let memory = self.disk.lock().unwrap().clone();
        self.is_pilot = end.is_some();
        self.worker_agent = Some(WorkerAgent::new(kit, memory));
    }

    /// Kills the worker; its jobs keep running. The network decides whether the service notices.
    pub(super) fn kill_worker(&mut self, network: &SimNetwork) {
        self.worker_agent = None;
        self.stopped = None;
        if let Some(line) = self.line.take() {
            network.send(line, NetworkDelivery::ServiceClosed);
        }
    }

    /// Switches the host off: its jobs are lost, and no message reports the loss.
    pub(super) fn switch_off(&mut self) {
        self.worker_agent = None;
        self.stopped = None;
        self.line = None;
        for running in self.world.running() {
            self.world.mark_lost(running.attempt);
        }
    }

    /// Returns whether people work at the host: at every second one, unless it runs a pilot.
    fn is_desktop(&self, end: Option<WorkerEnd>) -> bool {
        self.number % 2 == 1 && end.is_none()
    }

    /// Lets a person come to the host or leave it, or another program; a worker that is stopped or down does not see it.
    pub(super) fn set_presence(&mut self, presence: HostPresence, now: Duration) {
        self.presence = presence;
        if let Some(agent) = self
            .worker_agent
            .as_mut()
            .filter(|_| self.stopped.is_none())
        {
            agent.set_presence(presence, now);
        }
    }

    /// Stops the worker, as Ctrl-Z does: the connection and the engine stay open.
    pub(super) fn stop_worker(&mut self) {
        if self.worker_agent.is_some() && self.stopped.is_none() {
            self.stopped = Some(Vec::new());
        }
    }

    /// Continues a stopped worker, which then sees the present use of its host and receives all pending deliveries at once.
    pub(super) fn resume_worker(&mut self, network: &SimNetwork, now: Duration) {
        let Some(deliveries) = self.stopped.take() else {
            return;
        };
        self.set_presence(self.presence, now);
        for (line, parcel) in deliveries {
            self.on_delivery(line, parcel, network, now);
        }
    }

    /// Ends all attempts of a pilot by a signal, as its batch system does that ends the pilot as well. Returns
    /// the attempts; none if this is no pilot.
    pub(super) fn signal_all(&mut self, signal: u8) -> Vec<AttemptId> {
        if !self.is_pilot || self.worker_agent.is_none() {
            return Vec::new();
        }
        let running = self.world.running().into_iter();
        let running: Vec<AttemptId> = running.map(|running| running.attempt).collect();
        for &attempt in &running {
            self.world.end_by_signal(attempt, signal);
        }
        running
    }

    /// Asks the worker to leave for good.
    pub(super) fn request_departure(&mut self) {
        if let Some(worker_agent) = &mut self.worker_agent {
            worker_agent.request_departure();
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.worker_agent.is_some()
    }

    pub(super) fn is_registered(&self) -> bool {
        self.worker_agent
            .as_ref()
            .is_some_and(WorkerAgent::is_registered)
    }

    /// Runs one tick of the worker and its runner, which has a lease to renew. Returns a new
    /// connection, if any.
    pub(super) fn tick(
        &mut self,
        network: &SimNetwork,
        now: Duration,
    ) -> Option<(u64, Box<dyn tollgate_workers::FrameSink>)> {
        self.world.advance_to(instant(now));
        if self.stopped.is_some() {
            return None;
        }
        let dials = self.line.is_none() && now >= self.dial_at;
        let worker_agent = self.worker_agent.as_mut()?;
        let line = dials.then(|| network.connect(self.number)).flatten();
        if let Some((number, _)) = &line {
            self.line = Some(*number);
            worker_agent.connected(now);
        }
        let left = worker_agent.tick(now, instant(now)).err();
        self.after(left, network, now);
        if self
            .worker_agent
            .as_mut()
            .is_some_and(WorkerAgent::has_left)
        {
            self.kill_worker(network);
        }
        line
    }

    /// Delivers a frame of the service.
    pub(super) fn on_delivery(
        &mut self,
        line: u64,
        parcel: NetworkDelivery,
        network: &SimNetwork,
        now: Duration,
    ) {
        if let Some(arrived) = &mut self.stopped {
            arrived.push((line, parcel));
            return;
        }
        let current = self.line == Some(line);
        let Some(worker_agent) = self.worker_agent.as_mut().filter(|_| current) else {
            return;
        };
        let left = match parcel {
            NetworkDelivery::Worker(frame) => worker_agent.on_frame(frame, now).err(),
            NetworkDelivery::WorkerClosed => Some(DisconnectReason::Reconnect("closed".to_owned())),
            NetworkDelivery::Service(_) | NetworkDelivery::ServiceClosed => None,
        };
        self.after(left, network, now);
    }

    fn after(&mut self, left: Option<DisconnectReason>, network: &SimNetwork, now: Duration) {
        let Some(worker_agent) = &mut self.worker_agent else {
            return;
        };
        if let Some(DisconnectReason::Refused(why)) = &left {
            panic!("refused: {why}");
        }
        for frame in worker_agent.drain_outgoing() {
            if let Some(line) = self.line {
                network.send(line, NetworkDelivery::Service(frame));
            }
        }
        if left.is_some() {
            worker_agent.disconnected();
            self.dial_at = now + Duration::from_secs(1);
            if let Some(line) = self.line.take() {
                network.send(line, NetworkDelivery::ServiceClosed);
            }
        }
    }
}

/// Converts a time of the simulation to an instant of the hosts.
pub(super) fn instant(now: Duration) -> Instant {
    let micros = i64::try_from(now.as_micros()).expect("a short run");
    Instant::ZERO + Span::from_micros(micros)
}
