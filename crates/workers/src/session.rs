//! The server side of a worker's session: handshake, heartbeats and reports.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_engine::{Engine, EngineCapacity};
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, Instant, KillReason};

use crate::black_hole::FailedStarts;
use crate::entry::{
    ConnectionEvent, ConnectionEventKind, HandshakeStage, WorkerConnection, WorkerEntry,
};
use crate::parts::{PartCall, PartOrigin};
use crate::pool::{JobOwners, WorkerPool};
use crate::protocol::{
    SequenceCheck, SequenceCounter, ServerMessage, VERSION, WorkerFrame, WorkerHello, WorkerMessage,
};
use crate::registry::WorkerVacancy;

/// Maximum length of a worker's name, in bytes.
const MAX_NAME_LEN: usize = 64;
/// Name of the user whose jobs run only on workers that allow them explicitly.
const ROOT: &str = "root";
/// Maximum number of nodes of one worker. A larger offer is a mistake or an attack.
const MAX_NODES: u32 = 4096;

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl<E: Engine> WorkerPool<E> {
    /// Handles an event of a connection. Returns false if the connection is to be closed.
    pub fn on_connection_event(&mut self, event: ConnectionEvent) -> bool {
        match event.kind {
            ConnectionEventKind::Opened(line) => {
                let connection = WorkerConnection {
                    sink: line,
                    received: SequenceCounter::default(),
                    sent: SequenceCounter::default(),
                    stage: HandshakeStage::New,
                };
                self.connections.insert(event.connection, connection);
            }
            ConnectionEventKind::Received(frame) => self.on_frame(event.connection, frame),
            ConnectionEventKind::Closed => self.disconnect(event.connection),
        }
        self.connections.contains_key(&event.connection)
    }

    /// Closes a connection.
    pub fn disconnect(&mut self, line: u64) {
        self.connections.remove(&line);
        let mut cut_off = BTreeSet::new();
        for (&worker, worker_entry) in &mut self.workers {
            if worker_entry.connection == Some(line) {
                cut_off.insert(worker);
            }
            worker_entry.connection = worker_entry.connection.filter(|&other| other != line);
            worker_entry.offer = worker_entry.offer.filter(|&other| other != line);
        }
        if !cut_off.is_empty() {
            self.forget_reads(&cut_off);
        }
    }

    fn on_frame(&mut self, line: u64, frame: WorkerFrame<WorkerMessage>) {
        let Some(connection) = self.connections.get_mut(&line) else {
            return;
        };
        match connection.received.check(frame.seq) {
            SequenceCheck::Next => {}
            SequenceCheck::Duplicate => return,
            SequenceCheck::Gap => return self.disconnect(line),
        }
        let stage = connection.stage;
        match (stage, frame.message) {
            (HandshakeStage::New, WorkerMessage::Hello(hello)) => self.on_hello(line, hello),
            (
                HandshakeStage::Identified(worker, goes_on),
                WorkerMessage::Offer {
                    capacity,
                    running,
                    until,
                    desktop,
                },
            ) => {
                if let Some(entry) = self.workers.get_mut(&worker) {
                    entry.in_use = desktop.as_ref().and_then(|desktop| desktop.in_use);
                    entry.desktop = desktop.map(|desktop| desktop.facts);
                }
                self.on_offer(line, worker, goes_on, capacity, (running, until));
            }
            (
                HandshakeStage::Identified(worker, _) | HandshakeStage::Offered(worker),
                WorkerMessage::Beat(number),
            ) => {
                // A worker without an incarnation yet has none to lose.
                let message = match frame.incarnation == 0
                    || self.record_contact(worker, frame.incarnation)
                {
                    true => ServerMessage::Beat(number),
                    false => ServerMessage::Over,
                };
                self.reply(line, frame.incarnation, message);
            }
            (HandshakeStage::Offered(worker), WorkerMessage::Reports(reports)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_reports(worker, reports),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (HandshakeStage::Offered(worker), WorkerMessage::Outputs(answers)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_outputs(worker, answers),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (HandshakeStage::Offered(worker), WorkerMessage::Until(until)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_new_end(worker, until),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (HandshakeStage::Offered(worker), WorkerMessage::InUse(cause)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_use(worker, cause),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (HandshakeStage::Offered(worker), WorkerMessage::Slowed(slowdown)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_slowdown(worker, slowdown),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (HandshakeStage::Offered(worker), WorkerMessage::Leaving(notice)) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => self.on_notice(worker, notice),
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            (
                HandshakeStage::Offered(worker),
                WorkerMessage::Part {
                    call,
                    user,
                    request,
                },
            ) => match self.record_contact(worker, frame.incarnation) {
                true => self.request_part(PartCall {
                    user,
                    request,
                    origin: PartOrigin::Worker(worker, call),
                }),
                false => self.reply(line, frame.incarnation, ServerMessage::Over),
            },
            (HandshakeStage::Offered(worker), WorkerMessage::Leave) => {
                match self.record_contact(worker, frame.incarnation) {
                    true => {
                        let worker_entry = self.workers.get_mut(&worker);
                        worker_entry
                            .into_iter()
                            .for_each(|worker_entry| worker_entry.has_left = true);
                    }
                    false => self.reply(line, frame.incarnation, ServerMessage::Over),
                }
            }
            // Any other message breaks the protocol.
            _ => self.disconnect(line),
        }
    }

    fn reply(&mut self, line: u64, epoch: u32, message: ServerMessage) {
        let last = matches!(message, ServerMessage::Over | ServerMessage::Refused(_));
        let connection = self.connections.get_mut(&line);
        let sent = connection.is_some_and(|connection| connection.send(epoch, message));
        if last || !sent {
            self.disconnect(line);
        }
    }

    /// Records that an incarnation goes on. Returns false if it is over.
    fn record_contact(&mut self, worker: WorkerId, epoch: u32) -> bool {
        let now = (self.ticks)();
        let worker_entry = self.workers.get_mut(&worker);
        let worker_entry = worker_entry.filter(|worker_entry| {
            worker_entry
                .incarnation
                .is_some_and(|live| live.number == epoch)
        });
        let is_so = worker_entry.is_some();
        worker_entry
            .into_iter()
            .for_each(|worker_entry| worker_entry.last_contact = now);
        is_so
    }

    fn on_hello(&mut self, line: u64, hello: WorkerHello) {
        if let Err(why) = self.check_hello(&hello) {
            return self.reply(line, 0, ServerMessage::Refused(why));
        }
        let entries = &self.workers;
        // One that has said hello and offered nothing yet is there, too.
        let connections = &self.connections;
        let vacancy = |worker| {
            let mut stages = connections.values().map(|connection| connection.stage);
            match entries.get(&worker) {
                _ if stages.any(|stage| stage.worker() == Some(worker)) => WorkerVacancy::None,
                None => WorkerVacancy::Clean,
                Some(entry) => entry.vacancy(),
            }
        };
        let entered = self.registry.register(&hello, vacancy);
        let (Ok(worker), Some(pool_config)) = (entered, &self.pool_config) else {
            // The disk may be full; the worker connects again.
            return self.disconnect(line);
        };
        let now = (self.ticks)();
        let worker_entry = self
            .workers
            .entry(worker)
            .or_insert_with(|| WorkerEntry::new(now));
        if worker_entry.vacancy() == WorkerVacancy::Clean {
            // It may be another host than before.
            worker_entry.failed_starts = FailedStarts::default();
        }
        worker_entry.site = hello.site;
        let same = hello.service.as_ref() == Some(&pool_config.service);
        let goes_on = same
            && worker_entry
                .incarnation
                .is_some_and(|live| live.number == hello.incarnation);
        let welcome = ServerMessage::Welcome {
            service: pool_config.service.clone(),
            grace_ms: millis(pool_config.lease.grace),
            goes_on,
            load_interval_ms: self
                .local_meter
                .as_ref()
                .map(|meter| millis(meter.interval())),
        };
        let older: Vec<u64> = self.connections_of(worker).collect();
        for older in older {
            self.disconnect(older);
        }
        if goes_on && let Some(worker_entry) = self.workers.get_mut(&worker) {
            worker_entry.last_contact = now;
        }
        if let Some(connection) = self.connections.get_mut(&line) {
            connection.stage = HandshakeStage::Identified(worker, goes_on);
        }
        let epoch = if goes_on { hello.incarnation } else { 0 };
        self.reply(line, epoch, welcome);
    }

    /// Returns the connections on which this worker has identified itself.
    fn connections_of(&self, worker: WorkerId) -> impl Iterator<Item = u64> + '_ {
        let lines = self.connections.iter();
        lines
            .filter(move |(_, connection)| connection.stage.worker() == Some(worker))
            .map(|(&line, _)| line)
    }

    fn check_hello(&self, hello: &WorkerHello) -> Result<(), String> {
        let Some(pool_config) = &self.pool_config else {
            return Err("this service accepts no workers".to_owned());
        };
        if hello.version != VERSION {
            let theirs = hello.version;
            return Err(format!(
                "protocol version mismatch: the worker has {theirs}, the service {VERSION}"
            ));
        }
        let is_plain_site = hello.site.as_ref().is_none_or(|site| is_plain(site));
        if !is_plain(&hello.name) || !is_plain(&hello.identity) || !is_plain_site {
            return Err(format!(
                "expected a name of 1 to {MAX_NAME_LEN} bytes without control characters"
            ));
        }
        let other = |service: &String| *service != pool_config.service;
        if hello.service.as_ref().is_some_and(other) {
            return Err("the worker's directory belongs to another service".to_owned());
        }
        match &pool_config.owners {
            JobOwners::Own(own) if own == ROOT && !hello.root_jobs => {
                Err("the service runs jobs of root: the worker needs `--root-jobs`".to_owned())
            }
            _ if hello.all_users => Ok(()),
            JobOwners::Own(own) if *own == hello.user => Ok(()),
            JobOwners::Own(own) => Err(format!(
                "the service runs jobs of user {own}, but the worker only jobs of user {}",
                hello.user
            )),
            JobOwners::All => Err(format!(
                "the service runs jobs of every user, but the worker only jobs of user {}",
                hello.user
            )),
        }
    }

    fn on_offer(
        &mut self,
        line: u64,
        worker: WorkerId,
        goes_on: bool,
        capacity: EngineCapacity,
        (running, until): (Vec<AttemptId>, Option<Instant>),
    ) {
        let Some(worker_entry) = self.workers.get_mut(&worker) else {
            return;
        };
        let nodes = capacity.nodes;
        let epoch = worker_entry.incarnation_number();
        // The incarnation may have ended since the welcome.
        let fits = worker_entry
            .incarnation
            .is_some_and(|live| live.nodes.len == nodes);
        if !(1..=MAX_NODES).contains(&nodes) {
            let why = format!("expected a worker with 1 to {MAX_NODES} nodes, found {nodes}");
            return self.reply(line, epoch, ServerMessage::Refused(why));
        }
        if !capacity.devices.keys().all(|name| is_plain(name)) {
            let why = format!(
                "expected names of devices of 1 to {MAX_NAME_LEN} bytes without control characters"
            );
            return self.reply(line, epoch, ServerMessage::Refused(why));
        }
        if (goes_on && !fits) || (!goes_on && !running.is_empty()) {
            return self.reply(line, epoch, ServerMessage::Over);
        }
        worker_entry.capacity = Some(capacity);
        worker_entry.until = until;
        worker_entry.slowdown = None;
        worker_entry.is_end_new = goes_on;
        // A worker that still leaves repeats its notice.
        worker_entry.is_leaving = false;
        if goes_on {
            let running: BTreeSet<AttemptId> = running.into_iter().collect();
            worker_entry.connection = Some(line);
            worker_entry.reported_running = Some(running.clone());
            // Comes before anything else is sent there, as new attempts are not in this report.
            self.reconcile_running(worker, &running);
        } else {
            worker_entry.offer = Some(line);
        }
        if let Some(connection) = self.connections.get_mut(&line) {
            connection.stage = HandshakeStage::Offered(worker);
        }
        if goes_on {
            self.reply(line, epoch, ServerMessage::Taken);
            self.continue_collections(worker);
        }
    }

    /// Takes reports of attempts. Reports of attempts that were never sent to this worker are
    /// ignored; repeated ends of finished attempts are acknowledged, so that the worker stops
    /// reporting them.
    fn on_reports(&mut self, worker: WorkerId, reports: Vec<AttemptReport>) {
        let is_its = |report: &AttemptReport| {
            let location = self.locations.get(&report.attempt);
            location.is_some_and(|location| location.worker == worker)
        };
        let (its, others): (Vec<_>, Vec<_>) = reports.into_iter().partition(is_its);
        let is_of_one_user = matches!(
            self.pool_config.as_ref().map(|config| &config.owners),
            Some(JobOwners::Own(_))
        );
        if let Some(entry) = self.workers.get_mut(&worker) {
            its.iter()
                .for_each(|report| entry.failed_starts.count(report, is_of_one_user));
        }
        self.collect_outputs(worker, &its);
        let is_desktop = self
            .workers
            .get(&worker)
            .is_some_and(|entry| entry.desktop.is_some());
        let its = its.into_iter();
        self.inbox
            .extend(its.map(|report| lost_if_evicted(report, is_desktop)));
        let done = self.set_repeated_ends_aside(worker, others);
        if !done.is_empty() {
            self.send(worker, ServerMessage::Acknowledge(done));
        }
    }
}

/// Returns whether a name is short, and shown as it is on a terminal.
fn is_plain(name: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len()) && !name.contains(char::is_control)
}

/// Turns an eviction into a loss: a task that was ended because its worker lost contact or left, or
/// its host did, has not finished. Only attempts on a desktop give way and are evicted for another cause.
pub(crate) fn lost_if_evicted(report: AttemptReport, is_desktop: bool) -> AttemptReport {
    let is_lost = |killed: Option<KillReason>| match killed {
        Some(KillReason::Evicted) => true,
        Some(reason) => reason.eviction_cause().is_some() && !is_desktop,
        None => false,
    };
    match report.event {
        AttemptEvent::Ended(ended) if is_lost(ended.killed) => AttemptReport {
            event: AttemptEvent::Lost { at: ended.at },
            ..report
        },
        AttemptEvent::Started(_) | AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => report,
    }
}

#[cfg(test)]
mod tests;
