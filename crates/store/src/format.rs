//! The versions of the stored form.

/// The oldest version of the tables that is read.
pub const FIRST: u32 = 17;

/// The version of the tables.
pub const VERSION: u32 = 21;

/// The format of snapshots and commands. It changes whenever the stored data or its meaning
/// changes.
pub const FORMAT: u32 = 41;
