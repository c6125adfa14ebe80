//! The address of a service for workers elsewhere, as the service leaves it in its data directory.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_server::{BoundAddress, url_of};
use tollgate_store::data_dir;

use crate::exit::CliFailure;

/// The address and the key under which a service listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NetworkAddress {
    /// Address and port.
    address: SocketAddr,
    /// Fingerprint of the key.
    pub(crate) fingerprint: String,
}

impl NetworkAddress {
    /// Leaves the address in the data directory of the service, or removes an earlier one if the
    /// service does not listen on the network.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn publish(data: &Path, bound: Option<BoundAddress>) -> io::Result<()> {
        let file = data_dir::network_address(data);
        let Some(bound) = bound else {
            return match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            };
        };
        let address = Self {
            address: bound.address,
            fingerprint: bound.fingerprint.to_string(),
        };
        fs::write(file, serde_json::to_vec(&address)?)
    }

    /// Reads the address. None if the service does not listen on the network.
    pub(crate) fn read(data: &Path) -> Result<Option<Self>, CliFailure> {
        let file = data_dir::network_address(data);
        let failed = |error| CliFailure::read_failed(file.display().to_string(), error);
        match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
            Ok(bytes) => {
                let read = serde_json::from_slice(&bytes);
                Ok(Some(read.map_err(|error| failed(error.into()))?))
            }
        }
    }

    /// Leaves the address in a directory that goes to another host, where `host` is the address of
    /// this one. The directory has no address afterwards if the service does not listen.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(crate) fn copy(data: &Path, to: &Path, host: IpAddr) -> Result<(), CliFailure> {
        let Some(mut own) = Self::read(data)? else {
            return Ok(());
        };
        if own.address.ip().is_unspecified() {
            own.address.set_ip(host);
        }
        let file = data_dir::network_address(to);
        let written = serde_json::to_vec(&own).map_err(io::Error::from);
        let written = written.and_then(|bytes| fs::write(&file, bytes));
        written.map_err(|error| CliFailure::write_failed(file.display().to_string(), error))
    }

    /// Returns the URL of the service, as in [`url_of`].
    pub(crate) fn url(&self) -> String {
        url_of(self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> NetworkAddress {
        NetworkAddress {
            address: text.parse().expect("an address"),
            fingerprint: String::new(),
        }
    }

    #[test]
    fn address_of_all_interfaces_becomes_the_host_name() {
        assert_eq!(address("127.0.0.1:8443").url(), "https://127.0.0.1:8443");
        assert_eq!(address("[::1]:8443").url(), "https://[::1]:8443");
        let url = address("0.0.0.0:8443").url();
        assert!(url.ends_with(":8443") && !url.contains("0.0.0.0"), "{url}");
    }
}
