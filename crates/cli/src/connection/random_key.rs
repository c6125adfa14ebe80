//! Random keys: of requests, sites and sessions.

use std::io;

use crate::exit::CliFailure;

/// Returns letters that no other site has.
pub(crate) fn random_key() -> Result<String, CliFailure> {
    tollgate_host::random_key().map_err(no_random_bytes)
}

/// Returns random bytes as hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, CliFailure> {
    tollgate_host::random_hex::<BYTES>().map_err(no_random_bytes)
}

fn no_random_bytes(error: io::Error) -> CliFailure {
    CliFailure::read_failed("the system's random source", error)
}
