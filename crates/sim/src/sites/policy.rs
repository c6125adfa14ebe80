//! The policies that are compared.

use std::fmt;

use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_model::Span;
use tollgate_provisioning::{AcquisitionPolicy, IdleLimit};

/// The idle limit of a site, unless its user sets another.
const OF_SITE: IdleLimit = IdleLimit::After(Span::from_secs(300));

/// A policy by which pilots come and go.
#[derive(Clone, Copy, Debug)]
pub enum PilotPolicy {
    /// Pilots are acquired as tasks wait, and leave when idle.
    Acquire {
        /// The policy by which they are acquired.
        acquisition: &'static AcquisitionPolicy,
        /// The time without tasks after which they leave. None leaves that to the policy, and lets them leave after 5 min at
        /// the latest, as a site does by default.
        idle: Option<IdleLimit>,
    },
    /// A fixed number of pilots: one that ends is submitted again. Those that wait are moved between the sites.
    Fixed {
        /// The policy by which they are moved.
        migration: MigrationSpec,
    },
}

impl PilotPolicy {
    /// Returns the time without tasks after which a pilot leaves.
    pub(super) const fn idle_limit(&self) -> IdleLimit {
        match self {
            Self::Acquire {
                idle: Some(idle), ..
            } => *idle,
            Self::Acquire { idle: None, .. } => OF_SITE,
            Self::Fixed { .. } => IdleLimit::Never,
        }
    }
}

/// `work`, `work 60s`, `fixed marginal`.
impl fmt::Display for PilotPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquire {
                acquisition,
                idle: None,
            } => f.write_str(acquisition.name),
            Self::Acquire {
                acquisition,
                idle: Some(idle),
            } => write!(f, "{} {idle}", acquisition.name),
            Self::Fixed { migration } => write!(f, "fixed {}", migration.info().name),
        }
    }
}
