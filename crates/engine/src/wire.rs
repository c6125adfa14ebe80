//! The JSON forms of launches, instants and spans, in messages between processes and in journals.

pub(crate) mod launch;
pub(crate) mod time;
