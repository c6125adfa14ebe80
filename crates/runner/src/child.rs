//! The birth of a task: a child that shares the runner's memory until its program replaces it.

pub(crate) mod failure;
pub(crate) mod setup;
pub(crate) mod spawn;
pub(crate) mod spec;
