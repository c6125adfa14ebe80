//! Tests of sources with real files, terminals and commands.

mod command;
mod common;
mod desktop;
mod devices;
mod sessions;
mod terminals;
