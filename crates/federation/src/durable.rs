//! The form that the product runs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`state`](Durable) | what survives a crash, record by record |
//! | `outbox` | what waits until a record is on disk |
//! | `round` | a round as its proposer sees it |
//! | [`machine`](Site) | a site: events in, effects out |
//! | [`untimed`](Timer) | the same site with a clock that runs as it likes, for explorers |
//!
//! It departs from the paper where that loses proxies or stops:
//! - Every message names its round, every record is on disk before anybody hears of it, and every
//!   handler does nothing the second time.
//! - A round goes on at its time-out with those that answered, if they are a majority. A proposer
//!   that is not the highest hands the round over instead of leaving a higher site to start one.
//! - A donor takes the proxy away under a record and repeats itself until the receiver confirms.

mod model_checking;
mod outbox;
mod persistent_state;
mod round;
mod site;

pub use model_checking::SiteTimer;
pub use persistent_state::{DurableState, ProxyTransfer};
pub use site::{DurableSite, SiteActivity};
