//! The nodes of a batch system, as workers inside the service. Each has a name, capacity and incarnations of
//! its own, and comes and goes like a worker on another host. Only the network between is missing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as MonotonicInstant};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tollgate_batch_engine::{BatchEngine, BatchSystem, BatchSystemError};
use tollgate_engine::{BootTime, Engine, SpreadAccess};
use tollgate_host::{read_state_file, replace_private};
use tollgate_model::AttemptId;
use tollgate_store::data_dir::random_identity;
use tollgate_workers::agent::{AgentConfig, AgentPersistentState, DisconnectReason, WorkerAgent};
use tollgate_workers::protocol::{ServerMessage, WorkerFrame, WorkerMessage};
use tollgate_workers::{ConnectionEvent, ConnectionEventKind, FrameSink};

use super::WorkerAcceptor;
use super::probe::{self, ProbeError};
use crate::controller::{ControllerHandle, ControllerRequest};
use crate::wall_clock;

/// The interval at which nodes are looked for, and the longest wait of a node.
const NODE_INTERVAL: Duration = Duration::from_secs(5);
/// The waits before a node is offered again; the last one repeats.
const RETRY_DELAYS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(60),
];
/// Stack size of the thread of a node.
const STACK_BYTES: usize = 512 << 10;

/// The nodes of a batch system.
pub(crate) struct BatchNodes {
    /// The batch system.
    pub(crate) system: Arc<BatchSystem>,
    /// The controller that the nodes are offered to.
    pub(crate) controller: ControllerHandle,
    /// The numbers of connections.
    pub(crate) acceptor: WorkerAcceptor,
    /// Name of the service's own user.
    pub(crate) user: String,
    /// The access of tasks to their other hosts.
    pub(crate) access: SpreadAccess,
    /// The directory of the nodes' files.
    pub(crate) dir: PathBuf,
}

/// Runs a trivial task on a node, unless attempts of an earlier service are under way: then it has run one.
///
/// # Errors
/// If the task does not run, as where the node does not see the directory of attempts or the program.
pub(crate) fn check(system: &Arc<BatchSystem>, program: &Path) -> Result<(), BatchSystemError> {
    let nodes = system.nodes();
    let Some(node) = nodes.iter().find(|node| node.is_up) else {
        return Ok(());
    };
    if !system.is_idle() {
        return Ok(());
    }
    let program = program.as_os_str().to_owned();
    let probed = run_probe(system, &mut system.engine(&node.name), &node.name, &program);
    match probed {
        Ok(()) => Ok(()),
        // Other jobs may run there, and end.
        Err(error @ ProbeError::TimedOut) => {
            tracing::warn!(node = node.name, %error, "the nodes may be in use by others");
            Ok(())
        }
        Err(ProbeError::Failed(reason)) => Err(BatchSystemError::Probe {
            node: node.name.clone(),
            reason,
        }),
    }
}

fn run_probe(
    system: &BatchSystem,
    engine: &mut BatchEngine,
    node: &str,
    program: &OsString,
) -> Result<(), ProbeError> {
    let nodes = system.nodes();
    let place = nodes
        .iter()
        .position(|other| other.name == node)
        .unwrap_or(nodes.len());
    let seconds = wall_clock::now().as_micros().div_euclid(1_000_000);
    // All nodes share one directory, and no id is used twice.
    let attempt = AttemptId {
        job: 0,
        task: u32::try_from(place).unwrap_or(u32::MAX),
        attempt: u32::try_from(seconds).unwrap_or(u32::MAX),
    };
    probe::run(engine, attempt, program, Path::new("/"))
}

impl BatchNodes {
    /// Offers the nodes from now on, in threads of their own, until the controller stops.
    ///
    /// # Errors
    /// If no thread can be started, or the directory cannot be created.
    pub(crate) fn start(self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let thread = thread::Builder::new().name("nodes".to_owned());
        thread.spawn(move || self.run()).map(drop)
    }

    fn run(self) {
        let mut known: BTreeSet<String> = BTreeSet::new();
        loop {
            for node in self.system.nodes() {
                if known.contains(&node.name) {
                    continue;
                }
                match self.start_node(&node.name) {
                    Ok(()) => drop(known.insert(node.name)),
                    Err(error) => {
                        let node = node.name;
                        tracing::error!(%node, %error, "the node cannot be offered");
                    }
                }
            }
            thread::sleep(NODE_INTERVAL);
            let (reply, answer) = oneshot::channel();
            self.controller.send(ControllerRequest::Ping { reply });
            if answer.blocking_recv().is_err() {
                return;
            }
        }
    }

