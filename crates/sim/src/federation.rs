//! The federation world: proxies wait at several sites until they are dispatched, run for a while and return
//! to the queue. Once per tick one of them may be moved (Walker 2009, §IV).
//!
//! | module | contents |
//! |---|---|
//! | [`setup`](FederationConfig) | the parameters: sites, proxies, duration, order |
//! | [`environment`](FederationEnvironment) | the truth: speeds, and waits as they change |
//! | [`dispatch`] | eq. (5): the probability that a proxy starts |
//! | `site` | a site's queue and its running proxies |
//! | `agents` | the agents of the sites, which agree on moves by messages |
//! | `agenda` | the ticks in which each site changes |
//! | [`policy`](MigrationDecider) | the decision on moves: a policy, or the bound that knows the truth |
//! | [`run`] | a run, tick by tick |
//!
//! The order of a tick: waits are redrawn if due. Runs end, and each ended proxy is pending again. At each
//! site every pending proxy draws once. Every running proxy, including the newly dispatched ones, produces;
//! the sites are sampled, and their agents hold a round by the protocol that the product runs
//! ([`tollgate_federation::durable`]). A site is simulated only in ticks in which it can change.

mod agenda;
mod agents;
pub mod dispatch;
mod environment;
mod policy;
mod run;
mod setup;
mod site;

pub use environment::FederationEnvironment;
pub use policy::{MigrationDecider, MigrationDeciderError, OMNISCIENT};
pub use run::{FederationOutcome, FederationStreams, SiteSample, run, run_watched};
pub use setup::{DrawOrder, FederationConfig};
