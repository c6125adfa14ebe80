//! Random keys: of requests, sites and sessions.

use std::io;

use crate::exit::CliFailure;

/// The number of random bytes in the key of a site.
const KEY_BYTES: usize = 4;

/// Returns letters that no other site has.
pub(crate) fn random_key() -> Result<String, CliFailure> {
    random_hex::<KEY_BYTES>()
}

/// Returns random bytes as hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, CliFailure> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        CliFailure::read_failed("the system's random source", io::Error::other(error))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
