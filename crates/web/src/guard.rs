//! The checks of every request before anything else, and the headers of every answer. A page of another origin can
//! neither read from the window nor act through it.

use std::net::SocketAddr;

use axum::http::header::{self, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// The policy of the content of a page: nothing loads that does not come from the window itself.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types tollgate";
/// The header in which a browser says how the page of a request is related to the window.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The origins under which a browser may know the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowOrigins {
    origins: Vec<String>,
}

/// A request that the window does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The request names another host.
    #[error("this address is not that of the window: open the link that `tollgate open` prints")]
    Host,
    /// The request comes from a page of another origin.
    #[error("requests of other pages are not answered")]
    Origin,
}

impl GuardError {
    /// Returns the HTTP status.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
        }
    }
}

impl WindowOrigins {
    /// Returns the origins of a window at a loopback address, and that of a reverse proxy before it if there is one,
    /// as `https://host[:port]`.
    pub fn new(address: SocketAddr, proxy: Option<&str>) -> Self {
        let port = address.port();
        let own =
            [address.to_string(), format!("localhost:{port}")].map(|name| format!("http://{name}"));
        let proxy = proxy.map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Self {
            origins: own.into_iter().chain(proxy).collect(),
        }
    }

    /// Checks the headers of a request.
    ///
    /// # Errors
    /// If it names another host or comes from a page of another origin.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), GuardError> {
        let host = single(headers, &HOST)?.ok_or(GuardError::Host)?;
        let host = host.to_ascii_lowercase();
        let mut own = self.origins.iter().filter(|origin| {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority == Some(host.as_str())
        });
        let own = own.next().ok_or(GuardError::Host)?;
        match single(headers, &ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if origin.eq_ignore_ascii_case(own) => {}
            Ok(Some(_)) | Err(_) => return Err(GuardError::Origin),
        }
        match single(headers, &FETCH_SITE) {
            Ok(None | Some("same-origin" | "none")) => Ok(()),
            Ok(Some(_)) | Err(_) => Err(GuardError::Origin),
        }
    }
}

/// Returns the only value of a header. None if it is missing.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, GuardError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    match (value.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        _ => Err(GuardError::Host),
    }
}

/// Adds the headers that every answer has. Data is not stored by browsers or proxies.
pub(crate) fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[(&'static str, &str)]) -> Result<(), GuardError> {
        let mut headers = HeaderMap::new();
        for (name, value) in words {
            headers.append(*name, value.parse().unwrap());
        }
        let address = ([127, 0, 0, 1], 4711).into();
        WindowOrigins::new(address, Some("https://hub.example/")).check(&headers)
    }

    #[test]
    fn own_host_with_its_port_is_accepted() {
        for host in [
            "127.0.0.1:4711",
            "localhost:4711",
            "LOCALHOST:4711",
            "hub.example",
        ] {
            assert_eq!(check(&[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn any_other_host_is_misdirected() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:4712",
            "evil.example:4711",
            "[::1]:4711",
            "",
        ] {
            assert_eq!(check(&[("host", host)]), Err(GuardError::Host), "{host}");
        }
        assert_eq!(check(&[]), Err(GuardError::Host));
        let twice = [("host", "127.0.0.1:4711"), ("host", "127.0.0.1:4711")];
        assert_eq!(check(&twice), Err(GuardError::Host));
    }

    #[test]
    fn page_of_another_origin_is_refused() {
        let host = ("host", "127.0.0.1:4711");
        let own = ("origin", "http://127.0.0.1:4711");
        assert_eq!(
            check(&[host, own, ("sec-fetch-site", "same-origin")]),
            Ok(())
        );
        assert_eq!(check(&[host, ("sec-fetch-site", "none")]), Ok(()));
        for origin in [
            "http://127.0.0.1:4712",
            "https://127.0.0.1:4711",
            // The same window under its other name is another origin.
            "http://localhost:4711",
            "null",
        ] {
            let checked = check(&[host, ("origin", origin)]);
            assert_eq!(checked, Err(GuardError::Origin), "{origin}");
        }
        for site in ["same-site", "cross-site"] {
            let checked = check(&[host, ("sec-fetch-site", site)]);
            assert_eq!(checked, Err(GuardError::Origin), "{site}");
        }
    }
}
