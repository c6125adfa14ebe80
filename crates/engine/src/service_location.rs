//! Where the attempts of a host find the service that runs them.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::LaunchSpec;

/// The variable with the data directory of the service.
pub const DATA_VARIABLE: &str = "TOLLGATE_DATA";
/// The variable with the URL of a service on another host.
pub const URL_VARIABLE: &str = "TOLLGATE_URL";
/// The variable with the fingerprint of that service's key.
pub const FINGERPRINT_VARIABLE: &str = "TOLLGATE_FINGERPRINT";
/// The variable with the file of the certificates to trust.
pub const AUTHORITIES_VARIABLE: &str = "TOLLGATE_CA";

/// The location of a service, as seen from a host. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceLocation {
    /// On this host, in this data directory; absolute.
    Here(PathBuf),
    /// On another host.
    Elsewhere {
        /// `https://host:port`.
        url: String,
        /// Fingerprint of the service's key, if that is known.
        fingerprint: Option<String>,
        /// File with the certificates to trust otherwise; absolute.
        authorities: Option<PathBuf>,
    },
}

impl ServiceLocation {
    /// Adds to a launch the variables by which its program, as a client, finds the service, unless its job
    /// names a service itself.
    pub fn add_to(&self, launch: &mut LaunchSpec) {
        let is_set = |name: &str| launch.env.iter().any(|(other, _)| other == name);
        if [DATA_VARIABLE, URL_VARIABLE].into_iter().any(is_set) {
            return;
        }
        let variables: Vec<(&str, OsString)> = match self {
            Self::Here(data) => vec![(DATA_VARIABLE, data.into())],
            Self::Elsewhere {
                url,
                fingerprint,
                authorities,
            } => {
                let fingerprint = fingerprint.as_ref().map(OsString::from);
                let authorities = authorities.as_ref().map(OsString::from);
                let proofs = [
                    (FINGERPRINT_VARIABLE, fingerprint),
                    (AUTHORITIES_VARIABLE, authorities),
                ];
                let proofs = proofs.into_iter();
                let proofs = proofs.filter_map(|(name, value)| Some((name, value?)));
                let proofs = proofs.filter(|(name, _)| !is_set(name));
                [(URL_VARIABLE, OsString::from(url))]
                    .into_iter()
                    .chain(proofs)
                    .collect()
            }
        };
        let variables = variables.into_iter();
        launch
            .env
            .extend(variables.map(|(name, value)| (name.into(), value)));
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{AttemptId, NodeId};

    use super::*;

    fn env_with(own: &[(&str, &str)], location: &ServiceLocation) -> Vec<String> {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["true"], "/");
        let own = own.iter().map(|(name, value)| (name.into(), value.into()));
        launch.env = own.collect();
        location.add_to(&mut launch);
        let text = |(name, value): &(OsString, OsString)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        };
        launch.env.iter().map(text).collect()
    }

    #[test]
    fn job_finds_its_service_unless_it_names_one() {
        let here = ServiceLocation::Here("/data".into());
        let elsewhere = ServiceLocation::Elsewhere {
            url: "https://a:1".to_owned(),
            fingerprint: Some("sha256:0".to_owned()),
            authorities: None,
        };
        assert_eq!(env_with(&[], &here), ["TOLLGATE_DATA=/data"]);
        assert_eq!(
            env_with(&[], &elsewhere),
            ["TOLLGATE_URL=https://a:1", "TOLLGATE_FINGERPRINT=sha256:0"]
        );
        for location in [&here, &elsewhere] {
            for own in [("TOLLGATE_DATA", "/own"), ("TOLLGATE_URL", "https://b:2")] {
                let expected = format!("{}={}", own.0, own.1);
                assert_eq!(env_with(&[own], location), [expected]);
            }
        }
        let own = ("TOLLGATE_FINGERPRINT", "sha256:1");
        let expected = ["TOLLGATE_FINGERPRINT=sha256:1", "TOLLGATE_URL=https://a:1"];
        assert_eq!(env_with(&[own], &elsewhere), expected);
    }
}
