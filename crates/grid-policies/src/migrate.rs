//! Migration of pilots: the decisions behind a session of proxies at several sites.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`](MigrationParams) | the axes of the family |
//! | [`site_estimator`](SiteEstimator) | the measurements of a site and the value derived from them |
//! | [`choose`](fn@choose) | the move of a round, chosen from the scores of all sites |
//! | [`builtin`] | the policies by name: one table |
//! | [`registry`](MigrationSpec) | parsing of `NAME:KEY=VALUE,..` |
//!
//! A site knows its own queue and how long its own proxies have waited, never how long the next one
//! will wait. Time is counted in ticks, one per round.

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
