//! Entry points of the fuzz targets. The module is hidden, and public only for the targets and for
//! the tests that drive them without a fuzzer.

use crate::client::frontends;
use crate::client::script;

/// Parses `data` as a script for `qsub` in either style, and as a script for `tollgate submit`.
/// Each attempt gives options or an error message. Returns false if every attempt gives an error
/// message.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    frontends::check_script(text) | script::parses(text)
}
