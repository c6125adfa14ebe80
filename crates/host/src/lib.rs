//! The services of a host that a program needs: files that are opened where another account can write,
//! replaced durably, and removed only if they are still the same. Also lines with checksums, random bytes,
//! processes and commands that outlive their terminal, and accounts of users.
//!
//! A directory that root prepared for an account is full of names that the account chooses. Root
//! opens none of them by path without [`guarded`], and reads what the account may read itself with
//! [`with_rights_of`].
//!
//! | module | contents |
//! |---|---|
//! | [`guarded`] | opens a file only if it is a regular file of the directory's own |
//! | `replace` | [`replace_private`], [`replace_public`]: durable replacement of a file |
//! | `checked_line` | [`checked_line()`]: lines of journals with checksums |
//! | `random` | [`random_bytes`], [`random_hex`], [`random_key`] |
//! | `detached` | [`DetachedCommand`]: a command of this program that outlives its terminal |
//! | `process` | [`is_process_alive`], [`ProcessIdentity`]: processes as `/proc` shows them |
//! | `user` | [`UserAccount`]: accounts as the name service knows them |
//! | `state_file` | [`read_state_file`]: the contents of a service's own file, or an error that names it |
//! | `identity` | [`FileIdentity`]: which file a name stood for |
//! | `account` | [`with_rights_of`]: a function with the rights of an account |

mod account;
mod checked_line;
mod detached;
pub mod guarded;
mod identity;
mod process;
mod random;
mod replace;
mod state_file;
mod user;

pub use account::{AccountIds, with_rights_of};
pub use checked_line::{checked_line, text_of_checked_line, text_of_unchecked_line};
pub use detached::{DETACHED_ARG, DetachError, DetachedCommand, DetachedProcess, leave_session};
pub use guarded::GuardedFileError;
pub use identity::FileIdentity;
pub use process::{ProcessIdentity, ProcessStat, all_processes, is_process_alive};
pub use random::{random_bytes, random_hex, random_key};
pub use replace::{replace_private, replace_public};
pub use state_file::{StateFileError, read_state_file};
pub use user::{NameServiceError, UserAccount};
