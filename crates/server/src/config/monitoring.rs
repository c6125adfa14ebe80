//! Load of hosts that is not of jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Uri;
use serde::{Deserialize, Serialize};

use super::error::ConfigError;
use crate::exporters::HostExporter;

/// Load of hosts that is not of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MonitoringConfig {
    /// Whether the service measures how much such load slows jobs on its own host and on those of workers. `plan` then
    /// counts on it: for running jobs, for promises and for the choice of hosts.
    pub foreign_load: bool,
    /// Time between two looks at the load, in seconds. A load that stays is known after five or six looks. At least 0.1, at
    /// most 60.
    pub interval_s: f64,
    /// By name of a host: the address of the node exporter there, by `http`. Its figures count in place of those of a runner, as
    /// on nodes of a batch system. Only with `foreign_load`. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = BTreeMap::from([("node7", "http://node7:9100/metrics")]))]
    pub exporters: BTreeMap<String, String>,
}

impl Default for MonitoringConfig {
    fn default() -> Self {
        Self {
            foreign_load: false,
            interval_s: 5.0,
            exporters: BTreeMap::new(),
        }
    }
}

impl MonitoringConfig {
    /// Returns the time between two looks at the load; None if it is not measured.
    pub(super) fn load_interval(&self) -> Result<Option<Duration>, ConfigError> {
        if !(0.1..=60.0).contains(&self.interval_s) {
            return Err(ConfigError::Range {
                key: "monitoring.interval_s",
                expected: "seconds, at least 0.1 and at most 60",
                found: self.interval_s.to_string(),
            });
        }
        let interval = Duration::from_secs_f64(self.interval_s);
        Ok(self.foreign_load.then_some(interval))
    }

    /// Returns the exporters of hosts.
    pub(super) fn exporters(&self) -> Result<Vec<HostExporter>, ConfigError> {
        let exporters = self.exporters.iter().map(|(host, address)| {
            let url: Option<Uri> = address.parse().ok();
            let url = url.filter(|url| url.scheme_str() == Some("http") && url.host().is_some());
            let url = url.ok_or_else(|| ConfigError::Range {
                key: "monitoring.exporters",
                expected: "an address like http://node7:9100/metrics",
                found: address.clone(),
            })?;
            let host = host.clone();
            Ok(HostExporter { host, url })
        });
        exporters.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exporters(address: &str) -> Result<Vec<HostExporter>, String> {
        let config = MonitoringConfig {
            exporters: BTreeMap::from([("node7".to_owned(), address.to_owned())]),
            ..MonitoringConfig::default()
        };
        config.exporters().map_err(|error| error.to_string())
    }

    #[test]
    fn exporters_have_addresses_in_the_web() {
        let found = exporters("http://node7:9100/metrics").unwrap();
        assert_eq!(found[0].url.port_u16(), Some(9100));
        for bad in [
            "https://node7/metrics",
            "node7:9100",
            "file:///etc/passwd",
            "http:///x",
            "",
        ] {
            let error = exporters(bad).unwrap_err();
            assert!(
                error.starts_with("monitoring.exporters: expected an address"),
                "{error}"
            );
        }
    }

    #[test]
    fn interval_is_bounded() {
        for interval_s in [0.0, -1.0, 61.0, f64::NAN] {
            let config = MonitoringConfig {
                interval_s,
                ..MonitoringConfig::default()
            };
            assert!(config.load_interval().is_err(), "{interval_s}");
        }
        assert_eq!(MonitoringConfig::default().load_interval().unwrap(), None);
    }
}
