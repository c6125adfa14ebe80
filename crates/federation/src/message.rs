//! What goes in and what comes out.

use tollgate_model::Instant;

use crate::site::{Ballot, SiteId, SiteValue};

/// What sites say to each other. The first four are those of the paper, with a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteMessage {
    /// The sender would receive a proxy: this is its worth.
    Propose {
        /// The round; [`Ballot::NONE`] in the paper's form.
        ballot: Ballot,
        /// What the proposer is worth.
        worth: SiteValue,
    },
    /// An answer to a proposal.
    Answer {
        /// The round.
        ballot: Ballot,
        /// What the sender has to say, or why it says nothing.
        report: Result<SiteReport, ReportRefusal>,
    },
    /// The receiver of this message is worth most: the round is its own now.
    Handover {
        /// The round.
        ballot: Ballot,
        /// Whom to ask for a proxy.
        donor: SiteId,
    },
    /// The sender asks for a proxy.
    Request {
        /// The round.
        ballot: Ballot,
    },
    /// A proxy was taken out of the sender's queue for the receiver.
    Given {
        /// The round, which names the transfer: a round has one at most.
        ballot: Ballot,
    },
    /// There is none to give.
    Denied {
        /// The round.
        ballot: Ballot,
    },
    /// The proxy that was given is in the sender's queue.
    Confirm {
        /// The round.
        ballot: Ballot,
    },
}

/// What a site says of itself in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteReport {
    /// What it is worth: an ACK if that is less than the proposer's, else a NACK. Of equals the
    /// higher site counts as worth more.
    pub worth: SiteValue,
    /// How many proxies wait there.
    pub pending: u32,
}

/// Why a site says nothing of itself. It starts no round for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportRefusal {
    /// It takes part in a transfer, or did a moment ago.
    Busy,
    /// It has promised this ballot, or a later one.
    Promised(Ballot),
}

/// What happens to a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteEvent {
    /// What the site is worth from now on.
    Measured(SiteValue),
    /// How many of its proxies run from now on.
    Running(u32),
    /// A message has come.
    Received {
        /// From whom.
        from: SiteId,
        /// What it says.
        message: SiteMessage,
    },
    /// Everything up to the write of that number is on disk.
    Written(u64),
    /// An instant has come that the site asked for.
    Due,
}

/// What a site wants done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteEffect {
    /// Send a message. It may be lost, doubled or late.
    Send {
        /// To whom.
        to: SiteId,
        /// What it says.
        message: SiteMessage,
    },
    /// Put a record on disk, after those before it, then say [`SiteEvent::Written`].
    Write {
        /// Its number, one more than that of the record before.
        number: u64,
        /// What it says.
        record: SiteRecord,
    },
    /// Take a pending proxy out of the local queue.
    Delete,
    /// Put a proxy into the local queue.
    Add,
}

/// What must survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteRecord {
    /// Nothing below this ballot is served any more. Its own ballots a site promises too, which
    /// makes them unique.
    Promised(Ballot),
    /// The round was handed to another site; this one never asks for a proxy under it.
    Relinquished(Ballot),
    /// A proxy was given.
    Given {
        /// The round.
        ballot: Ballot,
        /// To whom.
        to: SiteId,
        /// Until when the site takes part in no other move.
        cool_until: Instant,
    },
    /// The receiver has it: the donor need not repeat itself.
    Confirmed(Ballot),
    /// A proxy was received.
    Added {
        /// The round.
        ballot: Ballot,
        /// From whom.
        from: SiteId,
        /// Until when the site takes part in no other move.
        cool_until: Instant,
    },
}
