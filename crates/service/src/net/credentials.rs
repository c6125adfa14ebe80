//! Whom tokens and certificates stand for: fingerprints only, so that whoever reads this can pass
//! for nobody.

mod file;

use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use tollgate_model::Instant;

use super::{Fingerprint, SecretToken};
use crate::access::AccessRole;

pub use file::{CredentialConfig, CredentialFileError};

/// The most tokens that a user may have made and not revoked.
const MAX_TOKENS: usize = 64;

/// Something that stands for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// What shows it.
    pub proof: ProofType,
    /// Of the token, or of the certificate's public key.
    pub fingerprint: Fingerprint,
    /// Whom it stands for.
    pub user: u32,
    /// What its holder is let in for.
    pub role: AccessRole,
    /// When it was made; none if the settings name it.
    pub made: Option<Instant>,
    /// From when on it stands for nobody; none if never.
    pub expires: Option<Instant>,
}

/// What somebody shows for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofType {
    /// A token, with each request.
    Token,
    /// A certificate, as the connection is made.
    Certificate,
}

/// Why a token is not made or not revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be written, or there are no random bytes.
    #[error("the tokens cannot be stored: {0}")]
    System(#[from] io::Error),
    /// The user has as many as one may.
    #[error("token limit reached: a user may have {MAX_TOKENS} tokens")]
    TooMany,
    /// There is none by this name.
    #[error("no such token")]
    Unknown,
    /// The settings name it.
    #[error("this token is in the configuration")]
    Configured,
}

/// Every key of a service.
#[derive(Debug)]
pub struct CredentialStore {
    /// Named by the settings.
    configured: Vec<Credential>,
    /// Tokens that were made since, as they are in the file.
    tokens: RwLock<Vec<Credential>>,
    file: PathBuf,
}

impl CredentialStore {
    /// The keys of the settings, and those in the file, which is made with the first token.
    ///
    /// # Errors
    /// If there is a file, and it cannot be read.
    pub fn open(file: PathBuf, set: Vec<Credential>) -> Result<Self, CredentialFileError> {
        Ok(Self {
            configured: set,
            tokens: RwLock::new(file::read(&file)?),
            file,
        })
    }

    /// The key that was shown, if it stands for anybody at `now`.
    pub fn find(
        &self,
        proof: ProofType,
        fingerprint: &Fingerprint,
        now: Instant,
    ) -> Option<Credential> {
        let shown = |key: &&Credential| {
            let stands = key.expires.is_none_or(|expires| now < expires);
            key.proof == proof && stands && key.fingerprint == *fingerprint
        };
        let made = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        self.configured.iter().chain(&*made).find(shown).cloned()
    }

    /// Whether a key that was shown before still stands for somebody: it may have been taken back
    /// meanwhile, or have expired.
    pub fn is_valid(&self, fingerprint: &Fingerprint, now: Instant) -> bool {
        [ProofType::Token, ProofType::Certificate]
            .into_iter()
            .any(|proof| self.find(proof, fingerprint, now).is_some())
    }

    /// Every key: those of the settings first.
    pub fn credentials(&self) -> Vec<Credential> {
        let made = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        self.configured.iter().chain(&*made).cloned().collect()
    }

    /// Whether certificates are asked for.
    pub fn has_certificates(&self) -> bool {
        self.configured
            .iter()
            .any(|key| key.proof == ProofType::Certificate)
    }

    /// Makes a token; it is on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be kept, or the user has as many as one may.
    pub fn create_token(
        &self,
        user: u32,
        role: AccessRole,
        expires: Option<Instant>,
        now: Instant,
    ) -> Result<(SecretToken, Credential), TokenError> {
        let secret = SecretToken::generate()?;
        let key = Credential {
            proof: ProofType::Token,
            fingerprint: secret.fingerprint(),
            user,
            role,
            made: Some(now),
            expires,
        };
        let mut made = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let mut keys = made.clone();
        keys.retain(|key| key.expires.is_none_or(|expires| now < expires));
        if keys.iter().filter(|key| key.user == user).count() >= MAX_TOKENS {
            return Err(TokenError::TooMany);
        }
        keys.push(key.clone());
        file::write(&self.file, &keys)?;
        *made = keys;
        Ok((secret, key))
    }

    /// Takes a token back that is `ours`: from now on it stands for nobody.
    ///
    /// # Errors
    /// If none of ours has this name, the settings name it, or the file cannot be written.
    pub fn revoke(&self, name: &str, ours: impl Fn(&Credential) -> bool) -> Result<(), TokenError> {
        let meant = |key: &Credential| key.fingerprint.short() == name && ours(key);
        let mut made = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<Credential> = made.iter().filter(|key| !meant(key)).cloned().collect();
        if keys.len() == made.len() {
            return Err(match self.configured.iter().any(meant) {
                true => TokenError::Configured,
                false => TokenError::Unknown,
            });
        }
        file::write(&self.file, &keys)?;
        *made = keys;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(100);

    fn ring(folder: &tempfile::TempDir) -> CredentialStore {
        CredentialStore::open(folder.path().join("tokens.toml"), Vec::new()).unwrap()
    }

    #[test]
    fn a_token_stands_for_its_user_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, key) = ring(&folder)
            .create_token(7, AccessRole::Worker, None, NOW)
            .unwrap();
        // Another process, later.
        let ring = ring(&folder);
        let find = |proof| ring.find(proof, &secret.fingerprint(), NOW);
        assert_eq!(find(ProofType::Token), Some(key.clone()));
        assert_eq!(find(ProofType::Certificate), None);
        let name = key.fingerprint.short();
        let others = ring.revoke(&name, |key| key.user == 8);
        assert!(matches!(others, Err(TokenError::Unknown)));
        ring.revoke(&name, |key| key.user == 7).unwrap();
        assert_eq!(find(ProofType::Token), None);
        assert!(ring.credentials().is_empty());
    }

    #[test]
    fn a_token_expires() {
        let folder = tempfile::tempdir().unwrap();
        let ring = ring(&folder);
        let expires = Instant::from_secs(200);
        let (secret, _) = ring
            .create_token(7, AccessRole::User, Some(expires), NOW)
            .unwrap();
        let at = |now| ring.find(ProofType::Token, &secret.fingerprint(), now);
        assert!(at(Instant::from_secs(199)).is_some());
        assert!(at(expires).is_none());
        // It is forgotten with the next one.
        ring.create_token(8, AccessRole::User, None, expires)
            .unwrap();
        assert_eq!(ring.credentials().len(), 1);
    }

    #[test]
    fn a_user_has_only_so_many() {
        let folder = tempfile::tempdir().unwrap();
        let ring = ring(&folder);
        for _ in 0..MAX_TOKENS {
            ring.create_token(7, AccessRole::User, None, NOW).unwrap();
        }
        let more = ring.create_token(7, AccessRole::User, None, NOW);
        assert!(matches!(more, Err(TokenError::TooMany)));
        assert!(ring.create_token(8, AccessRole::User, None, NOW).is_ok());
    }

    #[test]
    fn the_file_tells_no_token_and_nobody_else_reads_it() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let (secret, key) = ring(&folder)
            .create_token(7, AccessRole::User, None, NOW)
            .unwrap();
        let file = folder.path().join("tokens.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&secret.reveal()[9..]), "{text}");
        assert!(text.contains(&key.fingerprint.to_string()), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
