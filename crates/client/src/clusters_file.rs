//! The clusters of a user, as their file `clusters.toml` names them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Fingerprint;
use crate::endpoint::ConnectOptions;

/// The word that means all clusters.
pub const ANY_CLUSTER: &str = "any";
/// The maximum length of a name.
const MAX_NAME: usize = 32;

/// Where a service is, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceEndpoint {
    /// On this host, in a data directory.
    Local(PathBuf),
    /// On another host.
    Remote(ConnectOptions),
}

/// A cluster: a service with a gate of its own, under a name of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// Name: a small letter, then small letters, digits and `-`, at most 32.
    pub name: String,
    /// Data directory of a service on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// URL of a service on another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// With `url`: key of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// With `url`: file with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
    /// With `url`: file with the client's certificate and private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<PathBuf>,
    /// With `url`: file with the certificates to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca: Option<PathBuf>,
}

/// The clusters of a user, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClustersFile {
    /// The clusters.
    #[serde(default, rename = "cluster", skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterSettings>,
}

/// An error of the user's clusters.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The file has no such cluster.
    #[error("no such cluster: {0}")]
    Unknown(String),
    /// The file has no cluster at all.
    #[error("no clusters: {} has none", .0.display())]
    NoClusters(PathBuf),
    /// A cluster or a site has the name already.
    #[error("{name}: the name is that of {owner}")]
    Taken {
        /// The name.
        name: String,
        /// The owner of the name.
        owner: &'static str,
    },
    /// An invalid name of a cluster.
    #[error(
        "{0}: expected a small letter, then small letters, digits and `-`, at most 32; not `any`"
    )]
    Name(String),
    /// A setting that is not understood.
    #[error("{}: {message}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
}

impl ClusterSettings {
    /// Returns the cluster at an address.
    pub fn new(name: &str, endpoint: ServiceEndpoint) -> Self {
        let mut settings = Self {
            name: name.to_owned(),
            data: None,
            url: None,
            fingerprint: None,
            token_file: None,
            certificate: None,
            ca: None,
        };
        match endpoint {
            ServiceEndpoint::Local(data) => settings.data = Some(absolute(data)),
            ServiceEndpoint::Remote(options) => {
                settings.url = Some(options.url);
                settings.fingerprint = options.fingerprint.map(|print| print.to_string());
                settings.token_file = options.token.map(absolute);
                settings.certificate = options.certificate.map(absolute);
                settings.ca = options.authorities.map(absolute);
            }
        }
        settings
    }

    /// Checks the settings, which name one address.
    fn check(&self) -> Result<(), String> {
        if !is_cluster_name(&self.name) {
            return Err(ClusterError::Name(self.name.clone()).to_string());
        }
        if self.data.is_some() == self.url.is_some() {
            return Err(format!(
                "cluster `{}`: expected either data or url",
                self.name
            ));
        }
        self.options().map(drop)
    }

    /// Returns the settings of the connection; None for a service on this host.
    fn options(&self) -> Result<Option<ConnectOptions>, String> {
        let read = |words: &String| words.parse::<Fingerprint>();
        let fingerprint = self.fingerprint.as_ref().map(read).transpose();
        let fingerprint = fingerprint
            .map_err(|error| format!("cluster `{}`: fingerprint: {error}", self.name))?;
        Ok(self.url.clone().map(|url| ConnectOptions {
            url,
            token: self.token_file.clone(),
            certificate: self.certificate.clone(),
            authorities: self.ca.clone(),
            fingerprint,
        }))
    }

    /// Returns where its service is. The environment of the process names no part of it: a token for one
    /// service is not shown to another.
    pub fn endpoint(&self) -> ServiceEndpoint {
        match self.options() {
            Ok(Some(options)) => ServiceEndpoint::Remote(options),
            // The fingerprint was checked when the file was read.
            Ok(None) | Err(_) => ServiceEndpoint::Local(self.data.clone().unwrap_or_default()),
        }
    }

