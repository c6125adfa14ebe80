//! Host names and web origins that requests may name. A browser that was deceived (DNS rebinding, a
//! foreign page with a user's certificate) sends a name or an origin that is not the service's.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

use crate::workers::transport::PATH as WORKER_PATH;

/// Host names and origins that are allowed besides the address of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    /// Host names, in lower case.
    pub names: Vec<String>,
    /// Allowed origins of foreign pages: `https://host[:port]`, in lower case.
    pub origins: Vec<String>,
}

/// The transport of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestTransport {
    /// TCP with TLS, to this local address.
    Tcp(IpAddr),
    /// The Unix socket, perhaps forwarded from a port of another host, without TLS.
    UnixSocket,
}

/// A failed check of host or origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostCheckError {
    /// The request names another host.
    Host,
    /// The request comes from a foreign web page.
    Origin,
}

impl AllowedHosts {
    /// Returns these hosts with the name of this host, and its first label: clients elsewhere know it
    /// by one of them. A foreign page cannot have such a name, unless it is a page of this host.
    #[must_use]
    pub fn with_own_name(mut self) -> Self {
        let system = rustix::system::uname();
        let own = system.nodename().to_string_lossy().to_ascii_lowercase();
        let label = own.split('.').next().unwrap_or_default().to_owned();
        let names = [own, label].into_iter();
        let is_name = |name: &String| name.parse::<Authority>().is_ok();
        self.names.extend(names.filter(is_name));
        self
    }

    /// Checks the host and the origin of a request that arrived through `entrance`.
    pub(super) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        entrance: RequestTransport,
    ) -> Result<(), HostCheckError> {
        let host = single_value(headers, HOST.as_str()).ok_or(HostCheckError::Host)?;
        let host: Authority = host.parse().map_err(|_| HostCheckError::Host)?;
        if !is_worker(uri, headers) && !self.is_ours(&host, entrance) {
            return Err(HostCheckError::Host);
        }
        if uri
            .authority()
            .is_some_and(|called| !is_same_authority(called, &host))
        {
            return Err(HostCheckError::Host);
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = single_value(headers, ORIGIN.as_str()).ok_or(HostCheckError::Origin)?;
        let origin = origin.to_ascii_lowercase();
        let ours = origin.strip_prefix("https://").or_else(|| match entrance {
            RequestTransport::Tcp(_) => None,
            RequestTransport::UnixSocket => origin.strip_prefix("http://"),
        });
        let ours = ours.and_then(|name| name.parse::<Authority>().ok());
        match ours.is_some_and(|ours| is_same_authority(&ours, &host))
            || self.origins.contains(&origin)
        {
            true => Ok(()),
            false => Err(HostCheckError::Origin),
        }
    }

    /// Returns whether a host is the service's. The port is ignored, because a forwarded port may
    /// differ.
    fn is_ours(&self, host: &Authority, entrance: RequestTransport) -> bool {
        if host.as_str().contains('@') {
            return false;
        }
        let name = host.host().to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) => entrance.is_at(ip) || self.names.iter().any(|known| known == bare),
            Err(_) => (name == "localhost" && entrance.is_local()) || self.names.contains(&name),
        }
    }
}

impl RequestTransport {
    /// Returns whether clients may use this address: for the socket, that of a forwarded port.
    fn is_at(self, ip: IpAddr) -> bool {
        match self {
            Self::Tcp(local) => ip == local,
            Self::UnixSocket => ip.is_loopback(),
        }
    }

    fn is_local(self) -> bool {
        match self {
            Self::Tcp(local) => local.is_loopback(),
            Self::UnixSocket => true,
        }
    }
}

/// Returns whether the request comes from a worker, and not from a browser. A worker shows a token and
/// has checked the key of the service, by whatever name the user gave it, so no name can deceive it.
fn is_worker(uri: &Uri, headers: &HeaderMap) -> bool {
    let rest = uri.path().strip_prefix(WORKER_PATH);
    let is_for_workers = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_for_workers && !headers.contains_key(ORIGIN)
}

fn is_same_authority(one: &Authority, other: &Authority) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}

