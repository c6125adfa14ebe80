//! The protocol by which sites agree on a move without a central coordinator: propose, promise,
//! accept, acknowledge (Walker 2009, §III.B), as state machines without sockets, files or clocks.
//!
//! # Examples
//! Two sites, and a driver without delays or faults. Site 1 is worth twice as much, so that a proxy of site 0 moves there:
//! ```
//! use tollgate_federation::durable::DurableSite;
//! use tollgate_federation::{
//!     Membership, MoveRule, SessionTerms, SessionTiming, SiteEffect, SiteEvent, SiteId, SiteMeasurement,
//! };
//! use tollgate_model::{Instant, Span};
//!
//! let ids = [SiteId(0), SiteId(1)];
//! let terms = SessionTerms {
//!     membership: Membership::new(1, ids),
//!     timing: SessionTiming { period: Span::from_secs(60), max_delay: Span::from_secs(1) },
//!     moves: MoveRule::ANY,
//! };
//! let mut sites = ids.map(|id| DurableSite::new(id, terms.clone(), 2, Instant::ZERO));
//! // The events to handle, and the moves of proxies, each with the site.
//! let mut events = Vec::new();
//! for (id, worth) in ids.into_iter().zip([1.0, 2.0]) {
//!     events.push((id, SiteEvent::Measured(SiteMeasurement::of_worth(worth))));
//!     events.push((id, SiteEvent::Running(0)));
//! }
//! events.push((SiteId(1), SiteEvent::Due));
//! let mut moves = Vec::new();
//! while !events.is_empty() {
//!     let (id, event) = events.remove(0);
//!     let mut effects = Vec::new();
//!     sites[id.0 as usize].handle(Instant::ZERO, event, &mut effects);
//!     for effect in effects {
//!         match effect {
//!             SiteEffect::Send { to, message } => events.push((to, SiteEvent::Received { from: id, message })),
//!             SiteEffect::Write { number, .. } => events.push((id, SiteEvent::Written(number))),
//!             SiteEffect::Delete | SiteEffect::Add => moves.push((id, effect)),
//!         }
//!     }
//! }
//! assert_eq!(moves, [(SiteId(0), SiteEffect::Delete), (SiteId(1), SiteEffect::Add)]);
//! ```
//!
//! # Modules
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
//! The values of a site are plain numbers here; `tollgate-grid-policies` computes them (in its `migrate`
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
pub use rule::{DonorSearch, MoveRule, MoveRuleError};
pub use site::{Ballot, BallotError, SiteId, SiteMeasurement, SiteValue};
pub use timing::SessionTiming;
