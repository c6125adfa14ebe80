//! Entry points of the fuzz targets. The module is hidden, and public only for the targets and for
//! the tests that drive them without a fuzzer.

use crate::jobs::script;
use crate::policy_registry;
use crate::reach::cluster;
use crate::simulate::replay;

/// Parses `data` as a script for `tollgate submit`, which gives options or an error message. Returns false if it
/// gives an error message.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    script::parses(text)
}

/// Parses `data` as `clusters.toml`, which survives writing and reading if it is legal, and as the file of
/// a cluster of a replay. Returns false if it is neither.
pub fn clusters(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    cluster::is_clusters_file(text) | replay::is_cluster_file(text, &policy_registry())
}
