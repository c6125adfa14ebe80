//! How sites agree on a move without anybody in the middle: propose, promise, accept, acknowledge
//! (Walker 2009, §III.B), as state machines without sockets, files or clocks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`site`](SiteId) | sites, their worth, ballots |
//! | [`message`](Message) | what sites say to each other |
//! | [`durable`] | the form that the product runs: it loses and doubles nothing, whatever fails |
//! | [`paper`] | the form as it was published, to study |
//!
//! Both forms take an [`SiteEvent`] and the time, and give [`SiteEffect`]s. The driver carries effects out
//! in order; it hands in [`SiteEvent::Due`] when [`durable::PaperSite::next_wake`] or
//! [`paper::PaperSite::next_wake`] has come. A [`SiteEffect::Write`] must be on disk before the driver says
//! [`SiteEvent::Written`]; what depends on it is held back until then.
//!
//! What a site is worth is for `tollgate-policy` to say (its `migrate` module); here it is a number.

pub mod durable;
mod message;
pub mod paper;
mod site;
mod timing;

pub use message::{ReportRefusal, SiteEffect, SiteEvent, SiteMessage, SiteRecord, SiteReport};
pub use site::{Ballot, SiteId, SiteValue};
pub use timing::SessionTiming;
