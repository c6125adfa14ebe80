//! The messages between sites, and the events and effects of a site.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

use crate::site::{Ballot, SiteId, SiteMeasurement, SiteValue};

/// A message between sites. The first four are the paper's messages, with a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SiteMessage {
    /// The sender asks to receive a proxy and states its value.
    Propose {
        /// The round; [`Ballot::NONE`] in the paper's form.
        ballot: Ballot,
        /// The proposer's value.
        worth: SiteValue,
    },
    /// An answer to a proposal.
    Answer {
        /// The round.
        ballot: Ballot,
        /// The sender's report, or its reason for sending no report.
        #[serde(rename = "answer", with = "AnswerJson")]
        report: Result<SiteReport, ReportRefusal>,
    },
    /// The receiver of this message has the highest value and owns the round from now on.
    Handover {
        /// The round.
        ballot: Ballot,
        /// The site to ask for a proxy.
        donor: SiteId,
    },
    /// The sender asks for a proxy.
    Request {
        /// The round.
        ballot: Ballot,
    },
    /// The sender removed a proxy from its queue for the receiver.
    Given {
        /// The round, which names the transfer: a round has at most one transfer.
        ballot: Ballot,
    },
    /// The sender has no proxy to give.
    Denied {
        /// The round.
        ballot: Ballot,
    },
    /// The proxy that was given is now in the sender's queue.
    Confirm {
        /// The round.
        ballot: Ballot,
    },
}

/// The report of a site about itself in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteReport {
    /// The site's values. The report is an ACK if the worth is less than the proposer's, else a
    /// NACK. Of two equal worths the site with the higher id counts as higher.
    #[serde(flatten)]
    pub measured: SiteMeasurement,
    /// Number of pending proxies at the site.
    pub pending: u32,
}

/// A reason why a site sends no report. The site starts no round because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportRefusal {
    /// The site takes part in a transfer, or did so within its cool-down.
    Busy,
    /// The site has promised this ballot, or a later one.
    Promised(Ballot),
    /// The site cannot read its queue. It counts as up, but gives and receives nothing.
    Unreachable,
}

/// The JSON of an answer's report.
#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Result<SiteReport, ReportRefusal>",
    rename_all = "snake_case"
)]
enum AnswerJson {
    #[serde(rename = "report")]
    Ok(SiteReport),
    #[serde(rename = "refusal")]
    Err(ReportRefusal),
}

/// An event that a site handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteEvent {
    /// The site's values from now on.
    Measured(SiteMeasurement),
    /// Number of the site's running proxies from now on. It may be more than the site's proxies:
    /// a proxy that started after the queue was read may have been given away. No proxy is pending
    /// then, until the driver has removed the surplus.
    Running(u32),
    /// The queue cannot be read. Until the next [`SiteEvent::Running`] the site begins no round,
    /// gives nothing and asks for nothing; a proxy that was already given still arrives.
    Unreachable,
    /// A message arrived.
    Received {
        /// The sender.
        from: SiteId,
        /// The message.
        message: SiteMessage,
    },
    /// All records up to this number are on disk.
    Written(u64),
    /// A time arrived at which the site asked to be woken.
    Due,
}

/// An effect that a site asks its driver to carry out, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteEffect {
    /// Send a message. The message may be lost, duplicated or late.
    Send {
        /// The receiver.
        to: SiteId,
        /// The message.
        message: SiteMessage,
    },
    /// Write a record to disk, after all earlier records, then send [`SiteEvent::Written`].
    Write {
        /// The record's number, one more than the number of the record before.
        number: u64,
        /// The record.
        record: SiteRecord,
    },
    /// Remove a pending proxy from the local queue. A hint, as [`SiteEffect::Add`] is: a driver
    /// may instead bring the queue to the number of proxies in the site's durable state.
    Delete,
    /// Add a proxy to the local queue.
    Add,
}

/// A record that must survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SiteRecord {
    /// The site serves no ballot below this one any more. A site also promises its own ballots,
    /// which makes them unique.
    Promised {
        /// The promised round.
        ballot: Ballot,
    },
    /// The site handed the round to another site, and never asks for a proxy under it.
    Relinquished {
        /// The round.
        ballot: Ballot,
    },
    /// The site gave a proxy.
    Given {
        /// The round.
        ballot: Ballot,
        /// The receiving site.
        to: SiteId,
        /// Time until which the site takes part in no other move.
        cool_until: Instant,
    },
    /// The receiver has the proxy: the donor need not repeat its message.
    Confirmed {
        /// The round.
        ballot: Ballot,
    },
    /// The site received a proxy.
    Added {
        /// The round.
        ballot: Ballot,
        /// The donor.
        from: SiteId,
        /// Time until which the site takes part in no other move.
        cool_until: Instant,
    },
    /// The site entered an epoch without a site that was lost. Transfers to that site that it never
    /// confirmed are written off with it.
    Dropped {
        /// The new epoch.
        epoch: u64,
        /// The lost site.
        site: SiteId,
    },
}
