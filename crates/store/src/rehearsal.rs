//! The recovery of a store as a service would do it, without a change to the store.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::Backup;
use tollgate_model::Instant;
use tollgate_policy::PolicyRegistry;

use crate::error::{StoreError, sqlite};
use crate::format::VERSION;
use crate::impossible::{ImpossibleValue, impossible_values};
use crate::integrity;
use crate::replay::Replay;
use crate::schema;

/// Number of pages that are copied at a time: all of them.
const ALL_PAGES: i32 = -1;

/// The findings of a recovery that succeeded.
pub(crate) struct Rehearsal {
    /// Time of the last step; None if no service has run with the store yet.
    pub(crate) last: Option<Instant>,
    /// The values that cannot be true at that time.
    pub(crate) impossible: Vec<ImpossibleValue>,
}

/// Recovers the state like a service that starts with the store: migrates a private copy of an older store,
/// restores the snapshot, and replays the batches under the rules in force.
///
/// # Errors
/// The error with which the service would refuse to start.
pub(crate) fn rehearse(
    connection: &Connection,
    path: &Path,
    registry: &PolicyRegistry,
) -> Result<Rehearsal, StoreError> {
    if schema::version(connection, path)? == Some(VERSION) {
        return recover(connection, path, registry);
    }
    Replay::new(connection, path).check_version()?;
    let migrated = migrated_copy(connection, path)?;
    integrity::check(&migrated, path, VERSION)?;
    recover(&migrated, path, registry)
}

fn recover(
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

/// Returns a copy with the tables of this version. SQLite keeps the copy in memory, or in a file without a
/// name if the store is large.
fn migrated_copy(from: &Connection, path: &Path) -> Result<Connection, StoreError> {
    let failed = sqlite(path, "cannot be copied");
    let mut copy = Connection::open("").map_err(failed)?;
    integrity::register(&copy).map_err(failed)?;
    let copied = Backup::new(from, &mut copy).and_then(|backup| backup.step(ALL_PAGES));
    copied.map_err(failed)?;
    schema::prepare(&mut copy, path)?;
    Ok(copy)
}
