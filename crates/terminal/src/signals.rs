//! Signals as bytes on a stream that a loop can wait for.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Returns a stream with one byte for each signal of these kinds from now on: its number.
pub(crate) fn watch(kinds: &[SignalKind]) -> io::Result<UnixStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (signals, mut to) = UnixStream::pair()?;
    signals.set_nonblocking(true)?;
    // A loop that is busy finds the first of many signals later, and needs no other.
    to.set_nonblocking(true)?;
    let kinds = kinds.to_vec();
    let (ready, is_ready) = mpsc::channel();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let watched: io::Result<Vec<(u8, Signal)>> = kinds.into_iter().map(open).collect();
                let mut watched = match watched {
                    Ok(watched) => watched,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return;
                    }
                };
                let _ = ready.send(Ok(()));
                loop {
                    let number = next(&mut watched).await;
                    let written = to.write(&[number]);
                    let is_full = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
                    if written.is_err_and(|error| !is_full(&error)) {
                        return;
                    }
                }
            });
        })?;
    let broken = || Err(io::ErrorKind::BrokenPipe.into());
    is_ready.recv().unwrap_or_else(|_| broken())?;
    Ok(signals)
}

fn open(kind: SignalKind) -> io::Result<(u8, Signal)> {
    let number = u8::try_from(kind.as_raw_value()).map_err(io::Error::other)?;
    Ok((number, signal(kind)?))
}

async fn next(watched: &mut [(u8, Signal)]) -> u8 {
    std::future::poll_fn(|context| {
        let mut arrived = watched
            .iter_mut()
            .filter_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
        match arrived.next() {
            Some(number) => std::task::Poll::Ready(number),
            None => std::task::Poll::Pending,
        }
    })
    .await
}
