//! A command on a pseudo-terminal, held for terminals that attach to it and detach from it.
//!
//! | module | contents |
//! |---|---|
//! | [`holder`] | the process that runs the command, and outlives every terminal |
//! | [`mod@attach`] | the user's end: a terminal, or a script, that is attached |
//! | [`message`] | the messages between both |
//! | `pty` | the pseudo-terminal, and the step by which a command gets it |
//! | [`remote`] | a command in a job, on the terminal of a user on another host |
//! | `screen` | the screen of the command, to draw it again |
//! | `signals` | signals as bytes that a loop can wait for |
//!
//! Holder and client are loops around `poll`, with one thread each. They speak over a Unix socket; a
//! connection from another host ends in a socket pair. The holder answers only its own user and root.

pub mod attach;
pub mod holder;
pub mod message;
mod pty;
pub mod remote;
mod screen;
mod signals;

pub use attach::{
    AttachEnd, AttachError, AttachOptions, EndOfInput, UserTerminal, attach, detach_all,
};
pub use holder::{HolderOptions, exit_code, hold, hold_for};
pub use message::{DetachReason, TerminalAccess, WindowSize};
pub use pty::{CommandSpec, TTY_COMMAND_ARG, run_tty_command};
pub use remote::{
    JOB_COMMAND_ARG, TERMINAL_TICKET, TerminalArrival, TerminalListener, run_job_command,
};
