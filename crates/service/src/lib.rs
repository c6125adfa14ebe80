//! The daemon around the gate.
pub mod core;
mod engine_words;
pub mod keeper;
pub mod store;
