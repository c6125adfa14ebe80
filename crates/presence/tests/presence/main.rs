//! Tests of sources with real files, terminals and commands.

mod command;
mod common;
