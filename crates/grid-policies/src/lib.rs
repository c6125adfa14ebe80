//! The built-in policies of machines that belong to others: desktops of a campus, and sites whose pilots move.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@retry`] | whether an evicted task is tried again, and where |
//! | [`mod@select`] | the choice of the idle computer for the next task |
//! | [`migrate`] | the moves of pilots between sites |
//!
//! Each kind has a table of its own, called `REGISTRY`.

pub mod migrate;
pub mod retry;
pub mod select;
