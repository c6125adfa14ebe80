//! The form as it was published (Walker 2009, §III.B), for study.
//!
//! Messages have no round and no state is on disk. A lost message can lose a proxy, a duplicated
//! message duplicates it, and one site that does not answer stops every round. Use `durable` in
//! production.
//!
//! This module decides where the paper is silent. A proposer with one NACK retires. A site that sends a NACK
//! begins a round only if its value is strictly higher and it is not already proposing. A site computes its
//! value once a period, or at the first proposal before that.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::{SiteEffect, SiteEvent, SiteMessage, SiteReport};
use crate::site::{Ballot, SiteId, SiteMeasurement, SiteValue};
use crate::timing::SessionTiming;

/// A site in the paper's form of the protocol. It handles [`SiteEvent`]s as
/// [`crate::durable::DurableSite`] does, but writes no records and never waits for
/// [`SiteEvent::Written`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaperSite {
    id: SiteId,
    sites: u32,
    timing: SessionTiming,
    proxies: u32,
    running: u32,
    measured: SiteValue,
    frozen: Option<SiteValue>,
    /// The answers to the site's own proposal, if it is a proposer.
    answers: Option<BTreeMap<SiteId, SiteValue>>,
    /// The site that was asked for a proxy.
    requested: Option<SiteId>,
    next_period: Instant,
}

/// The ballot of every message. An ACK has a report whose value counts; in this form a NACK is an
/// answer whose value is not below the proposer's.
const ROUND: Ballot = Ballot::NONE;

impl PaperSite {
    /// Creates a site of `sites` sites with `proxies` proxies, all pending.
    pub const fn new(
        id: SiteId,
        sites: u32,
        timing: SessionTiming,
        proxies: u32,
        first_period: Instant,
    ) -> Self {
        Self {
            id,
            sites,
            timing,
            proxies,
            running: 0,
            measured: SiteValue(0.0),
            frozen: None,
            answers: None,
            requested: None,
            next_period: first_period,
        }
    }

    /// Returns the number of the site's own proxies, pending and running.
    pub const fn proxies(&self) -> u32 {
        self.proxies
    }

    /// Returns the number of the site's pending proxies.
    pub const fn pending(&self) -> u32 {
        self.proxies.saturating_sub(self.running)
    }

    /// Returns whether the site is a proposer or waits for a proxy.
    pub const fn is_proposing(&self) -> bool {
        self.answers.is_some() || self.requested.is_some()
    }

    /// Returns the time by which the site needs the next [`SiteEvent::Due`].
    pub const fn next_wake(&self) -> Instant {
        self.next_period
    }

    /// Handles an event and appends its effects.
    pub fn handle(&mut self, now: Instant, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        match event {
            SiteEvent::Measured(measured) => self.measured = measured.worth,
            SiteEvent::Running(running) => self.running = running,
            SiteEvent::Unreachable | SiteEvent::Written(_) => {}
            SiteEvent::Due => self.on_due(now, effects),
            SiteEvent::Received { from, message } => self.on_message(from, message, effects),
        }
    }

    /// Steps 1 and 2: computes a new value and proposes, unless the last proposal is still open.
    fn on_due(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        if now < self.next_period {
            return;
        }
        self.frozen = None;
        self.next_period = self.next_period.max(now) + self.timing.period;
        if !self.is_proposing() {
            self.propose(effects);
        }
    }

    fn propose(&mut self, effects: &mut Vec<SiteEffect>) {
        let worth = self.current_value();
        self.answers = Some(BTreeMap::new());
        let message = SiteMessage::Propose {
            ballot: ROUND,
            worth,
        };
        for to in (0..self.sites).map(SiteId).filter(|&to| to != self.id) {
            effects.push(SiteEffect::Send { to, message });
        }
    }

    fn on_message(&mut self, from: SiteId, message: SiteMessage, effects: &mut Vec<SiteEffect>) {
        match message {
            SiteMessage::Propose { worth, .. } => self.on_propose(from, worth, effects),
            SiteMessage::Answer {
                report: Ok(report), ..
            } => self.on_answer(from, report.measured.worth, effects),
            SiteMessage::Request { .. } => self.on_request(from, effects),
            SiteMessage::Given { .. } => {
                // Step 8. A requested proxy cannot be distinguished from a duplicate.
                self.proxies += 1;
                effects.push(SiteEffect::Add);
                self.requested = None;
            }
            SiteMessage::Denied { .. } => self.requested = None,
            SiteMessage::Answer { report: Err(_), .. }
            | SiteMessage::Handover { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }

    /// Steps 3 and 5.
    fn on_propose(&mut self, from: SiteId, proposed: SiteValue, effects: &mut Vec<SiteEffect>) {
        let worth = self.current_value();
        let report = Ok(SiteReport {
            measured: SiteMeasurement::of_worth(worth.0),
            pending: self.pending(),
        });
        let ballot = ROUND;
        effects.push(SiteEffect::Send {
            to: from,
            message: SiteMessage::Answer { ballot, report },
        });
        if worth > proposed && !self.is_proposing() {
            self.propose(effects);
        }
    }

    /// Steps 4 and 6.
    fn on_answer(&mut self, from: SiteId, worth: SiteValue, effects: &mut Vec<SiteEffect>) {
        let own = self.current_value();
        let Some(answers) = &mut self.answers else {
            return;
        };
        if worth >= own {
            self.answers = None;
            return;
        }
        answers.insert(from, worth);
        if (answers.len() as u32) < self.sites - 1 {
            return;
        }
        let lowest = answers.iter().min_by_key(|&(&site, &worth)| (worth, site));
        if let Some((&donor, _)) = lowest {
            self.requested = Some(donor);
            effects.push(SiteEffect::Send {
                to: donor,
                message: SiteMessage::Request { ballot: ROUND },
            });
        }
        self.answers = None;
    }

    /// Handles step 7.
    fn on_request(&mut self, from: SiteId, effects: &mut Vec<SiteEffect>) {
        let ballot = ROUND;
        let message = if self.pending() >= 2 {
            self.proxies -= 1;
            effects.push(SiteEffect::Delete);
            SiteMessage::Given { ballot }
        } else {
            SiteMessage::Denied { ballot }
        };
        effects.push(SiteEffect::Send { to: from, message });
    }

    fn current_value(&mut self) -> SiteValue {
        *self.frozen.get_or_insert(self.measured)
    }
}
