//! `tollgate top`: the overview of a service in a terminal.
//!
//! | module | contents |
//! |---|---|
//! | [`answers`] | the answers of the service |
//! | [`state`] | the state of the screen; keys in, requests out |
//! | `groups` | the jobs in the order of the screen |
//! | [`view`] | the state as a frame of cells |
//! | `safe_text` | names and outputs of others as text that no terminal obeys |
//! | [`painter`] | the cells that changed, as bytes for a terminal |
//! | `keys` | keys of the terminal as keys of the overview |
//! | `screen` | the terminal: entered, and restored in every case |
//! | `feed` | requests to the service, and its events |
//! | [`run`] | the loop around all of them |
//!
//! [`state`], [`view`] and [`painter`] are pure: time comes with the answers of the service.

pub mod answers;
mod feed;
mod groups;
mod keys;
pub mod painter;
mod run;
mod safe_text;
mod screen;
pub mod state;
pub mod view;

pub use run::{TopError, TopSettings, run};
