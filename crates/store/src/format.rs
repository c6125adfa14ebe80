//! The versions of what is stored.

/// The oldest version of the tables that is read. Earlier versions were never released.
pub const FIRST: u32 = 4;

/// The version of the tables.
pub const VERSION: u32 = FIRST + 13;

/// The format of snapshots and commands. It changes whenever the stored data or its meaning
/// changes.
pub const FORMAT: u32 = 26;