/// Returns the only value of a header; None if there are several.
fn single_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        hosts: &AllowedHosts,
        words: &[(&'static str, &str)],
        local: &str,
    ) -> Result<(), HostCheckError> {
        let mut headers = HeaderMap::new();
        for (name, value) in words {
            headers.append(*name, value.parse().unwrap());
        }
        let uri = Uri::from_static("/v1/status");
        hosts.check(
            &uri,
            &headers,
            RequestTransport::Tcp(local.parse().unwrap()),
        )
    }

    #[test]
    fn request_to_own_address_or_configured_name_is_accepted() {
        let hosts = AllowedHosts {
            names: vec!["cluster.example".to_owned()],
            ..AllowedHosts::default()
        };
        let host = |name, local| check(&hosts, &[("host", name)], local);
        for name in [
            "127.0.0.1",
            "127.0.0.1:8443",
            "localhost",
            "LOCALHOST:1",
            "cluster.example",
            "Cluster.Example:8443",
        ] {
            assert_eq!(host(name, "127.0.0.1"), Ok(()), "{name}");
        }
        assert_eq!(host("[2001:db8::1]:8443", "2001:db8::1"), Ok(()));
        for name in [
            "evil.example",
            "127.0.0.2",
            "localhost.evil.example",
            "",
            "cluster.example.",
            "x@localhost",
        ] {
            assert_eq!(host(name, "127.0.0.1"), Err(HostCheckError::Host), "{name}");
        }
        assert_eq!(host("localhost", "192.0.2.1"), Err(HostCheckError::Host));
    }

    #[test]
    fn request_by_the_name_of_this_host_is_accepted() {
        let hosts = AllowedHosts::default().with_own_name();
        let system = rustix::system::uname();
        let own = system.nodename().to_string_lossy().into_owned();
        let label = own.split('.').next().unwrap().to_uppercase();
        for name in [own.as_str(), &format!("{own}:8443"), &label] {
            assert_eq!(
                check(&hosts, &[("host", name)], "192.0.2.1"),
                Ok(()),
                "{name}"
            );
        }
        let foreign = check(&hosts, &[("host", "evil.example")], "192.0.2.1");
        assert_eq!(foreign, Err(HostCheckError::Host));
    }

    #[test]
    fn worker_is_accepted_by_any_name_and_a_page_is_not() {
        let hosts = AllowedHosts::default();
        let check = |path: &'static str, words: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in words {
                headers.append(*name, value.parse().unwrap());
            }
            let local = RequestTransport::Tcp("192.0.2.1".parse().unwrap());
            hosts.check(&Uri::from_static(path), &headers, local)
        };
        let host = ("host", "gateway.example:8443");
        assert_eq!(check("/v1/work", &[host]), Ok(()));
        assert_eq!(check("/v1/work/key", &[host]), Ok(()));
        for (path, words) in [
            ("/v1/workers", &[host][..]),
            ("/v1/status", &[host]),
            (
                "/v1/work",
                &[host, ("origin", "https://gateway.example:8443")],
            ),
        ] {
            assert_eq!(check(path, words), Err(HostCheckError::Host), "{path}");
        }
    }

    #[test]
    fn request_with_several_host_headers_is_rejected() {
        let hosts = AllowedHosts::default();
        assert_eq!(check(&hosts, &[], "127.0.0.1"), Err(HostCheckError::Host));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(
            check(&hosts, &twice, "127.0.0.1"),
            Err(HostCheckError::Host)
        );
        let headers = HeaderMap::from_iter([(HOST, "localhost".parse().unwrap())]);
        let uri = Uri::from_static("https://evil.example/v1/status");
        let local = RequestTransport::Tcp("127.0.0.1".parse().unwrap());
        assert_eq!(
            hosts.check(&uri, &headers, local),
            Err(HostCheckError::Host)
        );
    }

    #[test]
    fn socket_accepts_local_hosts_and_pages_of_a_forwarded_port() {
        let hosts = AllowedHosts::default();
        let check = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            let uri = Uri::from_static("/v1/status");
            hosts.check(&uri, &headers, RequestTransport::UnixSocket)
        };
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
        ] {
            assert_eq!(check(host, None), Ok(()), "{host}");
            let own = format!("http://{host}");
            assert_eq!(check(host, Some(&own)), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "192.0.2.1", ""] {
            assert_eq!(check(host, None), Err(HostCheckError::Host), "{host}");
        }
        for origin in ["null", "http://evil.example", "http://localhost:8081"] {
            let checked = check("localhost:8080", Some(origin));
            assert_eq!(checked, Err(HostCheckError::Origin), "{origin}");
        }
    }

    #[test]
    fn request_from_a_foreign_origin_is_rejected() {
        let hosts = AllowedHosts {
            origins: vec!["https://desk.example".to_owned()],
            ..AllowedHosts::default()
        };
        let from = |origin| {
            let words = [("host", "localhost:8443"), ("origin", origin)];
            check(&hosts, &words, "127.0.0.1")
        };
        assert_eq!(from("https://localhost:8443"), Ok(()));
        assert_eq!(from("https://desk.example"), Ok(()));
        for origin in [
            "null",
            "http://localhost:8443",
            "https://localhost",
            "https://evil.example",
            "https://desk.example:1",
        ] {
            assert_eq!(from(origin), Err(HostCheckError::Origin), "{origin}");
        }
    }
}
