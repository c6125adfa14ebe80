//! A router as a service in the same process.

use std::fmt;

use axum::Router;
use tokio::io::DuplexStream;
use tollgate_client::InProcessService;

use crate::serve::serve_connection;

/// Maximum number of bytes on their way in one direction of a connection.
const BUFFER: usize = 64 * 1024;

/// A service that is a router in the same process. It is connected to inside a Tokio runtime.
pub struct RouterService(Router);

impl RouterService {
    /// Creates a service of a router.
    pub fn new(router: Router) -> Self {
        Self(router)
    }
}

impl InProcessService for RouterService {
    fn connect(&self) -> DuplexStream {
        let (client, service) = tokio::io::duplex(BUFFER);
        tokio::spawn(serve_connection(service, self.0.clone()));
        client
    }
}

impl fmt::Debug for RouterService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterService").finish_non_exhaustive()
    }
}
