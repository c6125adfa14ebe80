//! Which service is meant.

use std::env;
use std::path::PathBuf;

use tollgate_service::{Client, folder};

use super::error::LiveError;
use crate::exit::Failure;

/// Which service is meant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Address {
    /// The data folder of the service [default: TOLLGATE_DATA, else tollgate in the user's state
    /// folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Address {
    /// The data folder: the flag over the environment over the user's own.
    pub(super) fn folder(&self) -> Result<PathBuf, Failure> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let folder = self
            .data
            .clone()
            .or_else(|| set("TOLLGATE_DATA").map(PathBuf::from))
            .or_else(|| set("XDG_STATE_HOME").map(|state| PathBuf::from(state).join("tollgate")))
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/state/tollgate")));
        folder.ok_or_else(|| LiveError::NoData.into())
    }

    /// A connection to it.
    pub(super) fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&folder::socket(&self.folder()?))?)
    }
}
