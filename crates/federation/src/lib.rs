//! The protocol by which sites agree on a move without a central coordinator: propose, promise,
//! accept, acknowledge (Walker 2009, §III.B), as state machines without sockets, files or clocks.
//!
//! | module | contents |
//! |---|---|
//! | [`site`](SiteId) | sites, their values, ballots |
//! | [`membership`](Membership) | the sites of an epoch, and the messages that count between them |
//! | [`message`](SiteMessage) | messages, events and effects |
//! | [`rule`](MoveRule) | the moves that are worth a request |
//! | `timing` | the delays and time-outs of a session |
//! | [`durable`] | the form that the product runs: no fault loses or duplicates a proxy |
//! | [`paper`] | the form as it was published, for study |
//!
//! Both forms take a [`SiteEvent`] and the time, and return [`SiteEffect`]s. The driver carries out
//! the effects in order, and sends [`SiteEvent::Due`] at [`durable::DurableSite::next_wake`] or
//! [`paper::PaperSite::next_wake`]. A [`SiteEffect::Write`] must be on disk before the driver sends
//! [`SiteEvent::Written`]; effects that depend on the record are delayed until then.
//!
//! The values of a site are plain numbers here; `tollgate-policies` computes them (in its `migrate`
//! module).

pub mod durable;
mod membership;
mod message;
pub mod paper;
mod rule;
mod site;
mod timing;

pub use membership::{Envelope, Membership, MembershipError, SessionTerms};
pub use message::{ReportRefusal, SiteEffect, SiteEvent, SiteMessage, SiteRecord, SiteReport};
pub use rule::{MoveRule, MoveRuleError};
pub use site::{Ballot, BallotError, SiteId, SiteMeasurement, SiteValue};
pub use timing::SessionTiming;
