//! The JSON form of launches, in messages between processes and in journals.

pub(crate) mod launch;
