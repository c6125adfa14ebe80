//! Keys of workers' own, for tokens that are valid for a number of workers.
//!
//! A worker draws its key itself and shows its fingerprint together with the token. So the key is
//! never sent before it is used, and a worker whose first connection broke may ask again.

use std::sync::PoisonError;

use tollgate_client::Fingerprint;
use tollgate_client::types::AccessRole;
use tollgate_model::{Instant, Span};

use super::{Credential, CredentialStore, ProofType, file};

/// Maximum number of workers of one token.
pub const MAX_USES: u32 = 10_000;
/// Time for which a worker's key is valid. Jobs of batch systems end earlier.
const KEY_LIFETIME: Span = Span::from_secs(30 * 86_400);

/// A reason for which a worker gets no key.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The token is unknown, or not for keys.
    #[error("this token gives no key to a worker")]
    NotIssuing,
    /// All uses of the token were spent.
    #[error("this token is used up: each of its uses was for one worker, with its data directory")]
    UsedUp,
    /// The key belongs to another token.
    #[error("this key was issued with another token")]
    OtherToken,
    /// The file of tokens cannot be written.
    #[error("the key cannot be stored: {0}")]
    System(#[from] std::io::Error),
}

impl CredentialStore {
    /// Makes `key` a valid credential of a worker, and spends one use of `token`. The key is on disk
    /// when this function returns. A key that was issued with this token before spends nothing.
    ///
    /// # Errors
    /// If the token has no uses left, or the key cannot be stored.
    pub fn issue_key(
        &self,
        token: &Fingerprint,
        key: Fingerprint,
        now: Instant,
    ) -> Result<(), IssueError> {
        let mut made = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.iter().find(|known| known.fingerprint == key) {
            return match known.issued_with == Some(*token) {
                true => Ok(()),
                false => Err(IssueError::OtherToken),
            };
        }
        let mut keys = made.clone();
        keys.retain(|key| key.expires.is_none_or(|expires| now < expires));
        let place = keys.iter().position(|known| known.fingerprint == *token);
        let issuer = place.map(|place| &mut keys[place]);
        let issuer = issuer.ok_or(IssueError::NotIssuing)?;
        let left = issuer.uses_left.ok_or(IssueError::NotIssuing)?;
        issuer.uses_left = Some(left.checked_sub(1).ok_or(IssueError::UsedUp)?);
        let issued = Credential {
            proof: ProofType::Token,
            fingerprint: key,
            user: issuer.user,
            role: AccessRole::Worker,
            made: Some(now),
            expires: Some(now + KEY_LIFETIME),
            uses_left: None,
            issued_with: Some(*token),
        };
        keys.push(issued);
        file::write(&self.file, &keys)?;
        *made = keys;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tollgate_client::SecretToken;

    use super::*;

    const NOW: Instant = Instant::from_secs(100);

    #[test]
    fn token_gives_as_many_keys_as_it_has_uses() {
        let dir = tempfile::tempdir().unwrap();
        let open = || CredentialStore::open(dir.path().join("tokens.toml"), Vec::new()).unwrap();
        let ring = open();
        let made = ring.create_token(7, AccessRole::Worker, (None, Some(2)), NOW);
        let (_, token) = made.unwrap();
        let key = || SecretToken::generate().unwrap().fingerprint();
        let keys = [key(), key(), key()];
        let issue = |ring: &CredentialStore, key| ring.issue_key(&token.fingerprint, key, NOW);
        issue(&ring, keys[0]).unwrap();
        // The worker did not get the answer, and the service was started again.
        let ring = open();
        issue(&ring, keys[0]).unwrap();
        issue(&ring, keys[1]).unwrap();
        let third = issue(&ring, keys[2]);
        assert!(matches!(third, Err(IssueError::UsedUp)), "{third:?}");
        let find = |key| ring.find(ProofType::Token, key, NOW);
        let issued = find(&keys[1]).unwrap();
        assert_eq!((issued.user, issued.role), (7, AccessRole::Worker));
        assert_eq!(find(&token.fingerprint).unwrap().uses_left, Some(0));
        // Its keys end with the token.
        ring.revoke(&token.fingerprint.short(), |_| true).unwrap();
        assert!(find(&keys[0]).is_none() && find(&keys[1]).is_none());
    }

    #[test]
    fn ordinary_token_gives_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let ring = CredentialStore::open(dir.path().join("tokens.toml"), Vec::new()).unwrap();
        let made = ring.create_token(7, AccessRole::Worker, (None, None), NOW);
        let (secret, token) = made.unwrap();
        let key = SecretToken::generate().unwrap().fingerprint();
        let refused = ring.issue_key(&token.fingerprint, key, NOW);
        assert!(matches!(refused, Err(IssueError::NotIssuing)));
        assert_eq!(secret.fingerprint(), token.fingerprint);
    }
}
