//! Failpoints: named points at which a test can make the service fail. They do nothing otherwise.

use std::io;

/// A failpoint in a tick of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceFailpoint {
    /// The inputs are decided, and nothing is on disk yet.
    Decided,
    /// The changes are on disk, and no client has a response yet.
    Committed,
    /// The clients have their responses, and the engine has no orders yet.
    Responded,
    /// The engine has its orders.
    Dispatched,
    /// Finished attempts are acknowledged to the engine, or will be soon.
    Acknowledged,
    /// Before a snapshot is written.
    SnapshotStarting,
    /// After a snapshot was written.
    SnapshotWritten,
}

impl ServiceFailpoint {
    /// All failpoints, in the order of a tick.
    pub const ALL: [Self; 7] = [
        Self::Decided,
        Self::Committed,
        Self::Responded,
        Self::Dispatched,
        Self::Acknowledged,
        Self::SnapshotStarting,
        Self::SnapshotWritten,
    ];

    /// Returns the name of the failpoint in [`VARIABLE`].
    pub const fn key(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Committed => "committed",
            Self::Responded => "answered",
            Self::Acknowledged => "acknowledged",
            Self::Dispatched => "ordered",
            Self::SnapshotStarting => "resting",
            Self::SnapshotWritten => "rested",
        }
    }
}

/// The environment variable that names a failpoint, and the number of times to pass it before the
/// failure: `committed`, `committed:12`. It is effective in debug builds only.
pub const VARIABLE: &str = "TOLLGATE_SERVICE_FAULT";

/// A function that is called at each failpoint. It may crash the caller instead of returning, or
/// return an error to simulate a disk failure. An error has an effect only before a write: at
/// [`ServiceFailpoint::Decided`] and [`ServiceFailpoint::SnapshotStarting`].
pub type FaultInjector = Box<dyn FnMut(ServiceFailpoint) -> io::Result<()> + Send>;

/// Returns an injector that kills this process at the failpoint that the environment names, if any.
pub fn from_environment() -> FaultInjector {
    let named = std::env::var(VARIABLE).ok();
    let Some(named) = named.filter(|_| cfg!(debug_assertions)) else {
        return Box::new(|_| Ok(()));
    };
    let (key, after) = named.split_once(':').unwrap_or((&named, "0"));
    let key = key.to_owned();
    let mut left: u32 = after.parse().unwrap_or(0);
    Box::new(move |moment| {
        if moment.key() != key {
            return Ok(());
        }
        if left == 0 {
            let this = rustix::process::getpid();
            let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
        }
        left = left.saturating_sub(1);
        Ok(())
    })
}
