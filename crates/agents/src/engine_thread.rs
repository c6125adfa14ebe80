//! The thread that asks a slow engine while the agent goes on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self};
use std::time::Duration;

use crate::agent_input::AgentInput;
use crate::queue::PilotQueue;

/// The pause of the thread that asks the engine, before an epoch begins.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The thread that asks the engine: its commands may take half a minute, which would be too long for
/// the protocol.
pub(crate) struct EngineThread {
    pub(crate) target: Arc<AtomicU32>,
    /// Whether the pilots are to end.
    pub(crate) is_ending: Arc<AtomicBool>,
    pub(crate) wake: SyncSender<()>,
    pub(crate) turn: Arc<Mutex<Option<EngineTurn>>>,
}

/// The pause between two looks in an epoch, and the place for what was seen.
pub(crate) struct EngineTurn {
    pub(crate) pause: Duration,
    pub(crate) inputs: Sender<AgentInput>,
}

impl EngineThread {
    pub(crate) fn start(mut queue: Box<dyn PilotQueue>) -> Self {
        let target = Arc::new(AtomicU32::new(0));
        let turn = Arc::new(Mutex::new(None::<EngineTurn>));
        let is_ending = Arc::new(AtomicBool::new(false));
        let (wake, woken) = sync_channel(1);
        let thread = Self {
            target: Arc::clone(&target),
            is_ending: Arc::clone(&is_ending),
            wake,
            turn: Arc::clone(&turn),
        };
        thread::spawn(move || {
            let mut pause = FIRST_PAUSE;
            loop {
                match woken.recv_timeout(pause) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let is_begun = turn
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .is_some();
                if !is_begun {
                    continue;
                }
                let seen = match is_ending.load(Ordering::Relaxed) {
                    true => AgentInput::Ended(queue.end()),
                    false => AgentInput::Looked(queue.hold(target.load(Ordering::Relaxed))),
                };
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(turn) = turn.as_ref() {
                    pause = turn.pause;
                    // An epoch that has ended takes no view.
                    let _ = turn.inputs.send(seen);
                }
            }
        });
        thread
    }

    pub(crate) fn begin(&self, pause: Duration, target: u32, inputs: Sender<AgentInput>) {
        self.target.store(target, Ordering::Relaxed);
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *turn = Some(EngineTurn { pause, inputs });
        drop(turn);
        let _ = self.wake.try_send(());
    }

    /// Ends all pilots.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        let _ = self.wake.try_send(());
    }

    /// Follows the wanted number again, after pilots did not end.
    pub(crate) fn goes_on(&self) {
        self.is_ending.store(false, Ordering::Relaxed);
    }

    /// Sets the wanted number of pilots. A new one is carried out at once.
    pub(crate) fn set_target(&self, target: u32) {
        if self.target.swap(target, Ordering::Relaxed) != target {
            let _ = self.wake.try_send(());
        }
    }
}
