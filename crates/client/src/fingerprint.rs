//! Fingerprints of keys.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// Prefix of a fingerprint as text.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a token, or of a public key (`SubjectPublicKeyInfo`, DER).
///
/// A token has 256 random bits, so a slow hash would not make guessing any harder.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

/// The error for text that is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a fingerprint: `sha256:` and 64 hexadecimal digits")]
pub struct BadFingerprint;

impl Fingerprint {
    /// Returns the fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Self(hash)
    }

    /// Returns the first 12 digits: the name of a token in commands.
    pub fn short(&self) -> String {
        self.digits()[..12].to_owned()
    }

    fn digits(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The comparison takes the same time wherever the two differ.
impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.digits())
    }
}

impl From<Fingerprint> for String {
    fn from(print: Fingerprint) -> Self {
        print.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = BadFingerprint;

    fn try_from(words: String) -> Result<Self, BadFingerprint> {
        words.parse()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    fn from_str(words: &str) -> Result<Self, BadFingerprint> {
        let digits = words.trim().strip_prefix(PREFIX).ok_or(BadFingerprint)?;
        // Other programs print colons between the bytes: they are skipped.
        let digits: Vec<u32> = digits
            .chars()
            .filter(|&letter| letter != ':')
            .map(|letter| letter.to_digit(16).ok_or(BadFingerprint))
            .collect::<Result<_, _>>()?;
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(BadFingerprint);
        }
        let mut hash = [0; 32];
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = (high << 4 | low) as u8;
        }
        Ok(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, the example with "abc".
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn fingerprint_is_the_sha_256_in_hex() {
        let print = Fingerprint::of(b"abc");
        assert_eq!(print.to_string(), ABC);
        assert_eq!(ABC.parse(), Ok(print));
        assert_eq!(print.short(), "ba7816bf8f01");
        assert_ne!(print, Fingerprint::of(b"abd"));
    }

    #[test]
    fn fingerprint_with_colons_or_capitals_is_parsed() {
        let digits = &ABC[PREFIX.len()..].to_uppercase();
        let pairs: Vec<&str> = (0..32).map(|at| &digits[2 * at..2 * at + 2]).collect();
        let words = format!("sha256:{}", pairs.join(":"));
        assert_eq!(words.parse(), Ok(Fingerprint::of(b"abc")));
    }

    #[test]
    fn invalid_fingerprint_is_rejected() {
        for words in [
            "",
            "sha256:",
            "md5:00",
            &ABC[..60],
            &format!("{ABC}0"),
            "sha256:zz",
        ] {
            assert_eq!(words.parse::<Fingerprint>(), Err(BadFingerprint), "{words}");
        }
    }
}
