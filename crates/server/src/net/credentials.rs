//! The users and roles of tokens and certificates. Only fingerprints are stored, so a reader of the
//! file cannot impersonate a user.

mod file;
mod issue;

use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use tollgate_client::types::AccessRole;
use tollgate_client::{Fingerprint, SecretToken};
use tollgate_host::StateFileError;
use tollgate_model::Instant;

pub use file::CredentialConfig;
pub use issue::{IssueError, MAX_USES};

/// Maximum number of unrevoked tokens of a user, besides those for a number of workers.
const MAX_TOKENS: usize = 64;
/// Maximum number of unrevoked tokens of a user that are for a number of workers each: one a pilot.
const MAX_PILOT_TOKENS: usize = 4096;

/// A token or a certificate that authenticates a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Kind of proof.
    pub proof: ProofType,
    /// Fingerprint of the token, or of the certificate's public key.
    pub fingerprint: Fingerprint,
    /// The user.
    pub user: u32,
    /// The access that the holder has.
    pub role: AccessRole,
    /// Creation time; None if the configuration names the credential.
    pub made: Option<Instant>,
    /// Instant from which the credential is invalid; None if it does not expire.
    pub expires: Option<Instant>,
    /// Number of workers that may still get a key of their own with this token; None if workers
    /// connect with the token itself.
    pub uses_left: Option<u32>,
    /// The token that a worker got this key with; None if it is no such key.
    pub issued_with: Option<Fingerprint>,
}

/// The kind of proof that a client presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofType {
    /// A token, sent with each request.
    Token,
    /// A certificate, presented in the TLS handshake.
    Certificate,
}

/// An error from creating or revoking a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be written, or the system has no random bytes.
    #[error("the tokens cannot be stored: {0}")]
    System(#[from] io::Error),
    /// The user is at the token limit.
    #[error("token limit reached: a user may have {0} tokens of this kind")]
    TooMany(usize),
    /// No token has this name.
    #[error("no such token")]
    Unknown,
    /// The configuration names the token.
    #[error("this token is in the configuration")]
    Configured,
}

/// All credentials of a service.
#[derive(Debug)]
pub struct CredentialStore {
    /// Credentials in the configuration.
    configured: Vec<Credential>,
    /// Tokens created at run time, as in the file.
    tokens: RwLock<Vec<Credential>>,
    file: PathBuf,
}

