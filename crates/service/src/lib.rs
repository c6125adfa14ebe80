//! The daemon around the gate.
pub mod core;
