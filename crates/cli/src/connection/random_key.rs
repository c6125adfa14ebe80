//! Random keys: of requests, sites and sessions.

use crate::exit::CliFailure;

/// The number of random bytes in the key of a site.
const KEY_BYTES: usize = 4;

/// Returns letters that no other site has.
pub(crate) fn random_key() -> Result<String, CliFailure> {
    random_hex::<KEY_BYTES>()
}

/// Returns random bytes as hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, CliFailure> {
    tollgate_host::random_hex::<BYTES>()
        .map_err(|error| CliFailure::read_failed("the system's random source", error))
}
