//! Errors of the configuration.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tollgate_client::private_file::PrivateFileError;
use tollgate_model::Market;
use tollgate_policy::PolicyError;
use tollgate_service::{RetryError, UnknownSelectPolicy, UnpredictableActionError};

use crate::notices::BadNoticeSettings;

/// An error of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not valid TOML for the configuration.
    #[error("{}: {error}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The parse error with its location.
        error: Box<toml::de::Error>,
    },
    /// Other users may write to the file or its directory.
    #[error(transparent)]
    Open(#[from] PrivateFileError),
    /// An entry for a token or certificate is invalid.
    #[error("{list}: {place}: {what}")]
    Credential {
        /// `tokens` or `certificates`.
        list: &'static str,
        /// Position of the entry, from 1.
        place: usize,
        /// Description of the problem.
        what: String,
    },
    /// The policy does not exist or its parameters are invalid.
    #[error("{key}: {error}")]
    Policy {
        /// Key of the setting.
        key: &'static str,
        /// Error of the policy.
        error: PolicyError,
    },
    /// The rule for evicted tasks does not exist, or its numbers are invalid.
    #[error("{key}: {error}")]
    Rule {
        /// Key of the setting.
        key: &'static str,
        /// Error of the rule.
        error: RetryError,
    },
    /// The choice among idle computers does not exist.
    #[error("desktops.choose: {0}")]
    SelectPolicy(UnknownSelectPolicy),
    /// The treatment of jobs whose run time cannot be predicted does not exist.
    #[error("unpredictable.action: {0}")]
    Unpredictable(UnpredictableActionError),
    /// The power of a computer is no power.
    #[error("desktops.power.{group}: expected 0 <= asleep <= idle <= active, in watts")]
    Power {
        /// The group of computers.
        group: String,
    },
    /// The setting names several policies.
    #[error("{key}: expected one policy, got `{found}`")]
    Policies {
        /// Key of the setting.
        key: &'static str,
        /// The value found.
        found: String,
    },
    /// The policy needs budgets, but the market has none.
    #[error("{key}: `{policy}` weighs budgets, and market `{market}` has no budgets")]
    WrongMarket {
        /// Key of the setting.
        key: &'static str,
        /// The policy.
        policy: String,
        /// The market.
        market: Market,
    },
    /// The policy is another program.
    #[error(
        "{key}: `{policy}` is not a policy for a service: a decision must not wait for another \
         program, and cannot be repeated after a crash"
    )]
    ExternalPolicy {
        /// Key of the setting.
        key: &'static str,
        /// The policy.
        policy: String,
    },
    /// The window would be reachable from other hosts, without TLS.
    #[error(
        "web.address: {0} is reachable from other hosts, and the window has no TLS: expected an address as in 127.0.0.1:8018"
    )]
    WebAddress(SocketAddr),
    /// Notices to users would not work.
    #[error(transparent)]
    Notices(#[from] BadNoticeSettings),
    /// A setting is out of its range.
    #[error("{key}: expected {expected}, got {found}")]
    Range {
        /// Key of the setting.
        key: &'static str,
        /// The expected range.
        expected: &'static str,
        /// The value found.
        found: String,
    },
}
