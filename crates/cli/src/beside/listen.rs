//! The API's read paths beside a scheduler, on a loopback address. Nothing can be changed through them.
//!
//! | module | contents |
//! |---|---|
//! | [`view`] | the knowledge of a follower after a look |
//! | `paths` | the paths, and the checks of every request |
//! | `jobs` | jobs as the API has them |
//! | `selection` | the jobs that a request selects |
//! | `story` | why a job waits, and what happened to it |
//! | `window` | the pages of the window |
//! | `status` | the state of the cluster |

mod jobs;
mod paths;
mod selection;
mod status;
mod story;
mod view;
mod window;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tollgate_web::serve_loopback;

use tollgate_beside::QueueFollower;
use tollgate_model::Instant;
use tollgate_sites::{LiveQueue, QueueRound};

use self::view::{FollowerView, SeenJobs, SharedView};
use super::engine::FollowedEngine;
use super::error::BesideError;
use super::eta::{Queues, queue_limits};
use super::metrics;
use crate::output::messages::Verbosity;

/// Number of threads that answer requests.
const THREADS: usize = 2;

/// The view of a follower, and the server that shows it until it is dropped.
pub(super) struct LiveView {
    engine: FollowedEngine,
    shared: SharedView,
    seen: SeenJobs,
    queues: Arc<Queues>,
    address: SocketAddr,
    since: Instant,
    is_announced: bool,
    _runtime: Runtime,
}

impl LiveView {
    /// Starts to serve at a loopback address. Asks the engine for its queues once.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(super) fn start(
        address: SocketAddr,
        engine: FollowedEngine,
        live: &LiveQueue,
    ) -> Result<Self, BesideError> {
        let failed = |error: io::Error| BesideError::Listen { address, error };
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let shared = SharedView::default();
        runtime.spawn(serve_loopback(
            listener,
            paths::router(shared.clone(), bound),
        ));
        Ok(Self {
            engine,
            shared,
            seen: SeenJobs::default(),
            queues: Arc::new(queue_limits(engine)),
            address: bound,
            since: live.now(),
            is_announced: false,
            _runtime: runtime,
        })
    }

    /// Shows what a look has taught.
    pub(super) fn publish(
        &mut self,
        round: &QueueRound,
        follower: &QueueFollower,
        live: &LiveQueue,
        verbosity: Verbosity,
    ) {
        self.seen
            .observe(&round.observation, &round.statements, follower);
        self.shared.replace(FollowerView {
            engine: self.engine,
            cluster: live.settings().cluster.clone(),
            queues: Arc::clone(&self.queues),
            follower: follower.clone(),
            seen: self.seen.clone(),
            metrics: metrics::of(live, follower, round.took),
            since: self.since,
            ahead: live.clock_error(),
        });
        if !self.is_announced {
            self.is_announced = true;
            let address = self.address;
            verbosity.note(format_args!(
                "listening: http://{address}/v1/jobs; the window: http://{address}/window"
            ));
        }
    }

    /// Shows that the engine does not answer.
    pub(super) fn set_down(&self) {
        self.shared.set_down();
    }
}

/// Parses an address of this host alone.
pub(super) fn parse_loopback(words: &str) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = words.parse().ok();
    match address.filter(|address| address.ip().is_loopback()) {
        Some(address) => Ok(address),
        None => Err(
            "expected an address of this host alone, as in 127.0.0.1:9180: requests are not authenticated"
                .to_owned(),
        ),
    }
}
