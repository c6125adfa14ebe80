//! A listener that serves each connection in a thread, and closes those without a proof in time.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::address::AddressPrefix;
use crate::limit::{ConnectionLimit, ConnectionPermit};

/// Maximum time from a connection to the proof that it is that of a peer, whatever it sends meanwhile.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections without a proof per address.
const MAX_PER_ADDRESS: u32 = 32;
/// Maximum number of connections without a proof from all addresses together, each with a thread.
const MAX_TOTAL: u32 = 256;
/// Pause after a failed accept: the process may be out of descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(250);

/// A connection that has not proved yet to be that of a peer. It is closed when its time is over, or when a
/// newer one needs its permit; dropping this value ends both.
#[derive(Debug)]
pub struct Handshake(
    #[expect(dead_code, reason = "held until the proof")] ConnectionPermit<AddressPrefix>,
);

/// Serves the connections of a listener until `is_over` is true after a connection, each in a thread.
/// `serve` drops its [`Handshake`] when the connection has proved to be that of a peer.
///
/// # Errors
/// If the listener cannot be used.
pub fn serve_unauthenticated<F>(
    listener: &TcpListener,
    is_over: impl Fn() -> bool,
    serve: F,
) -> io::Result<()>
where
    F: Fn(TcpStream, Handshake) + Clone + Send + 'static,
{
    // A connection may be gone between the wait and the accept, which must not block then.
    listener.set_nonblocking(true)?;
    let limit = ConnectionLimit::new(MAX_PER_ADDRESS, MAX_TOTAL);
    loop {
        wait(listener, limit.close_overdue(HANDSHAKE_TIMEOUT));
        let accepted = listener.accept();
        if is_over() {
            return Ok(());
        }
        let Ok((stream, from)) = accepted else {
            if accepted.is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
                thread::sleep(ACCEPT_RETRY_DELAY);
            }
            continue;
        };
        let Ok(permit) = limit.admit(from.ip().into(), &stream) else {
            continue;
        };
        let serve = serve.clone();
        // Without a thread the connection ends, and the listener goes on.
        let _ = thread::Builder::new().spawn(move || serve(stream, Handshake(permit)));
    }
}

/// Waits for a connection for at most this time; for ever without one.
fn wait(listener: &TcpListener, timeout: Option<Duration>) {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    // An interrupted wait is repeated by the caller.
    let _ = poll(&mut ready, timeout.as_ref());
}