impl CredentialStore {
    /// Opens the store: the credentials of the configuration, and those in the file. The file is
    /// created with the first token.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn open(file: PathBuf, set: Vec<Credential>) -> Result<Self, StateFileError> {
        Ok(Self {
            configured: set,
            tokens: RwLock::new(file::read(&file)?),
            file,
        })
    }

    /// Returns the credential with this fingerprint if it is valid at `now`.
    pub fn find(
        &self,
        proof: ProofType,
        fingerprint: &Fingerprint,
        now: Instant,
    ) -> Option<Credential> {
        let presented = |key: &&Credential| {
            let stands = key.expires.is_none_or(|expires| now < expires);
            key.proof == proof && stands && key.fingerprint == *fingerprint
        };
        let made = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        self.configured
            .iter()
            .chain(&*made)
            .find(presented)
            .cloned()
    }

    /// Returns whether a credential seen earlier is still valid: it may have been revoked or have
    /// expired.
    pub fn is_valid(&self, fingerprint: &Fingerprint, now: Instant) -> bool {
        [ProofType::Token, ProofType::Certificate]
            .into_iter()
            .any(|proof| self.find(proof, fingerprint, now).is_some())
    }

    /// Returns all credentials, those of the configuration first.
    pub fn credentials(&self) -> Vec<Credential> {
        let made = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        self.configured.iter().chain(&*made).cloned().collect()
    }

    /// Returns whether the server requests client certificates.
    pub fn has_certificates(&self) -> bool {
        self.configured
            .iter()
            .any(|key| key.proof == ProofType::Certificate)
    }

    /// Creates a token. It is on disk when this function returns.
    ///
    /// # Errors
    /// If the token cannot be stored, or the user is at the token limit.
    pub fn create_token(
        &self,
        user: u32,
        role: AccessRole,
        (expires, uses): (Option<Instant>, Option<u32>),
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
            uses_left: uses,
            issued_with: None,
        };
        let mut made = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let mut keys = made.clone();
        keys.retain(|key| key.expires.is_none_or(|expires| now < expires));
        let is_alike = |key: &&Credential| {
            key.issued_with.is_none() && key.uses_left.is_some() == uses.is_some()
        };
        let counts = |key: &&Credential| key.user == user && is_alike(key);
        let most = match uses {
            Some(_) => MAX_PILOT_TOKENS,
            None => MAX_TOKENS,
        };
        if keys.iter().filter(counts).count() >= most {
            return Err(TokenError::TooMany(most));
        }
        keys.push(key.clone());
        file::write(&self.file, &keys)?;
        *made = keys;
        Ok((secret, key))
    }

    /// Revokes the token with this name, among those for which `ours` is true. The token and the keys
    /// that workers got with it are invalid at once.
    ///
    /// # Errors
    /// If there is no such token, the configuration names it, or the file cannot be written.
    pub fn revoke(&self, name: &str, ours: impl Fn(&Credential) -> bool) -> Result<(), TokenError> {
        let meant = |key: &Credential| key.fingerprint.short() == name && ours(key);
        let mut made = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let revoked = made.iter().find(|key| meant(key));
        let revoked = revoked.map(|key| key.fingerprint);
        let stays = |key: &&Credential| {
            !meant(key) && (key.issued_with.is_none() || key.issued_with != revoked)
        };
        let keys: Vec<Credential> = made.iter().filter(stays).cloned().collect();
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

    fn ring(dir: &tempfile::TempDir) -> CredentialStore {
        CredentialStore::open(dir.path().join("tokens.toml"), Vec::new()).unwrap()
    }

    #[test]
    fn token_is_valid_until_it_is_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, key) = ring(&dir)
            .create_token(7, AccessRole::Worker, (None, None), NOW)
            .unwrap();
        // A restart of the service.
        let ring = ring(&dir);
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
    fn token_is_invalid_after_its_expiry() {
        let dir = tempfile::tempdir().unwrap();
        let ring = ring(&dir);
        let expires = Instant::from_secs(200);
        let (secret, _) = ring
            .create_token(7, AccessRole::User, (Some(expires), None), NOW)
            .unwrap();
        let at = |now| ring.find(ProofType::Token, &secret.fingerprint(), now);
        assert!(at(Instant::from_secs(199)).is_some());
        assert!(at(expires).is_none());
        // Creating another token drops the expired one.
        ring.create_token(8, AccessRole::User, (None, None), expires)
            .unwrap();
        assert_eq!(ring.credentials().len(), 1);
    }

    #[test]
    fn tokens_per_user_are_limited() {
        let dir = tempfile::tempdir().unwrap();
        let ring = ring(&dir);
        for _ in 0..MAX_TOKENS {
            ring.create_token(7, AccessRole::User, (None, None), NOW)
                .unwrap();
        }
        let more = ring.create_token(7, AccessRole::User, (None, None), NOW);
        assert!(matches!(more, Err(TokenError::TooMany(MAX_TOKENS))));
        // A pilot needs a token of its own.
        let of_pilot = ring.create_token(7, AccessRole::Worker, (None, Some(1)), NOW);
        assert!(of_pilot.is_ok());
        assert!(
            ring.create_token(8, AccessRole::User, (None, None), NOW)
                .is_ok()
        );
    }

    #[test]
    fn token_file_is_private_and_holds_hashes_only() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let (secret, key) = ring(&dir)
            .create_token(7, AccessRole::User, (None, None), NOW)
            .unwrap();
        let file = dir.path().join("tokens.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&secret.reveal()[9..]), "{text}");
        assert!(text.contains(&key.fingerprint.to_string()), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
