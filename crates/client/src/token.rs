//! Tokens: secrets that authenticate their holder.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tollgate_host::random_hex;

use crate::Fingerprint;

/// Prefix of a token, so that leaked tokens are recognised.
const PREFIX: &str = "tollgate_";
/// Random bytes of a token.
const TOKEN_LEN: usize = 32;
/// Maximum length of a token in a file, in bytes.
const MAX_TOKEN_LEN: u64 = 256;

/// A token. The service writes it only to the response that creates it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretToken(String);

/// An error from reading a token file.
#[derive(Debug, thiserror::Error)]
pub enum SecretTokenError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Other users can read the file.
    #[error("{}: expected a file that others cannot read, found mode {mode:03o}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The file does not hold a token.
    #[error("{}: expected one token", .0.display())]
    NoToken(PathBuf),
}

impl SecretToken {
    /// Creates a random token.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn generate() -> io::Result<Self> {
        let digits = random_hex::<TOKEN_LEN>()?;
        Ok(Self(format!("{PREFIX}{digits}")))
    }

    /// Reads the token in a file that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or it does not hold a token.
    pub fn read(path: &Path) -> Result<Self, SecretTokenError> {
        let failed = |error| SecretTokenError::Read {
            path: path.to_owned(),
            error,
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        // A pipe, unlike a regular file, is readable for this reader only.
        let mode = metadata.mode() & 0o777;
        if metadata.is_file() && mode & 0o077 != 0 {
            let path = path.to_owned();
            return Err(SecretTokenError::Open { path, mode });
        }
        let mut text = String::new();
        file.take(MAX_TOKEN_LEN)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let word = text.trim();
        if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretTokenError::NoToken(path.to_owned()));
        }
        Ok(Self(word.to_owned()))
    }

    /// Returns the fingerprint, which is safe to store.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.0.as_bytes())
    }

    /// Returns the secret itself, to be passed on.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Debug output hides the secret, so it appears in no log.
impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn tokens_are_unique_and_hidden_in_debug_output() {
        let one = SecretToken::generate().unwrap();
        assert_ne!(one, SecretToken::generate().unwrap());
        assert_eq!(one.reveal().len(), PREFIX.len() + 2 * TOKEN_LEN);
        assert_eq!(format!("{one:?}"), "Secret(..)");
    }

    #[test]
    fn token_file_readable_by_others_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let secret = SecretToken::generate().unwrap();
        fs::write(&file, format!("{}\n", secret.reveal())).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(
            SecretToken::read(&file),
            Err(SecretTokenError::Open { mode: 0o640, .. })
        ));
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(SecretToken::read(&file).unwrap(), secret);
    }

    #[test]
    fn invalid_token_file_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        for text in ["", "\n", "two words", "caf\u{e9}"] {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            assert!(
                matches!(SecretToken::read(&file), Err(SecretTokenError::NoToken(_))),
                "{text:?}"
            );
        }
    }
}
