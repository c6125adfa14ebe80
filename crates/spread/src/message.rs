//! The messages between lead and part, and what a part needs to find its lead.

use serde::{Deserialize, Serialize};

/// The variable with a [`PartTicket`] as JSON, in the environment of a part.
pub(crate) const TICKET_VARIABLE: &str = "TOLLGATE_PART";

/// The address of the lead, and the proof that a part belongs to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartTicket {
    /// The addresses of the lead with their ports, the best one first. None if standard input is a
    /// connection to the lead.
    pub(crate) addresses: Vec<String>,
    /// The number of the part among those of the lead.
    pub(crate) index: u32,
    /// The secret of the lead, in hexadecimal.
    pub(crate) secret: String,
}

/// A message from the lead to a part.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum LeadMessage {
    /// The copies to run. The first message.
    Run(Box<CopyOrder>),
    /// The copies are to end.
    Stop,
}

/// The copies that a part runs. Strings are those of the operating system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CopyOrder {
    /// The program and its arguments.
    pub(crate) argv: Vec<Vec<u8>>,
    /// The environment of the lead.
    pub(crate) env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The working directory.
    pub(crate) dir: Vec<u8>,
    /// The ranks of the copies.
    pub(crate) ranks: Vec<u32>,
    /// The number of copies on all hosts.
    pub(crate) total: u32,
}

/// A message from a part to its lead.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum PartMessage {
    /// The part waits for its order. The first message.
    Ready,
    /// Output of a copy: a line, or a piece of a long one.
    Output(CopyStream, Vec<u8>),
    /// A copy has ended.
    Exited {
        /// Its rank.
        rank: u32,
        /// Its exit code, or 128 + n after signal n.
        code: u8,
    },
    /// A copy could not be started.
    Failed {
        /// Its rank.
        rank: u32,
        /// The reason.
        reason: String,
    },
}

/// An output stream of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CopyStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}
