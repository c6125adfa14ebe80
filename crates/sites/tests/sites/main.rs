//! Tests of a site with a stand-in for Slurm that has faults, and with the engine `local`.
//!
//! The stand-in is the small scripts in `tests/engine`, found by PATH.

mod fake;
mod following;
mod queue;
mod scaling;
mod storm;
mod watch;
