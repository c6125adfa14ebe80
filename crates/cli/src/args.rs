//! The parts that the options of commands share.
//!
//! | module | contents |
//! |---|---|
//! | `deferred` | the options of a command, described if it is called |
//! | `foreign_words` | pointers for words of other batch systems |
//! | `format` | the option `--format`, and numbers as options have them |
//! | `suggestions` | suggestions for a word that is typed wrongly |

mod deferred;
mod foreign_words;
mod format;
mod suggestions;

pub(crate) use self::deferred::Deferred;
pub(crate) use self::format::{OutputFormat, parse_count, parse_integer};
pub(crate) use self::suggestions::{is_similar, with_similar_names};
