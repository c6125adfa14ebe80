//! A worker process: it connects, again and again, and gives its [`WorkerAgent`] what it needs.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tollgate_engine::{BootTime, Engine};

use super::hand::{DisconnectReason, WorkerAgent};
use super::line::{FrameReader, say_all};
use super::route::{TransportError, UpgradedStream, WorkerTransport};
use super::words::{LONGEST_LINE, ServerMessage, WorkerFrame, WorkerMessage};

/// How long to wait before the service is called again; longer each time, up to the last.
const WAITS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// The most words that wait to be sent.
const MOST_UNSENT: usize = 4_096;
/// How long the service may stay silent before the connection is no more waited for. The worker
/// itself gives up earlier.
const SILENCE: Duration = super::terms::LONGEST;

/// How long a worker that was asked to go stays to tell the service how its tasks ended, after these have
/// been killed.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The service does not want it.
    #[error("the service refuses this worker: {0}")]
    Refused(String),
    /// The way to the service cannot be gone.
    #[error(transparent)]
    Route(#[from] TransportError),
    /// The system lacks something.
    #[error("{action}: {error}")]
    System {
        /// What was being done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Works until SIGTERM or SIGINT, or until the service does not want this worker. Then it ends what it
/// runs, and tells the service; a second signal ends it at once. `engine_calls` is notified when the
/// engine has something to say.
///
/// # Errors
/// If the service cannot be spoken to at all, or does not want this worker.
pub fn work<E: Engine + 'static>(
    route: WorkerTransport,
    hand: WorkerAgent<E>,
    engine_calls: Arc<Notify>,
) -> Result<(), ConnectError> {
    let failed = |action| move |error| ConnectError::System { action, error };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(failed("no threads can be started"))?;
    let caller = WorkerConnector {
        hand,
        route: Arc::new(route),
        leave_by: None,
        link: None,
        dialling: None,
        dial_at: Instant::now(),
        failures: 0,
    };
    let ended = runtime.block_on(caller.work(&engine_calls));
    // What still hangs on a name server is not waited for.
    runtime.shutdown_background();
    ended
}

/// A connection: where frames come from, and where they go.
struct FrameChannels {
    heard: Receiver<WorkerFrame<ServerMessage>>,
    say: Sender<WorkerFrame<WorkerMessage>>,
}

type ConnectFuture = Pin<Box<dyn Future<Output = Result<UpgradedStream, TransportError>> + Send>>;

struct WorkerConnector<E> {
    hand: WorkerAgent<E>,
    route: Arc<WorkerTransport>,
    /// When it goes at the latest, once it was asked to.
    leave_by: Option<Instant>,
    link: Option<FrameChannels>,
    dialling: Option<ConnectFuture>,
    dial_at: Instant,
    failures: usize,
}

/// What has happened.
enum ConnectorEvent {
    Heard(Option<WorkerFrame<ServerMessage>>),
    Dialled(Result<UpgradedStream, TransportError>),
    Turn,
    /// The worker is asked to end.
    Asked,
}

impl<E: Engine> WorkerConnector<E> {
    async fn work(mut self, engine_calls: &Notify) -> Result<(), ConnectError> {
        let failed = |error| ConnectError::System {
            action: "signals cannot be waited for",
            error,
        };
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        loop {
            if self.link.is_none() && self.dialling.is_none() && Instant::now() >= self.dial_at {
                let route = Arc::clone(&self.route);
                self.dialling = Some(Box::pin(async move { route.open().await }));
            }
            let wait = self.wait();
            let event = tokio::select! {
                heard = hear(&mut self.link) => ConnectorEvent::Heard(heard),
                dialled = dial(&mut self.dialling) => ConnectorEvent::Dialled(dialled),
                () = engine_calls.notified() => ConnectorEvent::Turn,
                () = tokio::time::sleep(wait) => ConnectorEvent::Turn,
                _ = terminate.recv() => ConnectorEvent::Asked,
                _ = interrupt.recv() => ConnectorEvent::Asked,
            };
            if matches!(event, ConnectorEvent::Asked) && self.leave_by.is_some() {
                return Ok(());
            }
            self.take(event)?;
            let is_late = self.leave_by.is_some_and(|by| Instant::now() >= by);
            if self.leave_by.is_some() && (is_late || self.hand.has_left()) {
                return Ok(());
            }
        }
    }

    fn wait(&self) -> Duration {
        let turn = self.hand.patience(since_boot());
        let is_off = self.link.is_none() && self.dialling.is_none();
        let dial = is_off.then(|| self.dial_at.saturating_duration_since(Instant::now()));
        let leave = self.leave_by;
        let leave = leave.map(|by| by.saturating_duration_since(Instant::now()));
        dial.into_iter().chain(leave).fold(turn, Duration::min)
    }

    fn take(&mut self, event: ConnectorEvent) -> Result<(), ConnectError> {
        let now = since_boot();
        let worked = self.hand.works();
        let done = match event {
            ConnectorEvent::Heard(Some(frame)) => self.hand.hear(frame, now),
            ConnectorEvent::Heard(None) => {
                Err(DisconnectReason::Again("the connection is gone".to_owned()))
            }
            ConnectorEvent::Dialled(Ok(stream)) => {
                self.link = Some(talk(stream));
                self.dialling = None;
                self.hand.connected(now);
                Ok(())
            }
            ConnectorEvent::Dialled(Err(error)) => {
                self.dialling = None;
                if error.is_final() {
                    return Err(error.into());
                }
                Err(DisconnectReason::Again(error.to_string()))
            }
            ConnectorEvent::Asked => {
                let time = self.hand.terms().stop() + LAST_WORDS;
                self.leave_by = Some(Instant::now() + time);
                self.hand.leave();
                tracing::info!("asked to end: so are its tasks");
                Ok(())
            }
            ConnectorEvent::Turn => Ok(()),
        };
        let turned = self.hand.turn(now, wall_clock());
        let sent = self.send();
        match done.and(turned).and(sent) {
            Ok(()) => {}
            Err(DisconnectReason::Refused(why)) => return Err(ConnectError::Refused(why)),
            Err(DisconnectReason::Again(why)) => self.leave(&why),
        }
        if self.hand.works() && !worked {
            self.failures = 0;
            let incarnation = self.hand.memory().epoch;
            tracing::info!(incarnation, "registered with the service");
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), DisconnectReason> {
        for frame in self.hand.take_words() {
            let link = self.link.as_ref();
            if link.is_some_and(|link| link.say.try_send(frame).is_err()) {
                return Err(DisconnectReason::Again(
                    "the service reads nothing".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn leave(&mut self, why: &str) {
        self.hand.disconnected();
        self.link = None;
        let wait = WAITS[self.failures.min(WAITS.len() - 1)];
        if self.failures == 0 {
            tracing::warn!(reason = why, "not connected to the service; trying again");
        }
        self.failures += 1;
        self.dial_at = Instant::now() + wait;
    }
}

async fn hear(link: &mut Option<FrameChannels>) -> Option<WorkerFrame<ServerMessage>> {
    match link {
        Some(link) => link.heard.recv().await,
        None => pending().await,
    }
}

async fn dial(dialling: &mut Option<ConnectFuture>) -> Result<UpgradedStream, TransportError> {
    match dialling {
        Some(dialling) => dialling.await,
        None => pending().await,
    }
}

/// Has both directions carried until this end is dropped.
fn talk(stream: UpgradedStream) -> FrameChannels {
    let (read, write) = tokio::io::split(stream);
    let (say, said) = channel(MOST_UNSENT);
    let (to, heard) = channel(16);
    tokio::spawn(async move {
        let listening = async {
            let mut ear = FrameReader::new(read, LONGEST_LINE, SILENCE);
            while let Some(frame) = ear.hear().await {
                if to.send(frame).await.is_err() {
                    return;
                }
            }
        };
        // Whichever ends first: half a connection is of no use.
        tokio::select! {
            () = listening => {}
            _ = say_all(write, said) => {}
        }
    });
    FrameChannels { heard, say }
}

/// The time as the engine's lease counts it.
fn since_boot() -> Duration {
    BootTime::now().since_boot()
}

/// The time by the clock on the wall; before 1970 it stands still.
fn wall_clock() -> tollgate_model::Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    tollgate_model::Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
