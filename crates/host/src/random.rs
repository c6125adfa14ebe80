//! Random bytes of the system.

use std::io;

/// The number of random bytes in a key.
const KEY_BYTES: usize = 4;

/// Returns unpredictable random bytes.
///
/// # Errors
/// If the system has none.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Returns twice as many hexadecimal digits of random bytes.
///
/// # Errors
/// If the system has none.
pub fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let bytes = random_bytes::<BYTES>()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns eight random hexadecimal digits: a key that no other site, session or request of a user has.
///
/// # Errors
/// If the system has no random bytes.
pub fn random_key() -> io::Result<String> {
    random_hex::<KEY_BYTES>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_two_digits_a_byte_and_differ() {
        let (one, other) = (random_hex::<8>().unwrap(), random_hex::<8>().unwrap());
        assert_eq!(one.len(), 16);
        assert!(one.bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_ne!(one, other);
    }
}
