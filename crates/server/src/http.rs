//! Connections of clients, whose requests go to the router of [`crate::api`].
//!
//! | module | contents |
//! |---|---|
//! | `unix` | the server of the Unix socket |
//! | `users` | connections of users that are known before the first request |
//! | `window` | the server of the window |
//! | `tls` | the server of a TCP port |
//! | `connection` | one connection, from its first request to its end |
//! | `framing` | rejection of requests whose end is ambiguous |
//! | `write_timeout` | a stream with a write timeout |

mod connection;
mod framing;
mod tls;
mod unix;
mod users;
mod window;
mod write_timeout;

pub use tls::{TcpContext, serve_tls};
pub use unix::serve_unix;
pub use users::UserConnections;
pub use window::serve_window;
