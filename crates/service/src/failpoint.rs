//! Named moments at which a test has the service fail. Nothing fails by itself at them.

use std::io;

/// A moment in a turn of the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceFailpoint {
    /// It is decided what follows from what came in, and none of it is on disk.
    Decided,
    /// It is on disk, and nobody was told.
    Committed,
    /// Who asked was answered, and the engine was told nothing.
    Responded,
    /// The engine was told what to do.
    Dispatched,
    /// The engine may forget what ended, or will be told so soon.
    Acknowledged,
    /// A snapshot is about to be written.
    SnapshotStarting,
    /// A snapshot was written.
    SnapshotWritten,
}

impl ServiceFailpoint {
    /// Every moment, in the order of a turn.
    pub const ALL: [Self; 7] = [
        Self::Decided,
        Self::Committed,
        Self::Responded,
        Self::Dispatched,
        Self::Acknowledged,
        Self::SnapshotStarting,
        Self::SnapshotWritten,
    ];

    /// What it is called in [`VARIABLE`].
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

/// The environment variable that names a moment, and after how many others of that name it is meant:
/// `committed`, `committed:12`. It is heeded in debug builds only.
pub const VARIABLE: &str = "TOLLGATE_SERVICE_FAULT";

/// Is told of each moment. It may have the disk fail where something is about to be written
/// ([`ServiceFailpoint::Decided`] and [`ServiceFailpoint::Resting`]; elsewhere an error means nothing), or not come back.
pub type FaultInjector = Box<dyn FnMut(ServiceFailpoint) -> io::Result<()> + Send>;

/// Kills this process at the moment that the environment names; if it names none, does nothing.
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
