//! Files of a host: opened where another account can write, replaced durably, and removed only if
//! they are still the same.
//!
//! A directory that root prepared for an account is full of names that the account chooses. Root
//! opens none of them by path without [`guarded`], and reads what the account may read itself with
//! [`with_rights_of`].
//!
//! | module | contents |
//! |---|---|
//! | [`guarded`] | opens a file only if it is a regular file of the directory's own |
//! | `replace` | [`replace_private`]: durable replacement of a file |
//! | `state_file` | [`read_state_file`]: the contents of a service's own file, or an error that names it |
//! | `identity` | [`FileIdentity`]: which file a name stood for |
//! | `account` | [`with_rights_of`]: a function with the rights of an account |

mod account;
pub mod guarded;
mod identity;
mod replace;
mod state_file;

pub use account::{AccountIds, with_rights_of};
pub use guarded::GuardedFileError;
pub use identity::FileIdentity;
pub use replace::replace_private;
pub use state_file::{StateFileError, read_state_file};
