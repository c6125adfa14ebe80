//! The rule of a site for jobs whose run time cannot be predicted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{UnpredictableAction, UnpredictableRule};

/// The rule of a site for jobs whose run time cannot be predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnpredictableTerms {
    /// Their recognition and treatment.
    pub rule: UnpredictableRule,
    /// The names of the hosts that are set aside for them, where they are to run on dedicated ones.
    pub hosts: BTreeSet<String>,
}

impl UnpredictableTerms {
    /// Returns the names of the hosts that are set aside.
    pub(crate) fn hosts_aside(&self) -> impl Iterator<Item = &str> {
        let is_dedicated = self.rule.action == UnpredictableAction::Dedicated;
        let hosts = self.hosts.iter().filter(move |_| is_dedicated);
        hosts.map(String::as_str)
    }

    /// Returns whether a host is set aside.
    pub(crate) fn sets_aside(&self, host: &str) -> bool {
        self.hosts_aside().any(|name| name == host)
    }
}
