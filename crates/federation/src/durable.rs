//! The form of the protocol that the product runs.
//!
//! | module | contents |
//! |---|---|
//! | [`persistent_state`](DurableState) | the state that survives a crash, record by record |
//! | `outbox` | effects that wait until a record is on disk |
//! | [`round`](RoundOutcome) | a round as its proposer sees it |
//! | [`site`](DurableSite) | a site: events in, effects out |
//! | [`write_off`](WriteOff) | the change of the epoch when a site is lost |
//! | [`model_checking`](SiteTimer) | the same site with a clock that runs at any speed, for explorers |
//!
//! It differs from the paper where the paper's form loses proxies or stops:
//! - Every message names its round, every record is on disk before any message that depends on it
//!   is sent, and every handler is idempotent.
//! - At its time-out a round continues with the sites that answered, if they are a majority. A
//!   proposer that is not the highest hands the round over instead of waiting for a higher site to
//!   start one.
//! - A donor removes the proxy under a record and repeats its message until the receiver confirms.

mod model_checking;
mod outbox;
mod persistent_state;
mod round;
mod site;
mod write_off;

pub use model_checking::SiteTimer;
pub use persistent_state::{DurableState, ProxyTransfer};
pub use round::{ProposalRound, RoundOutcome};
pub use site::{DurableSite, SiteActivity};
pub use write_off::{InFlightProxy, WriteOff, WriteOffError, in_flight};
