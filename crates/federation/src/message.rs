//! The messages between sites, and the events and effects of a site.

use tollgate_model::Instant;

use crate::site::{Ballot, SiteId, SiteValue};

/// A message between sites. The first four are the paper's messages, with a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteReport {
    /// The site's value. The report is an ACK if this value is less than the proposer's, else a
    /// NACK. Of two equal values the site with the higher id counts as higher.
    pub worth: SiteValue,
    /// Number of pending proxies at the site.
    pub pending: u32,
}

/// A reason why a site sends no report. The site starts no round because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportRefusal {
    /// The site takes part in a transfer, or did so within its cool-down.
    Busy,
    /// The site has promised this ballot, or a later one.
    Promised(Ballot),
}

/// An event that a site handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteEvent {
    /// The site's value from now on.
    Measured(SiteValue),
    /// Number of the site's running proxies from now on.
    Running(u32),
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
    /// Remove a pending proxy from the local queue.
    Delete,
    /// Add a proxy to the local queue.
    Add,
}

/// A record that must survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteRecord {
    /// The site serves no ballot below this one any more. A site also promises its own ballots,
    /// which makes them unique.
    Promised(Ballot),
    /// The site handed the round to another site, and never asks for a proxy under it.
    Relinquished(Ballot),
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
    Confirmed(Ballot),
    /// The site received a proxy.
    Added {
        /// The round.
        ballot: Ballot,
        /// The donor.
        from: SiteId,
        /// Time until which the site takes part in no other move.
        cool_until: Instant,
    },
}
