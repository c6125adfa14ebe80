//! Rounds: proposals, answers and decisions.

use std::sync::Arc;

use tollgate_model::Instant;

use super::super::round::{ProposalRound, RoundOutcome};
use super::{DurableSite, SiteActivity};
use crate::message::{ReportRefusal, SiteEffect, SiteMessage, SiteRecord, SiteReport};
use crate::site::{Ballot, SiteId};

impl DurableSite {
    pub(super) fn begin_period(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        self.frozen = None;
        let period = self.terms.timing.period;
        self.next_period += period;
        // A step of the clock skips periods, and never puts the next one further away.
        if self.next_period <= now || self.next_period > now + period {
            self.next_period = now + period;
        }
        let free = self.activity == SiteActivity::Idle && !self.is_cooling_down(now);
        if free && self.quiet_until <= now && self.terms.membership.count() > 1 {
            self.propose(now, effects);
        }
    }

    fn propose(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let Some(own) = self.report() else {
            return;
        };
        let ballot = self.durable.promised.max(self.highest_seen).next(self.id);
        self.write(SiteRecord::Promised { ballot }, effects);
        self.activity = SiteActivity::Proposing(ProposalRound {
            ballot,
            own,
            answers: Default::default(),
            deadline: now + self.terms.timing.time_out(),
        });
        let worth = own.measured.worth;
        let terms = Arc::clone(&self.terms);
        let others = terms.membership.sites().filter(|&to| to != self.id);
        for to in others.collect::<Vec<_>>() {
            self.send(to, SiteMessage::Propose { ballot, worth }, effects);
        }
    }

    /// Promises a round, unless its ballot is too old or the site is busy. A promise ends the
    /// site's own round, because the later round decides.
    pub(super) fn on_propose(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        if ballot.site != from {
            return;
        }
        // The ballot counts even if the site does not promise it: the site's own next ballot must
        // be later.
        self.highest_seen = self.highest_seen.max(ballot);
        let report = match self.answered {
            Some((round, report)) if round == ballot => Ok(report),
            Some(_) | None if ballot <= self.durable.promised => {
                Err(ReportRefusal::Promised(self.durable.promised))
            }
            Some(_) | None if self.is_busy(now) => Err(ReportRefusal::Busy),
            Some(_) | None => {
                let promise = self.promise(now, ballot, effects);
                promise.ok_or(ReportRefusal::Unreachable)
            }
        };
        self.send(from, SiteMessage::Answer { ballot, report }, effects);
    }

    fn promise(
        &mut self,
        now: Instant,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) -> Option<SiteReport> {
        let report = self.report()?;
        self.activity = SiteActivity::Idle;
        self.quiet_until = now + self.terms.timing.cool_down();
        self.answered = Some((ballot, report));
        self.write(SiteRecord::Promised { ballot }, effects);
        Some(report)
    }

    pub(super) fn on_answer(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        report: Result<SiteReport, ReportRefusal>,
        effects: &mut Vec<SiteEffect>,
    ) {
        if let Err(ReportRefusal::Promised(later)) = report {
            self.highest_seen = self.highest_seen.max(later);
        }
        let SiteActivity::Proposing(round) = &mut self.activity else {
            return;
        };
        if round.ballot != ballot {
            return;
        }
        round.answers.entry(from).or_insert(report);
        if round.is_complete(self.terms.membership.count()) {
            self.decide(now, effects);
        }
    }

    pub(super) fn decide(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let SiteActivity::Proposing(round) = &self.activity else {
            return;
        };
        let ballot = round.ballot;
        let sites = self.terms.membership.count();
        let outcome = round.outcome(self.id, sites, self.terms.moves);
        self.activity = SiteActivity::Idle;
        self.quiet_until = now + self.terms.timing.cool_down();
        self.last_outcome = Some((ballot, outcome));
        match outcome {
            RoundOutcome::NoMajority
            | RoundOutcome::Alike
            | RoundOutcome::NoDonor
            | RoundOutcome::Guarded => {}
            RoundOutcome::Decided { highest, donor } if highest == self.id => {
                self.request(now, ballot, donor, effects);
            }
            RoundOutcome::Decided { highest, donor } => {
                self.write(SiteRecord::Relinquished { ballot }, effects);
                self.send(highest, SiteMessage::Handover { ballot, donor }, effects);
            }
        }
    }

    pub(super) fn on_handover(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        donor: SiteId,
        effects: &mut Vec<SiteEffect>,
    ) {
        let mine = ballot.site == from && ballot == self.durable.promised;
        let over = self.durable.has_received(donor, ballot);
        let free = self.is_reachable() && !self.is_busy(now);
        if mine && self.is_other_member(donor) && !over && free {
            self.request(now, ballot, donor, effects);
        }
    }

    fn request(
        &mut self,
        now: Instant,
        ballot: Ballot,
        donor: SiteId,
        effects: &mut Vec<SiteEffect>,
    ) {
        self.activity = SiteActivity::Requesting {
            ballot,
            donor,
            deadline: now + self.terms.timing.time_out(),
        };
        self.send(donor, SiteMessage::Request { ballot }, effects);
    }

    /// Returns the site's report and fixes its values for the rest of the period; None if the
    /// driver cannot read the queue or has not measured the site.
    fn report(&mut self) -> Option<SiteReport> {
        let measured = self.measured.filter(|_| self.is_reachable())?;
        Some(SiteReport {
            measured: *self.frozen.get_or_insert(measured),
            pending: self.pending(),
        })
    }
}
