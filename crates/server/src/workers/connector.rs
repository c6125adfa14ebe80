//! The loop of a worker process: it connects again and again, and drives its [`WorkerAgent`].

use std::future::pending;
use std::io;
use std::os::unix::net::UnixListener;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, watch};
use tollgate_engine::{BootTime, Engine};
use tollgate_workers::agent::{DisconnectReason, HostPresence, WorkerAgent};
use tollgate_workers::protocol::{MAX_LINE_LEN, ServerMessage, WorkerFrame, WorkerMessage};

use super::codec::{FrameReader, write_frames};
use super::part_calls::PartCallTable;
use super::transport::{TransportError, UpgradedStream, WorkerTransport};
use crate::part_socket::{self, ReceivedPartRequest};

/// Waits before the next connection attempts; the last one repeats.
const RECONNECT_DELAYS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// Maximum number of unsent messages.
const MAX_UNSENT_FRAMES: usize = 4_096;
/// Maximum silence of the service on a connection. The agent itself gives up earlier.
const CONNECTION_TIMEOUT: Duration = tollgate_workers::lease::MAX_GRACE;

/// An error that ends the connection loop.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The service refuses this worker.
    #[error("the service refuses this worker: {0}")]
    Refused(String),
    /// The engine of this worker cannot run a trivial task.
    #[error("this worker cannot run tasks: {0}")]
    Unfit(String),
    /// The transport to the service cannot work.
    #[error(transparent)]
    Route(#[from] TransportError),
    /// A call to the operating system failed.
    #[error("{action}: {error}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// The signals that ask a worker to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureSignals {
    /// SIGTERM and SIGINT. A second one ends the worker at once.
    Usual,
    /// SIGUSR1 and SIGUSR2 too, by which batch systems announce the end of a job. Signals after the
    /// first one change nothing.
    Pilot,
}

/// Runs the worker until it is asked to leave by a signal, leaves by itself, or is refused by the
/// service. A worker that leaves ends its tasks and reports them to the service. `engine_calls` is
/// notified when the engine has new reports. `parts` is the socket on which processes of jobs ask for
/// parts of their attempts on other hosts. `presence` is the use of a host that people work at.
///
/// # Errors
/// If the service cannot be reached in any way, or refuses this worker.
pub fn run<E: Engine + 'static>(
    route: WorkerTransport,
    worker_agent: &mut WorkerAgent<E>,
    signals: DepartureSignals,
    engine_calls: Arc<Notify>,
    parts: Option<UnixListener>,
    presence: Option<watch::Receiver<HostPresence>>,
) -> Result<(), ConnectError> {
    let failed = |action| move |error| ConnectError::System { action, error };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(failed("no threads can be started"))?;
    let caller = WorkerConnector {
        agent: worker_agent,
        transport: Arc::new(route),
        signals,
        leave_by: None,
        has_noted_departure: false,
        link: None,
        connecting: None,
        connect_at: Instant::now(),
        failures: 0,
        part_calls: PartCallTable::new(since_boot()),
        presence,
    };
    let ended = runtime.block_on(caller.run(&engine_calls, parts));
    // A pending name lookup is not waited for.
    runtime.shutdown_background();
    ended
}

/// The channels of a connection: received frames and frames to send.
struct FrameChannels {
    incoming: Receiver<WorkerFrame<ServerMessage>>,
    outgoing: Sender<WorkerFrame<WorkerMessage>>,
}

type ConnectFuture = Pin<Box<dyn Future<Output = Result<UpgradedStream, TransportError>> + Send>>;

struct WorkerConnector<'a, E> {
    agent: &'a mut WorkerAgent<E>,
    transport: Arc<WorkerTransport>,
    signals: DepartureSignals,
    /// Latest time of departure, once the worker was asked to leave.
    leave_by: Option<Instant>,
    /// Whether the departure was logged.
    has_noted_departure: bool,
    link: Option<FrameChannels>,
    connecting: Option<ConnectFuture>,
    connect_at: Instant,
    failures: usize,
    part_calls: PartCallTable,
    presence: Option<watch::Receiver<HostPresence>>,
}

