//! A fingerprint that distinguishes inputs.

use std::fmt;

/// A digest of the inputs, in order: FNV-1a with 64 bits (Fowler, Noll & Vo). It protects against
/// mistakes, not against malice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputFingerprint(u64);

impl Default for InputFingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl InputFingerprint {
    /// Adds a number.
    pub fn add_number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds a text and its length.
    pub fn add_text(&mut self, text: &str) {
        self.add_number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// Returns the digest as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Writes 16 hexadecimal digits.
impl fmt::Display for InputFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_matches_published_fnv1a() {
        let mut fingerprint = InputFingerprint::default();
        fingerprint.bytes(b"foobar");
        assert_eq!(fingerprint.to_string(), "85944171f73967e8");
    }
}
