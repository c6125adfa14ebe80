//! A worker's own key, which it gets for a token that is valid for a number of workers.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use tollgate_client::{Fingerprint, SecretToken};
use tollgate_host::replace_private;
use tollgate_store::DataDir;

/// The key of a worker, in its data directory: a draft until the service has accepted it.
#[derive(Debug)]
pub struct WorkerKey {
    secret: SecretToken,
    dir: PathBuf,
    is_issued: Mutex<bool>,
}

impl WorkerKey {
    /// Reads the key in a worker's data directory, or draws one.
    ///
    /// # Errors
    /// If the key cannot be read or stored.
    pub fn open(dir: &DataDir) -> io::Result<Self> {
        let dir = dir.path().to_owned();
        let read = |name| match SecretToken::read(&dir.join(name)) {
            Ok(secret) => Ok(Some(secret)),
            Err(_) if !dir.join(name).exists() => Ok(None),
            Err(error) => Err(io::Error::other(error.to_string())),
        };
        let issued = read(ISSUED)?;
        let is_issued = Mutex::new(issued.is_some());
        let secret = match (issued, read(DRAFT)?) {
            (Some(secret), _) | (None, Some(secret)) => secret,
            (None, None) => {
                let secret = SecretToken::generate()?;
                replace_private(&dir.join(DRAFT), secret.reveal().as_bytes())?;
                secret
            }
        };
        Ok(Self {
            secret,
            dir,
            is_issued,
        })
    }

    /// Returns the secret if the service knows the key.
    pub(super) fn issued(&self) -> Option<&SecretToken> {
        let is_issued = self.is_issued.lock().is_ok_and(|is_issued| *is_issued);
        is_issued.then_some(&self.secret)
    }

    /// Returns the fingerprint of the key.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.secret.fingerprint()
    }

    /// Records that the service knows the key.
    pub(super) fn mark_issued(&self) -> io::Result<()> {
        std::fs::rename(self.dir.join(DRAFT), self.dir.join(ISSUED))?;
        self.set_issued(true);
        Ok(())
    }

    /// Records that the service does not know the key any more, which only a new token helps.
    pub(super) fn mark_unknown(&self) -> io::Result<()> {
        std::fs::rename(self.dir.join(ISSUED), self.dir.join(DRAFT))?;
        self.set_issued(false);
        Ok(())
    }

    fn set_issued(&self, issued: bool) {
        if let Ok(mut is_issued) = self.is_issued.lock() {
            *is_issued = issued;
        }
    }
}

/// The file of a key that the service knows.
const ISSUED: &str = "key";
/// The file of a key that the service may not know yet.
const DRAFT: &str = "key.draft";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn key_is_kept_in_a_private_file() {
        let place = tempfile::tempdir().unwrap();
        let dir = DataDir::lock(place.path()).unwrap();
        let first = WorkerKey::open(&dir).unwrap();
        assert!(first.issued().is_none());
        first.mark_issued().unwrap();
        let again = WorkerKey::open(&dir).unwrap();
        assert_eq!(again.issued(), Some(&first.secret));
        let mode = std::fs::metadata(place.path().join(ISSUED)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        again.mark_unknown().unwrap();
        assert!(WorkerKey::open(&dir).unwrap().issued().is_none());
    }
}
