//! The nodes of a batch system as engines, over a stand-in for Slurm that runs real processes.

mod conformance;
mod faults;
mod launches;
mod real;
mod stand_in;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tollgate_batch::EngineKind;
use tollgate_batch_engine::{BatchSystem, BatchSystemConfig, BatchSystemError};

use crate::stand_in::StandIn;

/// Returns the settings of a system with quick looks, whose attempts are in `dir`.
pub(crate) fn config(dir: &Path) -> BatchSystemConfig {
    let attempt = env!("CARGO_BIN_EXE_tollgate-attempt");
    let folder = dir.join("attempts");
    let queue = Some("tollgate".to_owned());
    BatchSystemConfig {
        period: Duration::from_millis(300),
        look: Duration::from_millis(50),
        grace: Duration::from_millis(500),
        ..BatchSystemConfig::new(EngineKind::Slurm, queue, folder, [attempt])
    }
}

/// Opens the system.
pub(crate) fn open(
    config: BatchSystemConfig,
    engine: &StandIn,
) -> Result<Arc<BatchSystem>, BatchSystemError> {
    BatchSystem::open(config, Box::new(engine.clone()))
}