/// An event of the connection loop.
enum ConnectorEvent {
    FrameReceived(Option<WorkerFrame<ServerMessage>>),
    Connected(Result<UpgradedStream, TransportError>),
    TickDue,
    /// A process of a job asks for a part on another host.
    PartRequested(ReceivedPartRequest),
    /// The host came into use by others, or is free again.
    PresenceChanged(HostPresence),
    /// A signal asks the worker to end.
    StopRequested,
}

impl<E: Engine> WorkerConnector<'_, E> {
    async fn run(
        mut self,
        engine_calls: &Notify,
        parts: Option<UnixListener>,
    ) -> Result<(), ConnectError> {
        let failed = |error| ConnectError::System {
            action: "signals cannot be waited for",
            error,
        };
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut user_1 = self
            .pilot_signal(SignalKind::user_defined1())
            .map_err(failed)?;
        let mut user_2 = self
            .pilot_signal(SignalKind::user_defined2())
            .map_err(failed)?;
        // The sender here keeps the channel open if nothing listens.
        let (to, mut requests) = channel(1);
        if let Some(listener) = parts {
            tokio::spawn(part_socket::serve(listener, to.clone()));
        }
        loop {
            if self.link.is_none() && self.connecting.is_none() && Instant::now() >= self.connect_at
            {
                let route = Arc::clone(&self.transport);
                self.connecting = Some(Box::pin(async move { route.connect().await }));
            }
            let wait = self.max_idle();
            let event = tokio::select! {
                received = next_frame(&mut self.link) => ConnectorEvent::FrameReceived(received),
                dialled = poll_connect(&mut self.connecting) => ConnectorEvent::Connected(dialled),
                presence = next_presence(&mut self.presence) => ConnectorEvent::PresenceChanged(presence),
                Some(asked) = requests.recv() => ConnectorEvent::PartRequested(asked),
                () = engine_calls.notified() => ConnectorEvent::TickDue,
                () = tokio::time::sleep(wait) => ConnectorEvent::TickDue,
                _ = terminate.recv() => ConnectorEvent::StopRequested,
                _ = interrupt.recv() => ConnectorEvent::StopRequested,
                () = next_signal(&mut user_1) => ConnectorEvent::StopRequested,
                () = next_signal(&mut user_2) => ConnectorEvent::StopRequested,
            };
            if matches!(event, ConnectorEvent::StopRequested) && self.leave_by.is_some() {
                match self.signals {
                    DepartureSignals::Usual => return Ok(()),
                    DepartureSignals::Pilot => continue,
                }
            }
            self.on_event(event)?;
            self.note_departure();
            let is_late = self.leave_by.is_some_and(|by| Instant::now() >= by);
            if is_late || (self.has_noted_departure && self.agent.has_left()) {
                return Ok(());
            }
        }
    }

    /// Logs the departure, and limits its time once the worker ends its tasks.
    fn note_departure(&mut self) {
        if let Some(reason) = self.agent.departure_reason()
            && !self.has_noted_departure
        {
            self.has_noted_departure = true;
            tracing::info!(reason, "the worker leaves");
        }
        if self.agent.is_ending_tasks() && self.leave_by.is_none() {
            let time = self.agent.lease_timings().departure_time();
            self.leave_by = Some(Instant::now() + time);
        }
    }

    /// Returns the stream of a signal that only pilots wait for.
    fn pilot_signal(&self, kind: SignalKind) -> io::Result<Option<Signal>> {
        match self.signals {
            DepartureSignals::Usual => Ok(None),
            DepartureSignals::Pilot => signal(kind).map(Some),
        }
    }

    fn max_idle(&self) -> Duration {
        let turn = self.agent.max_idle(since_boot());
        let is_off = self.link.is_none() && self.connecting.is_none();
        let dial = is_off.then(|| self.connect_at.saturating_duration_since(Instant::now()));
        let leave = self.leave_by;
        let leave = leave.map(|by| by.saturating_duration_since(Instant::now()));
        dial.into_iter().chain(leave).fold(turn, Duration::min)
    }

    fn on_event(&mut self, event: ConnectorEvent) -> Result<(), ConnectError> {
        let now = since_boot();
        let worked = self.agent.is_registered();
        let done = match event {
            ConnectorEvent::FrameReceived(Some(frame)) => self.agent.on_frame(frame, now),
            ConnectorEvent::FrameReceived(None) => Err(DisconnectReason::Reconnect(
                "the connection is gone".to_owned(),
            )),
            ConnectorEvent::Connected(Ok(stream)) => {
                self.link = Some(spawn_io(stream));
                self.connecting = None;
                self.agent.connected(now);
                Ok(())
            }
            ConnectorEvent::Connected(Err(error)) => {
                self.connecting = None;
                if error.is_final() {
                    return Err(error.into());
                }
                Err(DisconnectReason::Reconnect(error.to_string()))
            }
            ConnectorEvent::PresenceChanged(presence) => {
                self.agent.set_presence(presence, now);
                Ok(())
            }
            ConnectorEvent::StopRequested => {
                self.agent.request_departure();
                Ok(())
            }
            ConnectorEvent::PartRequested(request) => {
                let call = self.part_calls.add(request.events);
                self.agent.request_part(call, request.user, request.request);
                Ok(())
            }
            ConnectorEvent::TickDue => Ok(()),
        };
        let turned = self.agent.tick(now, wall_clock());
        self.part_calls.pass_on(self.agent.drain_part_events());
        let sent = self.send();
        match done.and(turned).and(sent) {
            Ok(()) => {}
            Err(DisconnectReason::Refused(why)) => return Err(ConnectError::Refused(why)),
            Err(DisconnectReason::Unfit(why)) => return Err(ConnectError::Unfit(why)),
            Err(DisconnectReason::Reconnect(why)) => self.disconnect(&why),
        }
        if self.agent.is_registered() && !worked {
            self.failures = 0;
            let incarnation = self.agent.persistent_state().incarnation;
            tracing::info!(incarnation, "registered with the service");
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), DisconnectReason> {
        for frame in self.agent.drain_outgoing() {
            let link = self.link.as_ref();
            if link.is_some_and(|link| link.outgoing.try_send(frame).is_err()) {
                return Err(DisconnectReason::Reconnect(
                    "the service reads nothing".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn disconnect(&mut self, why: &str) {
        self.agent.disconnected();
        self.link = None;
        let wait = RECONNECT_DELAYS[self.failures.min(RECONNECT_DELAYS.len() - 1)];
        if self.failures == 0 && !self.has_noted_departure {
            tracing::warn!(reason = why, "not connected to the service; trying again");
        }
        self.failures += 1;
        self.connect_at = Instant::now() + wait;
    }
}

async fn next_frame(link: &mut Option<FrameChannels>) -> Option<WorkerFrame<ServerMessage>> {
    match link {
        Some(link) => link.incoming.recv().await,
        None => pending().await,
    }
}

async fn next_signal(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// Waits for the next change of the use of the host. The last one holds once no more will come.
async fn next_presence(presence: &mut Option<watch::Receiver<HostPresence>>) -> HostPresence {
    let Some(changes) = presence else {
        return pending().await;
    };
    match changes.changed().await {
        Ok(()) => *changes.borrow_and_update(),
        Err(_) => {
            *presence = None;
            pending().await
        }
    }
}

async fn poll_connect(
    dialling: &mut Option<ConnectFuture>,
) -> Result<UpgradedStream, TransportError> {
    match dialling {
        Some(dialling) => dialling.await,
        None => pending().await,
    }
}

/// Carries both directions until the returned end is dropped.
fn spawn_io(stream: UpgradedStream) -> FrameChannels {
    let (read, write) = tokio::io::split(stream);
    let (sender, message) = channel(MAX_UNSENT_FRAMES);
    let (to, received) = channel(16);
    tokio::spawn(async move {
        let listening = async {
            let mut frames = FrameReader::new(read, MAX_LINE_LEN, CONNECTION_TIMEOUT);
            while let Some(frame) = frames.read_frame().await {
                if to.send(frame).await.is_err() {
                    return;
                }
            }
        };
        // The connection ends with either direction: half a connection is of no use.
        tokio::select! {
            () = listening => {}
            _ = write_frames(write, message) => {}
        }
    });
    FrameChannels {
        incoming: received,
        outgoing: sender,
    }
}

/// Returns the time since boot, as the engine's lease counts it.
fn since_boot() -> Duration {
    BootTime::now().since_boot()
}

/// Returns the wall-clock time, with times before 1970 as 1970.
fn wall_clock() -> tollgate_model::Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    tollgate_model::Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
