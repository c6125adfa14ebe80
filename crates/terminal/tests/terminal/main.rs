//! Held commands with real pseudo-terminals and processes.

mod access;
mod common;
mod ends;
mod screens;
mod slow;
