//! The form as it was published (Walker 2009, §III.B), to study.
//!
//! Messages have no round and nothing is on disk: a lost message can lose a proxy, a doubled one
//! doubles it, and one site that does not answer stops every round. `durable` is the form to run.
//!
//! Where the paper says nothing: a proposer with one NACK retires; a site that sends a NACK begins
//! a round only if it is worth strictly more and is not proposing already; its value is computed
//! once a period, or at the first proposal before that.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::{Effect, Event, Message, Report};
use crate::site::{Ballot, SiteId, Worth};
use crate::timing::Timing;

/// A site in the paper's form. It takes [`Event`]s as [`crate::durable::Site`] does; nothing is
/// written, so it never waits for [`Event::Written`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    id: SiteId,
    sites: u32,
    timing: Timing,
    proxies: u32,
    running: u32,
    measured: Worth,
    frozen: Option<Worth>,
    /// The answers to its own proposal, if it is a proposer.
    answers: Option<BTreeMap<SiteId, Worth>>,
    /// Whom it asked for a proxy.
    asked: Option<SiteId>,
    next_period: Instant,
}

/// An ACK to a proposal has a report, a NACK none that counts: in this form a NACK is an answer
/// whose worth is not below the proposer's.
const ROUND: Ballot = Ballot::NONE;

impl Site {
    /// A site of `sites` that begins with so many `proxies`, all pending.
    pub const fn new(
        id: SiteId,
        sites: u32,
        timing: Timing,
        proxies: u32,
        first_period: Instant,
    ) -> Self {
        Self {
            id,
            sites,
            timing,
            proxies,
            running: 0,
            measured: Worth(0.0),
            frozen: None,
            answers: None,
            asked: None,
            next_period: first_period,
        }
    }

    /// How many proxies are its own, pending and running.
    pub const fn proxies(&self) -> u32 {
        self.proxies
    }

    /// How many of its proxies wait.
    pub const fn pending(&self) -> u32 {
        self.proxies.saturating_sub(self.running)
    }

    /// Whether it is a proposer, or waits for a proxy.
    pub const fn is_proposing(&self) -> bool {
        self.answers.is_some() || self.asked.is_some()
    }

    /// When it next wants to hear [`Event::Due`].
    pub const fn next_wake(&self) -> Instant {
        self.next_period
    }

    /// Something happens to the site.
    pub fn handle(&mut self, now: Instant, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Measured(worth) => self.measured = worth,
            Event::Running(running) => self.running = running,
            Event::Written(_) => {}
            Event::Due => self.due(now, effects),
            Event::Received { from, message } => self.received(from, message, effects),
        }
    }

    /// Steps 1 and 2: a new value, and a proposal, unless its last one is still open.
    fn due(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if now < self.next_period {
            return;
        }
        self.frozen = None;
        self.next_period = self.next_period.max(now) + self.timing.period;
        if !self.is_proposing() {
            self.propose(effects);
        }
    }

    fn propose(&mut self, effects: &mut Vec<Effect>) {
        let worth = self.worth();
        self.answers = Some(BTreeMap::new());
        let message = Message::Propose {
            ballot: ROUND,
            worth,
        };
        for to in (0..self.sites).map(SiteId).filter(|&to| to != self.id) {
            effects.push(Effect::Send { to, message });
        }
    }

    fn received(&mut self, from: SiteId, message: Message, effects: &mut Vec<Effect>) {
        match message {
            Message::Propose { worth, .. } => self.proposed(from, worth, effects),
            Message::Answer {
                report: Ok(report), ..
            } => self.answered(from, report.worth, effects),
            Message::Request { .. } => self.requested(from, effects),
            Message::Given { .. } => {
                // Step 8. Nothing tells a proxy that was asked for from one that comes again.
                self.proxies += 1;
                effects.push(Effect::Add);
                self.asked = None;
            }
            Message::Denied { .. } => self.asked = None,
            Message::Answer { report: Err(_), .. }
            | Message::Handover { .. }
            | Message::Confirm { .. } => {}
        }
    }

    /// Steps 3 and 5.
    fn proposed(&mut self, from: SiteId, proposed: Worth, effects: &mut Vec<Effect>) {
        let worth = self.worth();
        let report = Ok(Report {
            worth,
            pending: self.pending(),
        });
        let ballot = ROUND;
        effects.push(Effect::Send {
            to: from,
            message: Message::Answer { ballot, report },
        });
        if worth > proposed && !self.is_proposing() {
            self.propose(effects);
        }
    }

    /// Steps 4 and 6.
    fn answered(&mut self, from: SiteId, worth: Worth, effects: &mut Vec<Effect>) {
        let own = self.worth();
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
            self.asked = Some(donor);
            effects.push(Effect::Send {
                to: donor,
                message: Message::Request { ballot: ROUND },
            });
        }
        self.answers = None;
    }

    /// Step 7.
    fn requested(&mut self, from: SiteId, effects: &mut Vec<Effect>) {
        let ballot = ROUND;
        let message = if self.pending() >= 2 {
            self.proxies -= 1;
            effects.push(Effect::Delete);
            Message::Given { ballot }
        } else {
            Message::Denied { ballot }
        };
        effects.push(Effect::Send { to: from, message });
    }

    fn worth(&mut self) -> Worth {
        *self.frozen.get_or_insert(self.measured)
    }
}
