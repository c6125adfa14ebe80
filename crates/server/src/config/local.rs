//! The nodes that a service offers of its own host.

use serde::{Deserialize, Serialize};
use tollgate_service::NamedResources;

/// The service's own host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LocalConfig {
    /// Cores of this host to offer, at most as many as there are, or `all`. At least 0. With 0, jobs run on
    /// workers alone.
    pub nodes: LocalNodes,
    /// Devices of this host by name, with their number, 1 to 64. Jobs take them with `--gres`. Only under
    /// `plan`. Default: none.
    #[serde(skip_serializing_if = "NamedResources::is_empty")]
    #[schemars(example = NamedResources::from([("gpu".to_owned(), 2)]))]
    pub devices: NamedResources,
}

/// The number of cores that a service offers of its own host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum LocalNodes {
    /// At most this number; 0 for none.
    Count(u32),
    /// By name.
    Named(NamedNodes),
}

/// A number of cores with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedNodes {
    /// All cores that the service may run on.
    All,
}

impl Default for LocalNodes {
    fn default() -> Self {
        Self::Named(NamedNodes::All)
    }
}

impl LocalNodes {
    /// Returns the maximum number of cores; None for all.
    pub fn limit(self) -> Option<u32> {
        match self {
            Self::Count(nodes) => Some(nodes),
            Self::Named(NamedNodes::All) => None,
        }
    }

    /// Returns whether the service offers no core of its own host.
    pub fn is_none(self) -> bool {
        self.limit() == Some(0)
    }
}
