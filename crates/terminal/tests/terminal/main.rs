//! Held commands with real pseudo-terminals and processes.

mod access;
mod common;
mod ends;
mod remote;
mod screens;
mod slow;
