//! The file that a pilot gets.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{InsideError, SchedulerKind};

/// The access of one pilot to a personal scheduler. Whoever has it can join as a node; so it lies in
/// files of mode 0600.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTicket {
    /// The name of the scheduler's user.
    pub user: String,
    /// The user id of the scheduler.
    pub uid: u32,
    /// The address at which the scheduler listens.
    pub address: IpAddr,
    /// The port of Slurm's controller, or of HTCondor's collector.
    pub port: u16,
    /// What depends on the scheduler.
    pub access: NodeAccess,
}

/// The part of a ticket that depends on the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NodeAccess {
    /// Slurm.
    Slurm {
        /// The name of the controller's host.
        host: String,
        /// The key of the cluster's munge daemons.
        key: String,
        /// The first port of the nodes' daemons.
        node_port: u16,
    },
    /// HTCondor.
    Htcondor {
        /// A token with which a daemon can advertise itself.
        token: String,
    },
}

impl NodeTicket {
    /// Returns the scheduler that the ticket is for.
    pub const fn scheduler(&self) -> SchedulerKind {
        match self.access {
            NodeAccess::Slurm { .. } => SchedulerKind::Slurm,
            NodeAccess::Htcondor { .. } => SchedulerKind::Htcondor,
        }
    }

    /// Returns the text of the file: one line.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a ticket has no map with other keys than text")
    }

    /// Reads a ticket.
    ///
    /// # Errors
    /// An error if the file cannot be read or is not a ticket.
    pub fn read(path: &Path) -> Result<Self, InsideError> {
        let text = fs::read_to_string(path).map_err(|error| InsideError::File {
            path: path.to_owned(),
            action: "cannot be read",
            error,
        })?;
        serde_json::from_str(&text).map_err(|error| InsideError::Ticket {
            path: path.to_owned(),
            message: error.to_string(),
        })
    }
}
