//! The federation world: proxies wait at several sites until they are dispatched, run for a while
//! and come again; once a tick one of them may be moved (Walker 2009, §IV).
//!
//! | module | what it holds |
//! |---|---|
//! | [`setup`](Setup) | how many sites and proxies, for how long, in which order |
//! | [`environment`](Environment) | the truth: speeds, and waits as they change |
//! | [`dispatch`] | eq. (5): with which probability a proxy starts |
//! | `site` | a site's queue and its running proxies |
//! | [`decider`](Decider) | who decides about moves: a policy, or the bound that knows the truth |
//! | [`run`] | a run, tick by tick |
//!
//! A tick, in this order: waits are redrawn if it is time; runs end, and each ended proxy is pending
//! again; at each site every pending proxy draws once; every running proxy, those just dispatched
//! included, produces; the sites are sampled, and a migration round is held.

pub mod dispatch;
mod environment;
mod policy;
mod run;
mod setup;
mod site;

pub use environment::FederationEnvironment;
pub use policy::{MigrationDecider, MigrationDeciderError, OMNISCIENT};
pub use run::{FederationOutcome, SiteSample, run, run_watched};
pub use setup::{DrawOrder, FederationConfig};