    fn start_node(&self, name: &str) -> io::Result<()> {
        let path = self.dir.join(format!("{name}.json"));
        let file = read_file(&path)?;
        let (waker, wakes) = mpsc::sync_channel(1);
        let file = Arc::new(Mutex::new(file));
        let node = BatchNodeWorker {
            name: name.to_owned(),
            agent: self.agent(name, &path, &file, &waker),
            system: Arc::clone(&self.system),
            controller: self.controller.clone(),
            acceptor: self.acceptor.clone(),
            file,
            path,
            line: None,
            retry_at: MonotonicInstant::now(),
            failures: 0,
            waker,
            wakes,
            began: (BootTime::now().since_boot(), MonotonicInstant::now()),
        };
        let thread = thread::Builder::new()
            .name(format!("node {name}"))
            .stack_size(STACK_BYTES);
        thread.spawn(move || node.run()).map(drop)
    }

    fn agent(
        &self,
        name: &str,
        path: &Path,
        file: &Arc<Mutex<BatchNodeFile>>,
        waker: &SyncSender<()>,
    ) -> WorkerAgent<BatchEngine> {
        let (system, waker) = (Arc::clone(&self.system), waker.clone());
        let queried = Arc::clone(&system);
        let (node, probed) = (name.to_owned(), name.to_owned());
        let program = self.access.program.as_os_str().to_owned();
        let own = self.user.clone();
        let memory = lock(file);
        let (identity, state) = (memory.identity.clone(), memory.state.clone());
        drop(memory);
        let (path, file) = (path.to_owned(), Arc::clone(file));
        let config = AgentConfig {
            identity,
            name: name.to_owned(),
            user: own.clone(),
            all_users: false,
            root_jobs: true,
            site: None,
            end: None,
            max_idle: None,
            desktop: None,
            is_pilot: false,
            environment: {
                let described = vec![("TOLLGATE_WORKER".into(), name.into())];
                Box::new(move |_| described.clone())
            },
            open_engine: Box::new(move |_| {
                let mut engine = system.engine(&node);
                let waker = waker.clone();
                engine.on_report(Arc::new(move || {
                    let _ = waker.try_send(());
                }));
                Ok(engine)
            }),
            probe: Some(Box::new(move |engine| {
                let ran = run_probe(&queried, engine, &probed, &program);
                ran.map_err(|error| error.to_string())
            })),
            resolve_owner: Box::new(move |owner| match owner == own {
                true => Ok(None),
                false => Err(format!("the batch system runs jobs of {own} only")),
            }),
            access: self.access.clone(),
            write_state: Box::new(move |state| {
                let mut memory = lock(&file);
                memory.state = state.clone();
                write_file(&path, &memory)
            }),
        };
        WorkerAgent::new(config, state)
    }
}

/// The stored state of a node.
#[derive(Debug, Serialize, Deserialize)]
struct BatchNodeFile {
    identity: String,
    #[serde(flatten)]
    state: AgentPersistentState,
    /// Whether the service drained the node, because the batch system reported it as down.
    #[serde(default)]
    is_drained: bool,
}

/// The controller has stopped.
struct ControllerStopped;

/// A node of a batch system as a worker.
struct BatchNodeWorker {
    name: String,
    agent: WorkerAgent<BatchEngine>,
    system: Arc<BatchSystem>,
    controller: ControllerHandle,
    acceptor: WorkerAcceptor,
    file: Arc<Mutex<BatchNodeFile>>,
    path: PathBuf,
    /// The connection to the controller: its number, and the messages from there.
    line: Option<(u64, Receiver<WorkerFrame<ServerMessage>>)>,
    retry_at: MonotonicInstant,
    failures: usize,
    waker: SyncSender<()>,
    wakes: Receiver<()>,
    /// One moment by the clock since the boot and by the one that stands still while the host sleeps. The
    /// controller sleeps with this thread.
    began: (Duration, MonotonicInstant),
}

impl BatchNodeWorker {
    fn run(mut self) {
        while self.turn().is_ok() {
            let wait = match self.line {
                Some(_) => self.agent.max_idle(self.clock()).min(NODE_INTERVAL),
                None => self
                    .retry_at
                    .saturating_duration_since(MonotonicInstant::now()),
            };
            // A node that is down is looked at again and again.
            let wait = wait.clamp(Duration::from_millis(5), NODE_INTERVAL);
            let _ = self.wakes.recv_timeout(wait);
        }
    }

    fn clock(&self) -> Duration {
        self.began.0 + self.began.1.elapsed()
    }

