//! The address of a service on the network, as the service leaves it in its data directory.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_client::Fingerprint;
use tollgate_engine::ServiceLocation;
use tollgate_store::data_dir;

/// The TCP address and the key of a running service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundAddress {
    /// Address and port.
    pub address: SocketAddr,
    /// Fingerprint of the certificate's public key.
    pub fingerprint: Fingerprint,
}

impl BoundAddress {
    /// Returns the URL of the service. A service that listens on all addresses of this host is reached by the name
    /// of the host.
    pub fn url(&self) -> String {
        let Self { address, .. } = self;
        if address.ip().is_unspecified() {
            let name = rustix::system::uname();
            let host = name.nodename().to_string_lossy();
            return format!("https://{host}:{}", address.port());
        }
        format!("https://{address}")
    }

    /// Returns where hosts that share the network with this one find the service; None if it listens for its
    /// own host alone.
    pub(crate) fn remote_location(&self) -> Option<ServiceLocation> {
        (!self.address.ip().is_loopback()).then(|| ServiceLocation::Elsewhere {
            url: self.url(),
            fingerprint: Some(self.fingerprint.to_string()),
            authorities: None,
        })
    }

    /// Returns the address as hosts see it that know this host by the address `host`.
    pub fn seen_at(mut self, host: IpAddr) -> Self {
        if self.address.ip().is_unspecified() {
            self.address.set_ip(host);
        }
        self
    }

    /// Leaves the address in a data directory, or removes an earlier one if the service does not listen on the
    /// network.
    ///
    /// # Errors
    /// If the file, [`data_dir::network_address`], cannot be written.
    pub fn publish(bound: Option<Self>, data: &Path) -> io::Result<()> {
        let file = data_dir::network_address(data);
        match bound {
            Some(bound) => fs::write(file, serde_json::to_vec(&bound)?),
            None => match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
        }
    }

    /// Reads the address in a data directory. None if the service does not listen on the network.
    ///
    /// # Errors
    /// If the file, [`data_dir::network_address`], cannot be read.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        match fs::read(data_dir::network_address(data)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(Some(serde_json::from_slice(&read?)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(address: &str) -> BoundAddress {
        BoundAddress {
            address: address.parse().unwrap(),
            fingerprint: Fingerprint::of(b"key"),
        }
    }

    #[test]
    fn address_of_all_interfaces_becomes_the_host_name() {
        assert_eq!(bound("127.0.0.1:8443").url(), "https://127.0.0.1:8443");
        assert_eq!(bound("[::1]:8443").url(), "https://[::1]:8443");
        let url = bound("0.0.0.0:8443").url();
        assert!(url.ends_with(":8443") && !url.contains("0.0.0.0"), "{url}");
        let host = IpAddr::from([10, 0, 0, 7]);
        let seen = bound("0.0.0.0:8443").seen_at(host);
        assert_eq!(seen.url(), "https://10.0.0.7:8443");
        assert_eq!(bound("127.0.0.1:1").seen_at(host), bound("127.0.0.1:1"));
    }

    #[test]
    fn service_is_found_from_elsewhere_unless_it_listens_for_its_own_host() {
        assert_eq!(bound("127.0.0.1:7").remote_location(), None);
        assert_eq!(bound("[::1]:7").remote_location(), None);
        for address in ["10.0.0.2:7", "0.0.0.0:7", "[::]:7"] {
            let service = bound(address);
            let Some(ServiceLocation::Elsewhere { url, .. }) = service.remote_location() else {
                panic!("{address} is reached from elsewhere");
            };
            assert_eq!(url, service.url());
        }
    }

    #[test]
    fn address_is_read_as_it_was_published_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let published = bound("0.0.0.0:8443");
        BoundAddress::publish(Some(published), dir.path()).unwrap();
        assert_eq!(BoundAddress::read(dir.path()).unwrap(), Some(published));
        BoundAddress::publish(None, dir.path()).unwrap();
        BoundAddress::publish(None, dir.path()).unwrap();
        assert_eq!(BoundAddress::read(dir.path()).unwrap(), None);
    }
}