    /// Describes the address.
    pub fn address(&self) -> String {
        match (&self.url, &self.data) {
            (Some(url), _) => url.clone(),
            (None, data) => data.clone().unwrap_or_default().display().to_string(),
        }
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Returns whether a word can be the name of a cluster.
pub fn is_cluster_name(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_well = word.starts_with(|letter: char| letter.is_ascii_lowercase());
    starts_well && word.bytes().all(is_plain) && word.len() <= MAX_NAME && word != ANY_CLUSTER
}

impl ClustersFile {
    /// Reads clusters from the text of a file.
    ///
    /// # Errors
    /// The problem as a sentence: the text is no such file, or two clusters have one name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for (at, cluster) in file.clusters.iter().enumerate() {
            cluster.check()?;
            if file.clusters[..at]
                .iter()
                .any(|other| other.name == cluster.name)
            {
                return Err(format!("two clusters are called `{}`", cluster.name));
            }
        }
        Ok(file)
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// If a path is no text.
    pub fn to_text(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Returns the cluster with a name.
    ///
    /// # Errors
    /// If there is no such cluster.
    pub fn cluster(&self, name: &str) -> Result<&ClusterSettings, ClusterError> {
        let cluster = self.clusters.iter().find(|cluster| cluster.name == name);
        cluster.ok_or_else(|| ClusterError::Unknown(name.to_owned()))
    }

    /// Returns the clusters that a list of names means, each once. The word `any` means all. `path` is that of the
    /// file.
    ///
    /// # Errors
    /// If there is no cluster of a name, or no cluster at all.
    pub fn chosen(
        &self,
        names: &[String],
        path: &Path,
    ) -> Result<Vec<ClusterSettings>, ClusterError> {
        if self.clusters.is_empty() {
            return Err(ClusterError::NoClusters(path.to_owned()));
        }
        let mut chosen: Vec<ClusterSettings> = Vec::new();
        for name in names {
            let named = match name.as_str() {
                ANY_CLUSTER => self.clusters.clone(),
                name => vec![self.cluster(name)?.clone()],
            };
            for cluster in named {
                if !chosen.contains(&cluster) {
                    chosen.push(cluster);
                }
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_survives_a_round_trip() {
        let print = Fingerprint::of(b"key");
        let text = format!(
            "[[cluster]]\nname = \"north\"\ndata = \"/srv/north\"\n\n[[cluster]]\nname = \"south\"\n\
             url = \"https://south:8443\"\nfingerprint = \"{print}\"\ntoken_file = \"/t\"\n"
        );
        let file = ClustersFile::parse(&text).unwrap();
        assert_eq!(toml::to_string(&file).unwrap(), text);
        assert!(matches!(
            file.clusters[0].endpoint(),
            ServiceEndpoint::Local(_)
        ));
        let ServiceEndpoint::Remote(options) = file.clusters[1].endpoint() else {
            panic!("south is on another host");
        };
        assert_eq!(options.fingerprint, Some(print));
    }

    #[test]
    fn file_with_two_meanings_is_rejected() {
        for text in [
            "[[cluster]]\nname = \"any\"\ndata = \"/a\"\n",
            "[[cluster]]\nname = \"North\"\ndata = \"/a\"\n",
            "[[cluster]]\nname = \"a\"\n",
            "[[cluster]]\nname = \"a\"\ndata = \"/a\"\nurl = \"https://a\"\n",
            "[[cluster]]\nname = \"a\"\nurl = \"https://a\"\nfingerprint = \"x\"\n",
            "[[cluster]]\nname = \"a\"\ndata = \"/a\"\n[[cluster]]\nname = \"a\"\ndata = \"/b\"\n",
            "[[cluster]]\nname = \"a\"\ndata = \"/a\"\nport = 1\n",
        ] {
            assert!(ClustersFile::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn chosen_clusters_are_named_once() {
        let text =
            "[[cluster]]\nname = \"a\"\ndata = \"/a\"\n[[cluster]]\nname = \"b\"\ndata = \"/b\"\n";
        let file = ClustersFile::parse(text).unwrap();
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let chosen = file.chosen(&words, Path::new("/c")).unwrap();
            chosen
                .into_iter()
                .map(|cluster| cluster.name)
                .collect::<String>()
        };
        assert_eq!(names(&["any"]), "ab");
        assert_eq!(names(&["b", "any"]), "ba");
        assert_eq!(names(&["b", "b"]), "b");
        assert!(file.chosen(&["c".to_owned()], Path::new("/c")).is_err());
    }
}
