//! Hosts that are expected, as they are stated and as they are shown.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

/// A host that is expected, as stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostArrival {
    /// The name that its worker will have; None of a pilot that is not in a queue yet.
    pub name: Option<String>,
    /// Number of its nodes. At least 1.
    pub nodes: u32,
    /// Memory of each node for its tasks, in bytes; None if it is not known.
    pub memory: Option<u64>,
    /// Quantiles of the wait for it, as [`tollgate_policy::StartForecast::new`] takes them.
    pub waits: Vec<Span>,
    /// For how long it stays. Positive.
    pub stays: Span,
}

/// The hosts of a site, as stated: those that are expected, in place of those that were, and how long hosts stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteStatement {
    /// The hosts that are expected. None if there are none.
    pub hosts: Vec<HostArrival>,
    /// The names of those that are there.
    pub there: Vec<String>,
    /// How often an hour the site ends a host before its time; 0 if it never did.
    pub preempted_per_h: f64,
    /// The time after which nothing is expected any more, if it is not stated anew.
    pub valid_for: Span,
}

/// A host that is expected, as the service counts on it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedArrival {
    /// Its site.
    pub site: String,
    /// The name that its worker will have, if it has one yet.
    pub name: Option<String>,
    /// Number of its nodes.
    pub nodes: u32,
    /// For how long it stays.
    pub stays: Span,
    /// The instants by which it is there with probability .5 and .9; None if that may be never.
    pub starts: [Option<Instant>; 2],
}
