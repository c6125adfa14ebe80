//! What the fuzz targets run; hidden, public only for them and for the tests that drive them without
//! a fuzzer.

use crate::client::frontends;
use crate::client::script;

/// Reads `data` as a script for `qsub`, in either style, and as one for `tollgate submit`: there is
/// a message, or there are wishes. False if there is a message in every case.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    frontends::check_script(text) | script::parses(text)
}
