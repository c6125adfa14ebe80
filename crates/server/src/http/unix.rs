//! The server of the Unix socket.

use tokio::net::UnixListener;
use tokio::sync::watch;
use tracing::Instrument;

use super::connection::{ACCEPT_RETRY_DELAY, SHUTDOWN_TIMEOUT};
use super::users::UserConnections;

/// Serves clients of a Unix socket until `stop` is set. The system says which user a client is.
pub async fn serve_unix(
    listener: UnixListener,
    connections: UserConnections,
    mut stop: watch::Receiver<bool>,
) {
    let (gone, here) = watch::channel(());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|&stop| stop) => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(user) = stream.peer_cred().map(|peer| peer.uid()) else {
            continue;
        };
        let served = connections.serve(stream, user, move |access| Some(access.peer_of(user)));
        let here = here.clone();
        let connection = async move {
            served.await;
            drop(here);
        };
        tokio::spawn(connection.instrument(tracing::info_span!("socket", user)));
    }
    drop(here);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone.closed()).await;
}
