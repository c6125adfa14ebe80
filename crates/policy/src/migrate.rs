//! Which pilot moves to which site: the decisions behind a session of proxies at several sites.
//!
//! | module | what it holds |
//! |---|---|
//! | [`settings`](Settings) | the axes of the family |
//! | [`meter`](Meter) | a site measures itself and gives its value |
//! | [`round`](choose) | from the standing of all sites to the move of a round |
//! | [`named`] | the policies, one file each |
//! | [`registry`](MigrationChoice) | `NAME:KEY=VALUE,..` words made into policies |
//!
//! A site knows its own queue and how long its own proxies waited, never how long the next one
//! will. Time is counted in ticks: one a round.

pub mod builtin;
mod choose;
mod registry;
mod settings;
mod site_estimator;

pub use choose::{ProxyMove, SiteScore, choose};
pub use registry::{MigrationError, MigrationSpec};
pub use settings::{
    DonorRule, MigrationParams, ProxyChoice, RunLimitRule, SiteValuation, SpeedTerm,
};
pub use site_estimator::{SiteEstimator, SiteObservation, liability_adjusted};