    fn turn(&mut self) -> Result<(), ControllerStopped> {
        let is_up = self.is_up();
        self.drain_if(!is_up)?;
        let has_begun = self.agent.persistent_state().incarnation > 0;
        if self.line.is_none() && MonotonicInstant::now() >= self.retry_at && (is_up || has_begun) {
            self.connect()?;
        }
        let done = self.take_frames();
        let done = done.and_then(|()| self.agent.tick(self.clock(), wall_clock::now()));
        let is_open = self.send_frames()?;
        match (done, is_open) {
            (Ok(()), true) => {}
            (Ok(()), false) => self.disconnect("the service closed the connection"),
            (
                Err(
                    DisconnectReason::Reconnect(why)
                    | DisconnectReason::Refused(why)
                    | DisconnectReason::Unfit(why),
                ),
                _,
            ) => self.disconnect(&why),
        }
        if self.agent.is_registered() {
            self.failures = 0;
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        let nodes = self.system.nodes();
        nodes
            .iter()
            .any(|node| node.name == self.name && node.is_up)
    }

    /// Drains a node that is down, and resumes it when it is up again. A node that an operator drained stays
    /// drained.
    fn drain_if(&mut self, is_down: bool) -> Result<(), ControllerStopped> {
        let is_drained = lock(&self.file).is_drained;
        if is_drained == is_down || !self.agent.is_registered() {
            return Ok(());
        }
        let (reply, answer) = oneshot::channel();
        self.controller.send(ControllerRequest::Drain {
            worker: Some(self.name.clone()),
            drained: is_down,
            reply,
        });
        if answer
            .blocking_recv()
            .map_err(|_| ControllerStopped)?
            .is_err()
        {
            return Ok(());
        }
        let node = &self.name;
        match is_down {
            true => tracing::warn!(%node, "the batch system reports the node as down: drained"),
            false => tracing::info!(%node, "the batch system reports the node as up: resumed"),
        }
        let mut memory = lock(&self.file);
        memory.is_drained = is_down;
        if let Err(error) = write_file(&self.path, &memory) {
            tracing::error!(%node, %error, "the state of a node cannot be written");
        }
        Ok(())
    }

    fn connect(&mut self) -> Result<(), ControllerStopped> {
        let number = self.acceptor.next_connection();
        let (to, frames) = mpsc::channel();
        let sink = NodeSink {
            to,
            waker: self.waker.clone(),
        };
        if self.forward(number, ConnectionEventKind::Opened(Box::new(sink)))? {
            self.line = Some((number, frames));
            self.agent.connected(self.clock());
        }
        Ok(())
    }

    fn disconnect(&mut self, why: &str) {
        if self.line.take().is_some() {
            let node = &self.name;
            tracing::warn!(%node, reason = why, "the node is not offered; trying again");
        }
        self.agent.disconnected();
        self.retry_at =
            MonotonicInstant::now() + RETRY_DELAYS[self.failures.min(RETRY_DELAYS.len() - 1)];
        self.failures += 1;
    }

    fn take_frames(&mut self) -> Result<(), DisconnectReason> {
        while let Some((_, frames)) = &self.line {
            match frames.try_recv() {
                Ok(frame) => self.agent.on_frame(frame, self.clock())?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    let why = "the service closed the connection".to_owned();
                    return Err(DisconnectReason::Reconnect(why));
                }
            }
        }
        Ok(())
    }

    /// Sends the agent's messages. Returns false if the controller has closed the connection.
    fn send_frames(&mut self) -> Result<bool, ControllerStopped> {
        let frames: Vec<WorkerFrame<WorkerMessage>> = self.agent.drain_outgoing();
        let Some(number) = self.line.as_ref().map(|(number, _)| *number) else {
            return Ok(true);
        };
        for frame in frames {
            if !self.forward(number, ConnectionEventKind::Received(frame))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn forward(&self, number: u64, kind: ConnectionEventKind) -> Result<bool, ControllerStopped> {
        let (reply, answer) = oneshot::channel();
        let event = ConnectionEvent {
            connection: number,
            kind,
        };
        self.controller
            .send(ControllerRequest::Worker { event, reply });
        answer.blocking_recv().map_err(|_| ControllerStopped)
    }
}

/// The controller's end of a connection to a node.
struct NodeSink {
    to: Sender<WorkerFrame<ServerMessage>>,
    waker: SyncSender<()>,
}

impl FrameSink for NodeSink {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        let is_sent = self.to.send(frame).is_ok();
        // A full channel means that the node is awake already.
        let _ = self.waker.try_send(());
        is_sent
    }
}

fn lock(file: &Mutex<BatchNodeFile>) -> std::sync::MutexGuard<'_, BatchNodeFile> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_file(path: &Path) -> io::Result<BatchNodeFile> {
    let known =
        read_state_file(path, |text| serde_json::from_str(text)).map_err(io::Error::other)?;
    if let Some(known) = known {
        return Ok(known);
    }
    let new = BatchNodeFile {
        identity: random_identity()?,
        state: AgentPersistentState::default(),
        is_drained: false,
    };
    write_file(path, &new)?;
    Ok(new)
}

fn write_file(path: &Path, file: &BatchNodeFile) -> io::Result<()> {
    replace_private(path, &serde_json::to_vec_pretty(file)?)
}
