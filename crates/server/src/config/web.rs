//! The window that the service serves itself.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::error::ConfigError;

/// The window of the service for browsers on this host, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebConfig {
    /// Loopback address and port. Default: none, and then `serve --web` has to name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"127.0.0.1:8018")]
    pub address: Option<String>,
    /// Path below which a reverse proxy shows the window. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"/tollgate")]
    pub prefix: Option<String>,
    /// Origin of that proxy, as in `https://hub.example`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"https://hub.example")]
    pub origin: Option<String>,
    /// Whether the window only shows, and lets nothing be submitted or changed.
    pub read_only: bool,
}

impl WebConfig {
    /// Returns the address to listen on.
    ///
    /// # Errors
    /// If it is no address, or if other hosts could reach it: the window has no TLS.
    pub fn loopback_address(&self) -> Result<SocketAddr, ConfigError> {
        let written = self.address.as_deref().unwrap_or("nothing");
        let address: Option<SocketAddr> = written.parse().ok();
        let Some(address) = address else {
            return Err(ConfigError::Range {
                key: "web.address",
                expected: "an address and a port as in 127.0.0.1:8018, here or by `serve --web`",
                found: written.to_owned(),
            });
        };
        match address.ip().is_loopback() {
            true => Ok(address),
            false => Err(ConfigError::WebAddress(address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(written: &str) -> Result<SocketAddr, ConfigError> {
        let address = Some(written.to_owned());
        let config = WebConfig {
            address,
            ..WebConfig::default()
        };
        config.loopback_address()
    }

    #[test]
    fn window_is_served_on_this_host_alone() {
        for own in ["127.0.0.1:8018", "127.0.0.9:0", "[::1]:8018"] {
            assert_eq!(address(own).unwrap().to_string(), own);
        }
        for reachable in ["0.0.0.0:8018", "192.0.2.1:8018", "[::]:8018"] {
            let refused = address(reachable).unwrap_err();
            assert!(matches!(refused, ConfigError::WebAddress(_)), "{refused}");
        }
        for wrong in ["8018", "localhost:8018", "127.0.0.1", ""] {
            let refused = address(wrong).unwrap_err();
            assert!(matches!(refused, ConfigError::Range { .. }), "{refused}");
        }
    }
}
