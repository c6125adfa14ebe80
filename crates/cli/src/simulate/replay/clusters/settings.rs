//! The clusters of a replay: a TOML file each.

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use serde::Deserialize;
use tollgate_model::{MachineSpeeds, Market, SpeedList};
use tollgate_policy::{PolicyRegistry, PolicySpec};
use tollgate_sim::MAX_NODES;

use crate::exit::CliFailure;
use crate::simulate::replay::error::ReplayFlagError;

/// A cluster with a gate of its own.
#[derive(Clone, Debug)]
pub(super) struct ReplayCluster {
    pub(super) name: String,
    pub(super) nodes: u32,
    pub(super) speeds: MachineSpeeds,
    pub(super) policy: PolicySpec,
    pub(super) market: Market,
}

/// The file of a cluster, with the words that the flags of `tollgate replay` take.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayClusterFile {
    /// Default: the name of the file.
    name: Option<String>,
    nodes: NonZeroU32,
    /// Default: all 1.
    speeds: Option<String>,
    policy: String,
    /// Default: none.
    market: Option<String>,
}

impl ReplayCluster {
    /// Reads the file of a cluster.
    pub(super) fn read(path: &Path, registry: &PolicyRegistry) -> Result<Self, CliFailure> {
        let text = fs::read_to_string(path)
            .map_err(|error| CliFailure::read_failed(path.display().to_string(), error))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&text, &stem, registry).map_err(|message| {
            let file = path.display().to_string();
            ReplayFlagError::ClusterFile { file, message }.into()
        })
    }

    pub(super) fn parse(text: &str, stem: &str, registry: &PolicyRegistry) -> Result<Self, String> {
        let file: ReplayClusterFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let nodes = file.nodes.get();
        if nodes > MAX_NODES {
            return Err(format!("nodes: expected at most {MAX_NODES}, got {nodes}"));
        }
        let speeds = match file.speeds {
            None => MachineSpeeds::default(),
            Some(words) => {
                let list: SpeedList = words.parse().map_err(|error| format!("speeds: {error}"))?;
                let speeds = list.of_machine(nodes);
                speeds.map_err(|error| format!("speeds: {error}"))?
            }
        };
        let market = file.market.as_deref().map_or(Ok(Market::None), str::parse);
        let market = market.map_err(|error| format!("market: {error}"))?;
        let mut policies = registry
            .parse_list(&file.policy)
            .map_err(|error| format!("policy: {error}"))?;
        let policy = policies.pop().filter(|_| policies.is_empty());
        let policy =
            policy.ok_or_else(|| format!("policy: expected one, got `{}`", file.policy))?;
        if !policy.runs_in(market) {
            return Err(format!(
                "policy: `{policy}` does not run in the market `{market}`"
            ));
        }
        Ok(Self {
            name: file.name.unwrap_or_else(|| stem.to_owned()),
            nodes,
            speeds,
            policy,
            market,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ReplayCluster, String> {
        ReplayCluster::parse(text, "north", &crate::policy_registry())
    }

    #[test]
    fn file_needs_nodes_and_a_policy() {
        let cluster = parse("nodes = 4\npolicy = \"plan\"\n").unwrap();
        let ReplayCluster {
            name,
            nodes,
            speeds,
            policy,
            market,
        } = cluster;
        assert_eq!((name.as_str(), nodes, market), ("north", 4, Market::None));
        assert_eq!(
            (policy.to_string().as_str(), speeds.is_default()),
            ("plan", true)
        );
        let fast = parse("name = \"fast\"\nnodes = 4\nspeeds = \"2*1,2*1.5\"\npolicy = \"easy\"\n");
        let fast = fast.unwrap();
        assert_eq!((fast.name.as_str(), fast.speeds.capacity(4)), ("fast", 5.0));
    }

    #[test]
    fn impossible_cluster_is_rejected() {
        for (text, word) in [
            ("policy = \"plan\"\n", "nodes"),
            ("nodes = 0\npolicy = \"plan\"\n", "nodes"),
            ("nodes = 20000000\npolicy = \"plan\"\n", "at most"),
            ("nodes = 4\npolicy = \"none\"\n", "policy"),
            ("nodes = 4\npolicy = \"plan,easy\"\n", "expected one"),
            ("nodes = 4\npolicy = \"first-reward\"\n", "market"),
            ("nodes = 4\npolicy = \"plan\"\nspeeds = \"8*1\"\n", "speeds"),
            ("nodes = 4\npolicy = \"plan\"\ncores = 2\n", "cores"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
