//! Tests that every parser survives damage, for a moment.

mod any_bytes;
mod formats;
mod records;
mod targets;
