//! Which service is meant.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use tollgate_service::net::Fingerprint;
use tollgate_service::net::remote::Directions;
use tollgate_service::{Client, Remote, folder};

use super::error::LiveError;
use crate::exit::Failure;

/// The data folder of a service.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// The data folder of the service [default: TOLLGATE_DATA, else tollgate in the user's state
    /// folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Which service is meant: by its data folder on this host, or elsewhere by its URL.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Address {
    #[command(flatten)]
    place: Place,
    /// A service elsewhere, instead of a data folder: https://HOST:PORT [default: TOLLGATE_URL]
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    url: Option<String>,
    #[command(flatten)]
    way: Way,
}

/// What a service elsewhere is known by, and what is shown to it.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Way {
    /// With --url: the file with the token [default: TOLLGATE_TOKEN_FILE]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// With --url: the file with a certificate to show and its private key [default:
    /// TOLLGATE_CERTIFICATE]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    certificate: Option<PathBuf>,
    /// With --url: the file with certificates that vouch for the service [default: TOLLGATE_CA]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    ca: Option<PathBuf>,
    /// With --url: what `tollgate serve` prints, instead of --ca [default: TOLLGATE_FINGERPRINT]
    #[arg(long, value_name = "sha256:..", hide_short_help = true)]
    fingerprint: Option<Fingerprint>,
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

impl Place {
    /// The data folder: the flag over the environment over the user's own.
    pub(super) fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self
            .data
            .clone()
            .or_else(|| set("TOLLGATE_DATA").map(PathBuf::from))
            .or_else(|| set("XDG_STATE_HOME").map(|state| PathBuf::from(state).join("tollgate")))
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/state/tollgate")));
        folder.ok_or(LiveError::NoData.into())
    }
}

impl Address {
    /// A connection to it.
    pub(super) fn connect(&self) -> Result<Client, Failure> {
        match self.url()? {
            Some(url) => Ok(Client::connect_to(&self.way.to(url)?)?),
            None => Ok(Client::connect(&folder::socket(&self.place.folder()?))?),
        }
    }

    /// Whether it may be on another host.
    pub(super) fn is_elsewhere(&self) -> Result<bool, Failure> {
        Ok(self.url()?.is_some())
    }

    /// Flags over the environment, and there a URL over a folder.
    fn url(&self) -> Result<Option<String>, Failure> {
        match (&self.url, &self.place.data) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, Some(_)) => Ok(None),
            (None, None) => text("TOLLGATE_URL"),
        }
    }
}

impl Way {
    /// All that is needed to talk to the service at a URL.
    pub(super) fn to(&self, url: String) -> Result<Remote, Failure> {
        let file =
            |flag: &Option<PathBuf>, name| flag.clone().or_else(|| set(name).map(PathBuf::from));
        let fingerprint = match (self.fingerprint, text("TOLLGATE_FINGERPRINT")?) {
            (Some(print), _) => Some(print),
            // Whoever says who vouches for it means that.
            (None, _) if self.ca.is_some() => None,
            (None, Some(words)) => {
                let read = words.parse();
                Some(read.map_err(|error| Failure::flag("fingerprint", format!("{error}")))?)
            }
            (None, None) => None,
        };
        let directions = Directions {
            url,
            token: file(&self.token_file, "TOLLGATE_TOKEN_FILE"),
            certificate: file(&self.certificate, "TOLLGATE_CERTIFICATE"),
            authorities: file(&self.ca, "TOLLGATE_CA"),
            fingerprint,
        };
        Ok(Remote::new(&directions)?)
    }
}

fn text(name: &'static str) -> Result<Option<String>, Failure> {
    let words = set(name).map(OsString::into_string);
    words
        .transpose()
        .map_err(|_| LiveError::NoText { variable: name }.into())
}
