//! Tests that every parser survives damage, for a moment.

mod records;
mod targets;
