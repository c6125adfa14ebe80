//! The entry points of the fuzz targets. The module is hidden, and public only for the targets and for
//! tests that run them without a fuzzer.

use std::path::Path;

use crate::journal::SiteState;
use crate::sites_file::SitesFile;

/// Parses `data` as `sites.toml`, and checks that a legal file survives writing and reading. Returns
/// false if the file is not legal.
pub fn settings(data: &[u8]) -> bool {
    let path = Path::new("sites.toml");
    let text = std::str::from_utf8(data).ok();
    let file = text.and_then(|text| toml::from_str::<SitesFile>(text).ok());
    let Some(file) = file.filter(|file| file.check(path).is_ok()) else {
        return false;
    };
    let written = toml::to_string(&file).expect("a legal file");
    let again: SitesFile = toml::from_str(&written).expect("what was written");
    assert_eq!(file, again);
    true
}

/// Parses `data` as `pilots.json`, and checks that it survives writing and reading. Returns false if it
/// does not parse.
pub fn pilots(data: &[u8]) -> bool {
    let Ok(state) = serde_json::from_slice::<SiteState>(data) else {
        return false;
    };
    let written = serde_json::to_vec(&state).expect("our own type");
    let again: SiteState = serde_json::from_slice(&written).expect("what was written");
    assert_eq!(state, again);
    true
}
