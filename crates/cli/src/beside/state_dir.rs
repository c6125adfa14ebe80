//! The directory of what was learned: a store of a follower, found by the options and variables of a user.

use std::env;
use std::path::{Path, PathBuf};

use tollgate_sites::FollowerStore;

use super::engine::FollowedEngine;
use super::error::BesideError;

/// The variable with the directory of what was learned.
const STATE_VARIABLE: &str = "TOLLGATE_BESIDE";

/// Returns the store in the named directory, or in that of the variable, or in a directory of the user's cache.
///
/// # Errors
/// If there is no such directory.
pub(super) fn find(
    named: Option<&Path>,
    engine: FollowedEngine,
) -> Result<FollowerStore, BesideError> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let named = named.map(Path::to_owned);
    if let Some(path) = named.or_else(|| variable(STATE_VARIABLE).map(Into::into)) {
        return Ok(FollowerStore::new(path));
    }
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).ok_or(BesideError::NoStateDir)?;
    let name = format!("{}{}", engine.name(), engine.cluster_suffix());
    Ok(FollowerStore::new(
        cache.join("tollgate").join("beside").join(name),
    ))
}
