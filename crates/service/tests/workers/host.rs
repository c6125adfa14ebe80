//! A host with a worker on it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_engine::SimHost;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_model::{Instant, Span};
use tollgate_service::workers::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};

use crate::engine::{AckTrackingEngine, AcknowledgedAttempts};
use crate::network::{NetworkDelivery, SimNetwork};

pub(super) struct WorkerHost {
    number: usize,
    /// What is on its disk: a name that is drawn once, and what the worker remembers.
    identity: String,
    disk: Arc<Mutex<AgentPersistentState>>,
    pub(super) world: SimHost,
    acknowledged: AcknowledgedAttempts,
    hand: Option<WorkerAgent<AckTrackingEngine>>,
    pub(super) line: Option<u64>,
    /// What has arrived since the worker was stopped; None while it goes on.
    stopped: Option<Vec<(u64, NetworkDelivery)>>,
    dial_at: Duration,
}

impl WorkerHost {
    pub(super) fn new(
        number: usize,
        life: u32,
        acknowledged: &AcknowledgedAttempts,
        now: Instant,
    ) -> Self {
        let world = SimHost::new(2, 1 << 30, SimProgram::of_command);
        world.advance_to(now);
        Self {
            number,
            identity: format!("host {number}, disk {life}"),
            disk: Arc::default(),
            world,
            acknowledged: Arc::clone(acknowledged),
            hand: None,
            line: None,
            stopped: None,
            dial_at: Duration::ZERO,
        }
    }

    /// Starts the worker, if there is none.
    pub(super) fn start(&mut self) {
        if self.hand.is_some() {
            return;
        }
        let (world, acknowledged) = (self.world.clone(), Arc::clone(&self.acknowledged));
        let disk = Arc::clone(&self.disk);
        let kit = AgentConfig {
            identity: self.identity.clone(),
            name: format!("host {}", self.number),
            user: "me".to_owned(),
            all_users: false,
            root_jobs: false,
            open_engine: Box::new(move |_| Ok(AckTrackingEngine::open(&world, &acknowledged))),
            resolve_owner: Box::new(|owner| match owner {
                "me" => Ok(None),
                other => Err(format!("{other} is not me")),
            }),
            write_state: Box::new(move |memory| {
                disk.lock().unwrap().clone_from(memory);
                Ok(())
            }),
        };
        let memory = self.disk.lock().unwrap().clone();
        self.hand = Some(WorkerAgent::new(kit, memory));
    }

    /// Kills the worker; what it runs goes on. Whether the other side notices is up to the network.
    pub(super) fn kill_worker(&mut self, network: &SimNetwork) {
        self.hand = None;
        self.stopped = None;
        if let Some(line) = self.line.take() {
            network.send(line, NetworkDelivery::ServiceClosed);
        }
    }

    /// Switches the host off: what runs is lost, and nobody says so.
    pub(super) fn switch_off(&mut self) {
        self.hand = None;
        self.stopped = None;
        self.line = None;
        for running in self.world.running() {
            self.world.mark_lost(running.attempt);
        }
    }

    /// Stops the worker, as Ctrl-Z does: its connection stays, and so does its end of the engine.
    pub(super) fn stop_worker(&mut self) {
        if self.hand.is_some() && self.stopped.is_none() {
            self.stopped = Some(Vec::new());
        }
    }

    /// Lets a worker go on that was stopped: it hears all at once what has arrived.
    pub(super) fn resume_worker(&mut self, network: &SimNetwork, now: Duration) {
        for (line, parcel) in self.stopped.take().unwrap_or_default() {
            self.on_delivery(line, parcel, network, now);
        }
    }

    /// Asks the worker to go for good.
    pub(super) fn ask_to_leave(&mut self) {
        if let Some(hand) = &mut self.hand {
            hand.request_departure();
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.hand.is_some()
    }

    pub(super) fn is_registered(&self) -> bool {
        self.hand.as_ref().is_some_and(WorkerAgent::is_registered)
    }

    /// A moment of the worker's life, and of its runner's, which has a lease to keep. A new connection, if
    /// there is one.
    pub(super) fn tick(
        &mut self,
        network: &SimNetwork,
        now: Duration,
    ) -> Option<(u64, Box<dyn tollgate_service::workers::FrameSink>)> {
        self.world.advance_to(instant(now));
        if self.stopped.is_some() {
            return None;
        }
        let dials = self.line.is_none() && now >= self.dial_at;
        let hand = self.hand.as_mut()?;
        let line = dials.then(|| network.connect(self.number)).flatten();
        if let Some((number, _)) = &line {
            self.line = Some(*number);
            hand.connected(now);
        }
        let left = hand.tick(now, instant(now)).err();
        self.after(left, network, now);
        if self.hand.as_mut().is_some_and(WorkerAgent::has_left) {
            self.kill_worker(network);
        }
        line
    }

    /// A word of the service.
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
        let Some(hand) = self.hand.as_mut().filter(|_| current) else {
            return;
        };
        let left = match parcel {
            NetworkDelivery::Worker(frame) => hand.on_frame(frame, now).err(),
            NetworkDelivery::WorkerClosed => Some(DisconnectReason::Reconnect("closed".to_owned())),
            NetworkDelivery::Service(_) | NetworkDelivery::ServiceClosed => None,
        };
        self.after(left, network, now);
    }

    fn after(&mut self, left: Option<DisconnectReason>, network: &SimNetwork, now: Duration) {
        let Some(hand) = &mut self.hand else {
            return;
        };
        if let Some(DisconnectReason::Refused(why)) = &left {
            panic!("refused: {why}");
        }
        for frame in hand.drain_outgoing() {
            if let Some(line) = self.line {
                network.send(line, NetworkDelivery::Service(frame));
            }
        }
        if left.is_some() {
            hand.disconnected();
            self.dial_at = now + Duration::from_secs(1);
            if let Some(line) = self.line.take() {
                network.send(line, NetworkDelivery::ServiceClosed);
            }
        }
    }
}

/// A time of the simulation as an instant of its worlds.
pub(super) fn instant(now: Duration) -> Instant {
    let micros = i64::try_from(now.as_micros()).expect("a short run");
    Instant::ZERO + Span::from_micros(micros)
}
