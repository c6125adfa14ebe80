//! The settings of the TCP server: address, certificate, host names and credentials.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use axum::http::uri::Authority;
use serde::{Deserialize, Serialize};
use tollgate_client::certificate::CertificateFiles;

use super::error::ConfigError;
use crate::access::UserScope;
use crate::net::credentials::{CredentialConfig, ProofType};
use crate::net::{AllowedHosts, Credential};
use crate::os_users;

/// Addresses to listen on besides the socket, as they are written. TCP is always with TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenConfig {
    /// Address and port. Default: none, and then `serve --listen` has to name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"127.0.0.1:8443")]
    pub address: Option<String>,
    /// PEM file with the certificate chain, relative to the directory of the settings. Default: a self-signed
    /// certificate that the service creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"service.pem")]
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key of `certificate`. Default: that of the created certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"service.key")]
    pub key: Option<PathBuf>,
    /// Host names that requests may name, besides the address and the name of this host. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["cluster.example.org"])]
    pub hosts: Vec<String>,
    /// Origins of web pages elsewhere that may send requests, as `https://host[:port]`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["https://portal.example.org"])]
    pub origins: Vec<String>,
}

/// The address and certificate of the TCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpListenOptions {
    /// Address and port; with port 0 the system picks a free port.
    pub address: SocketAddr,
    /// Files of the certificate; None to create one.
    pub files: Option<CertificateFiles>,
    /// Host names and origins that requests may name.
    pub hosts: AllowedHosts,
}

impl ListenConfig {
    /// Returns the default settings for an address.
    pub fn for_address(address: &str) -> Self {
        Self {
            address: Some(address.to_owned()),
            certificate: None,
            key: None,
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }

    pub(super) fn resolve(&self, dir: &Path) -> Result<TcpListenOptions, ConfigError> {
        let written = self.address.as_deref();
        let address = written.and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| ConfigError::Range {
            key: "listen.address",
            expected: "an address and a port as in 127.0.0.1:8443, here or by `serve --listen`",
            found: written.unwrap_or("nothing").to_owned(),
        })?;
        let files = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(CertificateFiles {
                certificate: dir.join(certificate),
                key: dir.join(key),
            }),
            (None, None) => None,
            (one, _) => {
                return Err(ConfigError::Range {
                    key: "listen",
                    expected: "both `certificate` and `key`, or neither",
                    found: if one.is_some() {
                        "`certificate`"
                    } else {
                        "`key`"
                    }
                    .to_owned(),
                });
            }
        };
        let names = self.hosts.iter().map(|name| host(name));
        let origins = self.origins.iter().map(|words| origin(words));
        Ok(TcpListenOptions {
            address,
            files,
            hosts: AllowedHosts {
                names: names.collect::<Result<_, _>>()?,
                origins: origins.collect::<Result<_, _>>()?,
            },
        })
    }
}

fn host(name: &str) -> Result<String, ConfigError> {
    let read = name.parse::<Authority>().ok();
    let is_bare = read.is_some_and(|read| read.host() == name);
    is_bare
        .then(|| name.to_ascii_lowercase())
        .ok_or_else(|| ConfigError::Range {
            key: "listen.hosts",
            expected: "names of hosts, without ports",
            found: name.to_owned(),
        })
}

fn origin(words: &str) -> Result<String, ConfigError> {
    let small = words.to_ascii_lowercase();
    let host = small.strip_prefix("https://");
    let read = host.and_then(|host| host.parse::<Authority>().ok());
    let is_origin = read.is_some_and(|read| !read.as_str().contains('@'));
    match is_origin {
        true => Ok(small),
        false => Err(ConfigError::Range {
            key: "listen.origins",
            expected: "origins as in https://host:8443",
            found: words.to_owned(),
        }),
    }
}

/// Parses the credentials of the settings.
pub(super) fn keys(
    tokens: &[CredentialConfig],
    certificates: &[CredentialConfig],
    scope: UserScope,
) -> Result<Vec<Credential>, ConfigError> {
    let tokens = tokens.iter().zip(1..);
    let certificates = certificates.iter().zip(1..);
    let tokens = tokens.map(|(written, place)| (ProofType::Token, written, place));
    let certificates =
        certificates.map(|(written, place)| (ProofType::Certificate, written, place));
    let own = rustix::process::geteuid().as_raw();
    tokens
        .chain(certificates)
        .map(|(proof, written, place)| {
            let list = match proof {
                ProofType::Token => "tokens",
                ProofType::Certificate => "certificates",
            };
            let failed = |what| ConfigError::Credential { list, place, what };
            let key = written.to_credential(proof, |name| {
                os_users::by_name(name).map_err(|error| error.to_string())
            });
            let key = key.map_err(failed)?;
            match scope == UserScope::Own && key.user != own {
                true => Err(failed(format!(
                    "user: with `users = \"own\"` expected the service's own user {own}, got {}",
                    key.user
                ))),
                false => Ok(key),
            }
        })
        .collect()
}
