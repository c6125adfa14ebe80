//! Processes: how the runner finds, signals and ends them.

pub(crate) mod handle;
pub(crate) mod kill_tree;
pub(crate) mod mark;
pub(crate) mod nice;
pub(crate) mod procfs;
pub(crate) mod stop;
