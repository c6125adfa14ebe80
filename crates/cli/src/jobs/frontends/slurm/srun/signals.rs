//! The signals that a step passes on to its tasks.

use std::io;
use std::thread;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Calls `on_signal` with each signal that a step passes on, from now on, in a thread of its own.
///
/// # Errors
/// If signals cannot be waited for.
pub(super) fn watch(on_signal: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let (mut hangup, mut interrupt, mut quit) = (
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::quit())?,
    );
    let (mut terminate, mut user1, mut user2) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::user_defined1())?,
        signal(SignalKind::user_defined2())?,
    );
    drop(entered);
    let wait = async move {
        loop {
            let received = tokio::select! {
                _ = hangup.recv() => Signal::HUP,
                _ = interrupt.recv() => Signal::INT,
                _ = quit.recv() => Signal::QUIT,
                _ = terminate.recv() => Signal::TERM,
                _ = user1.recv() => Signal::USR1,
                _ = user2.recv() => Signal::USR2,
            };
            on_signal(received);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(wait))?;
    Ok(())
}
