//! The file of tokens, in the format of the configuration.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_client::timestamp::{format_iso, parse_iso};
use tollgate_client::types::AccessRole;
use tollgate_host::{StateFileError, read_state_file, replace_private};

use super::{Credential, ProofType};

/// A token or a certificate as it is written, in settings and in the file of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialConfig {
    /// User that it authenticates: a name or a number.
    #[schemars(example = 1000)]
    pub user: UserRef,
    /// Fingerprint of the token, or of the certificate's public key: `sha256:` and 64 hexadecimal digits.
    #[schemars(example = &"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
    pub fingerprint: String,
    /// Access of its holder: `user` or `worker`.
    #[serde(default)]
    pub kind: AccessRole,
    /// Instant of its creation. Default: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2026-12-01T09:00:00Z")]
    pub made_at: Option<String>,
    /// Instant from which it is invalid. Default: it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2027-12-01T09:00:00Z")]
    pub expires_at: Option<String>,
}

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum UserRef {
    /// By number.
    Id(u32),
    /// By name.
    Name(String),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default)]
    tokens: Vec<CredentialConfig>,
    /// Uses left, by the fingerprint of the token.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    uses: BTreeMap<String, u32>,
    /// The token that a key was issued with, by the fingerprint of the key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    issued: BTreeMap<String, String>,
}

impl CredentialConfig {
    /// Parses the entry; `look_up` finds users by name.
    ///
    /// # Errors
    /// A description of the invalid field.
    pub fn to_credential(
        &self,
        proof: ProofType,
        look_up: impl Fn(&str) -> Result<u32, String>,
    ) -> Result<Credential, String> {
        let instant = |field, words: &Option<String>| match words {
            None => Ok(None),
            Some(words) => parse_iso(words)
                .map(Some)
                .map_err(|error| format!("{field}: {error}")),
        };
        Ok(Credential {
            proof,
            fingerprint: self
                .fingerprint
                .parse()
                .map_err(|error| format!("fingerprint: {error}"))?,
            user: match &self.user {
                UserRef::Id(user) => *user,
                UserRef::Name(name) => look_up(name).map_err(|what| format!("user: {what}"))?,
            },
            role: self.kind,
            made: instant("made_at", &self.made_at)?,
            expires: instant("expires_at", &self.expires_at)?,
            uses_left: None,
            issued_with: None,
        })
    }
}

impl From<&Credential> for CredentialConfig {
    fn from(key: &Credential) -> Self {
        Self {
            user: UserRef::Id(key.user),
            fingerprint: key.fingerprint.to_string(),
            kind: key.role,
            made_at: key.made.map(format_iso),
            expires_at: key.expires.map(format_iso),
        }
    }
}

/// Returns the tokens in the file; none if the file does not exist.
pub(super) fn read(path: &Path) -> Result<Vec<Credential>, StateFileError> {
    Ok(read_state_file(path, parse)?.unwrap_or_default())
}

fn parse(text: &str) -> Result<Vec<Credential>, String> {
    let body: TokenFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let numbers_only = |name: &str| Err(format!("expected a number, got `{name}`"));
    let tokens = body.tokens.iter().zip(1..);
    tokens
        .map(|(written, place)| {
            let key = written.to_credential(ProofType::Token, numbers_only);
            let key = key.and_then(|key| {
                let issuer = body.issued.get(&written.fingerprint);
                let issuer = issuer.map(|issuer| issuer.parse()).transpose();
                Ok(Credential {
                    uses_left: body.uses.get(&written.fingerprint).copied(),
                    issued_with: issuer.map_err(|error| format!("issued: {error}"))?,
                    ..key
                })
            });
            key.map_err(|what| format!("token {place}: {what}"))
        })
        .collect()
}

/// Replaces the file atomically: a crash leaves the old or the new file.
pub(super) fn write(path: &Path, keys: &[Credential]) -> io::Result<()> {
    let name = |key: &Credential| key.fingerprint.to_string();
    let uses = keys
        .iter()
        .filter_map(|key| Some((name(key), key.uses_left?)));
    let issued = keys.iter();
    let issued = issued.filter_map(|key| Some((name(key), key.issued_with?.to_string())));
    let body = TokenFile {
        tokens: keys.iter().map(CredentialConfig::from).collect(),
        uses: uses.collect(),
        issued: issued.collect(),
    };
    let text = toml::to_string(&body).map_err(io::Error::other)?;
    replace_private(path, text.as_bytes())
}
