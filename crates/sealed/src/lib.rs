//! Encrypted connections between processes of a job that share a secret, and the addresses to reach them.
//!
//! | module | contents |
//! |---|---|
//! | `stream` | messages on a byte stream, encrypted and authenticated |
//! | `address` | the addresses of this host for the other hosts of a job |

mod address;
mod stream;

pub use address::{ListenError, listen};
#[doc(hidden)]
pub use stream::has_message;
pub use stream::{
    SealedPair, SealedReader, SealedSecret, SealedWriter, open_as_lead, open_as_part,
};
