//! Unauthenticated connections: a limit per address and in total, and a deadline of their handshake.
//!
//! | module | contents |
//! |---|---|
//! | `limit` | the open connections of a listener: a new one closes the oldest of the key with the most |
//! | `address` | the addresses that may be one machine |
//! | `unauthenticated` | a listener that serves each connection in a thread, and closes those without a proof in time |

mod address;
mod limit;
mod unauthenticated;

pub use address::AddressPrefix;
pub use limit::{ConnectionLimit, ConnectionPermit};
pub use unauthenticated::{Handshake, serve_unauthenticated};
