//! Signals that ask a process to end.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

/// Calls `on_signal` with the number of each SIGTERM, SIGINT and SIGHUP from now on, in a thread of its own.
///
/// # Errors
/// If signals cannot be waited for.
pub(crate) fn watch(mut on_signal: impl FnMut(u8) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (ready, is_ready) = mpsc::channel();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let kinds = (
                    signal(SignalKind::terminate()),
                    signal(SignalKind::interrupt()),
                    signal(SignalKind::hangup()),
                );
                let (mut terminate, mut interrupt, mut hangup) = match kinds {
                    (Ok(terminate), Ok(interrupt), Ok(hangup)) => (terminate, interrupt, hangup),
                    (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => {
                        let _ = ready.send(Err(error));
                        return;
                    }
                };
                let _ = ready.send(Ok(()));
                loop {
                    let kind = tokio::select! {
                        _ = terminate.recv() => SignalKind::terminate(),
                        _ = interrupt.recv() => SignalKind::interrupt(),
                        _ = hangup.recv() => SignalKind::hangup(),
                    };
                    on_signal(u8::try_from(kind.as_raw_value()).unwrap_or(0));
                }
            });
        })?;
    is_ready
        .recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
}
