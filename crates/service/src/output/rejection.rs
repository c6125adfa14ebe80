//! The reasons for which jobs are rejected.

use std::fmt;

use tollgate_model::{Bytes, Probability, Reason};

/// The reason for a job's rejection.
#[derive(Clone, Debug, PartialEq)]
pub enum RejectReason {
    /// The policy rejects the job.
    Policy(Reason),
    /// The probability of keeping the deadline is below the minimum of the user or the site.
    Confidence {
        /// The probability of keeping the deadline.
        probability: Probability,
        /// The required minimum.
        threshold: ConfidenceThreshold,
    },
    /// The user has reached the maximum number of reserved quotes.
    ReservationLimit,
    /// The job asks for no processor, or for no time.
    Malformed,
    /// The job asks for more memory than there is.
    Memory {
        /// The memory of all nodes, as far as jobs may use it.
        most: Bytes,
    },
    /// The job needs more of a resource than any host has, or the site.
    Resource(ResourceShortage),
    /// The job asks for a host by a name that no host has.
    UnknownHost(HostMismatch),
    /// The job names resources, a host or a single host, and the policy chooses no hosts.
    HostsUnplanned,
    /// Its run time cannot be predicted, and the site promises nothing of such jobs.
    Unpredictable,
}

/// Too little of a generic resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceShortage {
    /// The name of the resource.
    pub name: String,
    /// The most units that one host has, or the site.
    pub most: u8,
}

/// A name that no host has, with those that hosts have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMismatch {
    /// The name that the job asks for.
    pub host: String,
    /// The names of the hosts, in order.
    pub known: Vec<String>,
    /// Whether there is a host of that name, for jobs of another kind.
    pub is_set_aside: bool,
}

/// Maximum number of names that [`HostMismatch`] shows.
const MAX_SHOWN_HOSTS: usize = 8;

/// Formats the mismatch to follow the word "rejected:".
impl fmt::Display for HostMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_set_aside {
            true => write!(
                f,
                "{} is set aside for jobs whose run time cannot be predicted",
                self.host
            )?,
            false => write!(f, "no host is called {}", self.host)?,
        }
        let shown = self.known.len().min(MAX_SHOWN_HOSTS);
        match (&self.known[..shown], self.known.len() - shown) {
            ([], _) => Ok(()),
            (names, 0) => write!(f, "; there is {}", names.join(", ")),
            (names, more) => write!(f, "; there is {} and {more} more", names.join(", ")),
        }
    }
}

/// The minimum probability of keeping a deadline, with its source. In millionths, at most
/// 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfidenceThreshold {
    /// The user's minimum.
    User(u32),
    /// The site's minimum for a promise.
    Site(u32),
}

impl ConfidenceThreshold {
    /// Returns the minimum probability.
    pub fn min_probability(self) -> f64 {
        match self {
            Self::User(millionths) | Self::Site(millionths) => f64::from(millionths) / 1e6,
        }
    }
}

impl RejectReason {
    /// Returns the key in JSON.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Policy(reason) => reason.key(),
            Self::Confidence { .. } => "confidence",
            Self::ReservationLimit => "holds",
            Self::Malformed => "malformed",
            Self::Memory { .. } => Reason::NoMemory.key(),
            Self::Resource(_) => "no_resource",
            Self::UnknownHost(_) => "unknown_host",
            Self::HostsUnplanned => "hosts_unplanned",
            Self::Unpredictable => "unpredictable",
        }
    }
}

/// Returns the text of a stored key of a reason, without the figures that only the decision knew. A key that is unknown is
/// its own text: policies may have reasons of their own.
pub fn text_of_reason(key: &str) -> String {
    if let Some(job) = key.strip_prefix("after:") {
        return format!("job {job}, which it depends on, did not end as required");
    }
    let of_policy = Reason::ALL.into_iter().find(|reason| reason.key() == key);
    if let Some(reason) = of_policy {
        return reason.to_string();
    }
    let text = match key {
        "confidence" => "it would meet its deadline with a probability below the minimum",
        "no_resource" => "it needs more of a device or licence than there is",
        "unknown_host" => "no host has the name that it asks for",
        "holds" => return RejectReason::ReservationLimit.to_string(),
        "malformed" => return RejectReason::Malformed.to_string(),
        "hosts_unplanned" => return RejectReason::HostsUnplanned.to_string(),
        "unpredictable" => return RejectReason::Unpredictable.to_string(),
        unknown => unknown,
    };
    text.to_owned()
}

/// Formats the reason to follow the word "rejected:".
impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(reason) => reason.fmt(f),
            Self::Confidence {
                probability,
                threshold: floor,
            } => {
                let least = floor.min_probability();
                let minimum = match floor {
                    ConfidenceThreshold::User(_) => "the minimum that the job asks for",
                    ConfidenceThreshold::Site(_) => "the minimum of this service",
                };
                write!(
                    f,
                    "it would meet its deadline with a probability of {probability}, below {least}, {minimum}"
                )
            }
            Self::ReservationLimit => {
                f.write_str("its user has the maximum number of reserved quotes already")
            }
            Self::Malformed => {
                f.write_str("expected at least one processor and a positive estimate")
            }
            Self::Memory { most } => {
                write!(f, "{}, which is {}", Reason::NoMemory, most.in_unit())
            }
            Self::Resource(ResourceShortage { name, most: 0 }) => {
                write!(f, "there is no {name} here")
            }
            Self::Resource(ResourceShortage { name, most }) => {
                write!(
                    f,
                    "it needs more of {name} than one host or the site has, which is {most}"
                )
            }
            Self::UnknownHost(mismatch) => mismatch.fmt(f),
            Self::Unpredictable => f.write_str(
                "its run time cannot be predicted, and this site promises no deadline of such jobs",
            ),
            Self::HostsUnplanned => f.write_str(
                "this service's policy chooses no hosts, so it counts no resources; `plan` does",
            ),
        }
    }
}
