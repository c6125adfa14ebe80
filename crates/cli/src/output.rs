//! The output of commands: tables, JSON, CSV, messages and files.
//!
//! | module | contents |
//! |---|---|
//! | `atomic` | standard output, or a file that appears only when complete |
//! | `csv_rows` | rows of CSV with the keys of JSON as columns |
//! | `format` | instants, spans, sizes and the states of jobs |
//! | `messages` | messages on standard error |
//! | `progress` | how far long work is: a line on a terminal, notes elsewhere |
//! | `table` | tables for people |
//!
//! Data goes to standard output, and messages go to standard error.

pub(crate) mod atomic;
pub(crate) mod csv_rows;
pub(crate) mod format;
pub(crate) mod messages;
pub(crate) mod progress;
pub(crate) mod table;
