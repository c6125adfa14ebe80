//! Grants, tokens and roles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::WireWord;
use crate::limits::{MAX_NAME, MAX_SPAN_S, MIN_SPAN_S, NO_CONTROL};

/// An exception from a user's share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// The reason, which the books show. At most 128 characters, none of them a control character.
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NO_CONTROL))]
    pub reason: String,
}

/// A token to create.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// User of the token, by name or number. Default: the user of the request; only root and the
    /// service's own user may name others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Kind: `user`, or `worker` for a token that can only register a worker.
    #[serde(default)]
    pub kind: AccessRole,
    /// Lifetime. Positive; default: until revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_SPAN_S, max = MAX_SPAN_S))]
    pub expires_s: Option<f64>,
    /// For a worker's token: number of workers that may connect with it, from 1 to 10000. Each gets a
    /// key of its own. Default: any number of workers connect with the token itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub uses: Option<u32>,
}

/// A created token. The service shows it once and stores only its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token.
    pub token: String,
    /// The information that the service stores about the token.
    #[serde(flatten)]
    pub about: TokenInfo,
}

/// A token or a certificate, as the service stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenInfo {
    /// Id of the token or certificate.
    pub id: String,
    /// Type.
    pub proof: WireWord<CredentialProof>,
    /// User id.
    pub user_id: u32,
    /// Kind.
    pub kind: WireWord<AccessRole>,
    /// Instant of its creation; none if the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_at: Option<String>,
    /// Instant of its expiry; none if it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Number of workers that may still connect with it for the first time; none if not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// Id of the token that a worker got this key with; none for other tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_with: Option<String>,
    /// The SHA-256 of the token, or of the certificate's public key.
    pub fingerprint: String,
}

/// The tokens and certificates of the user; of all users for root and the service's own user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// The tokens and certificates, configured ones first.
    pub tokens: Vec<TokenInfo>,
}

/// A link to the window of the service. It works once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLink {
    /// The address of the window. It ends with a slash, behind which the names of pages follow.
    pub url: String,
    /// The ticket, for the end of the address of any page: `#ticket=TICKET`.
    pub ticket: String,
    /// Time in which the ticket must be used.
    pub expires_s: f64,
}

/// The access that a credential gives.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AccessRole {
    /// May submit jobs and query them.
    #[default]
    User,
    /// May register as a worker, and nothing else.
    Worker,
}

/// The type of a credential.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CredentialProof {
    /// A token.
    Token,
    /// A certificate.
    Certificate,
}
