//! The recovery of a store as a service would do it, without a change to the store.

use std::path::Path;

use rusqlite::Connection;
use tollgate_model::Instant;
use tollgate_policy::PolicyRegistry;

use crate::error::{StoreError, sqlite};
use crate::impossible::{ImpossibleValue, impossible_values};
use crate::replay::Replay;

/// The findings of a recovery that succeeded.
pub(crate) struct Rehearsal {
    /// Time of the last step; None if no service has run with the store yet.
    pub(crate) last: Option<Instant>,
    /// The values that cannot be true at that time.
    pub(crate) impossible: Vec<ImpossibleValue>,
}

/// Recovers the state like a service that starts with the store: restores the snapshot, and replays the batches under the
/// rules in force.
///
/// # Errors
/// The error with which the service would refuse to start.
pub(crate) fn rehearse(
    connection: &Connection,
    path: &Path,
    registry: &PolicyRegistry,
) -> Result<Rehearsal, StoreError> {
    let Some(state) = Replay::new(connection, path).run(registry, drop)? else {
        let impossible = Vec::new();
        return Ok(Rehearsal {
            last: None,
            impossible,
        });
    };
    let last = state.core.now();
    if !state.is_same_program {
        let rules = state.rules.clone();
        state.take_over(&rules, path)?;
    }
    let impossible = impossible_values(connection, last).map_err(sqlite(path, "cannot be read"))?;
    let last = Some(last);
    Ok(Rehearsal { last, impossible })
}
