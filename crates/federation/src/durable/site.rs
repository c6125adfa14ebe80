//! A site: events in, effects out.

use tollgate_model::Instant;

use super::model_checking::SiteTimersMut;
use super::outbox::Outbox;
use super::persistent_state::DurableState;
use super::round::{ProposalRound, RoundOutcome};
use crate::message::{ReportRefusal, SiteEffect, SiteEvent, SiteMessage, SiteRecord, SiteReport};
use crate::site::{Ballot, SiteId, SiteValue};
use crate::timing::SessionTiming;

/// A site in the durable form of the protocol.
///
/// A driver creates the site with [`DurableSite::new`], or after a crash with
/// [`DurableSite::restored`] from the state on disk. It passes events to [`DurableSite::handle`],
/// with [`SiteEvent::Due`] no later than at [`DurableSite::next_wake`], and carries out the effects
/// in order. Time never goes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DurableSite {
    id: SiteId,
    sites: u32,
    timing: SessionTiming,
    durable: DurableState,
    outbox: Outbox,
    /// The site's current value, and its value in this period: the value of a round never changes.
    measured: SiteValue,
    frozen: Option<SiteValue>,
    running: u32,
    activity: SiteActivity,
    /// The report that the site sent in the round that it promised last.
    answered: Option<(Ballot, SiteReport)>,
    /// The highest ballot that the site has seen without promising it.
    highest_seen: Ballot,
    /// Time until which the site begins no round, because it promised one.
    quiet_until: Instant,
    /// Start of the site's next period.
    next_period: Instant,
    /// Time at which the site repeats unconfirmed transfers.
    repeat_at: Option<Instant>,
}

/// The activity of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SiteActivity {
    /// The site waits for its next period, or for other sites.
    Idle,
    /// The site collects answers.
    Proposing(ProposalRound),
    /// The site had the highest value and asked for a proxy.
    Requesting {
        /// The round.
        ballot: Ballot,
        /// The site that was asked.
        donor: SiteId,
        /// Time at which the site gives up. A proxy that arrives later is still accepted.
        deadline: Instant,
    },
}

impl DurableSite {
    /// Creates a site of `sites` sites with `proxies` proxies, all pending. Its first period begins
    /// at `first_period`.
    pub fn new(
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
            durable: DurableState::new(proxies),
            outbox: Outbox::default(),
            measured: SiteValue(0.0),
            frozen: None,
            running: 0,
            activity: SiteActivity::Idle,
            answered: None,
            highest_seen: Ballot::NONE,
            quiet_until: Instant::ZERO,
            next_period: first_period,
            repeat_at: None,
        }
    }

    /// Restores a site at `now` from its state on disk. The site keeps its promises: it begins no
    /// round before its cool-down has ended.
    pub fn restored(
        id: SiteId,
        sites: u32,
        timing: SessionTiming,
        durable: DurableState,
        running: u32,
        now: Instant,
    ) -> Self {
        let quiet_until = now + timing.cool_down();
        let open = durable.unconfirmed().next().is_some();
        Self {
            durable,
            running,
            quiet_until,
            repeat_at: open.then_some(now),
            ..Self::new(id, sites, timing, 0, now + timing.period)
        }
    }

    /// Returns the site's id.
    pub const fn id(&self) -> SiteId {
        self.id
    }

    /// Returns the site's state on disk once all its records are written.
    pub const fn durable(&self) -> &DurableState {
        &self.durable
    }

    /// Returns the site's activity.
    pub const fn activity(&self) -> &SiteActivity {
        &self.activity
    }

    /// Returns the number of the site's running proxies.
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// Returns the number of the site's pending proxies.
    pub const fn pending(&self) -> u32 {
        self.durable.proxies.saturating_sub(self.running)
    }

    /// Returns the time by which the site needs the next [`SiteEvent::Due`].
    pub fn next_wake(&self) -> Instant {
        let deadline = match &self.activity {
            SiteActivity::Idle => None,
            SiteActivity::Proposing(round) => Some(round.deadline),
            SiteActivity::Requesting { deadline, .. } => Some(*deadline),
        };
        let waits = [deadline, self.repeat_at];
        waits
            .into_iter()
            .flatten()
            .fold(self.next_period, Instant::min)
    }

    /// Handles an event and appends its effects.
    pub fn handle(&mut self, now: Instant, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        match event {
            SiteEvent::Measured(worth) => self.measured = worth,
            SiteEvent::Running(running) => self.running = running,
            SiteEvent::Written(number) => self.outbox.on_written(number, effects),
            SiteEvent::Due => self.on_due(now, effects),
            // A message from an unknown site, or from the site itself, is ignored.
            SiteEvent::Received { from, .. } if from.0 >= self.sites || from == self.id => {}
            SiteEvent::Received { from, message } => self.on_message(now, from, message, effects),
        }
    }

    fn on_message(
        &mut self,
        now: Instant,
        from: SiteId,
        message: SiteMessage,
        effects: &mut Vec<SiteEffect>,
    ) {
        match message {
            SiteMessage::Propose { ballot, worth: _ } => {
                self.on_propose(now, from, ballot, effects)
            }
            SiteMessage::Answer { ballot, report } => {
                self.on_answer(now, from, ballot, report, effects);
            }
            SiteMessage::Handover { ballot, donor } => {
                self.on_handover(now, from, ballot, donor, effects);
            }
            SiteMessage::Request { ballot } => self.on_request(now, from, ballot, effects),
            SiteMessage::Given { ballot } => self.on_given(now, from, ballot, effects),
            SiteMessage::Denied { ballot } => self.on_denied(from, ballot),
            SiteMessage::Confirm { ballot } => self.on_confirm(from, ballot, effects),
        }
    }

    fn on_due(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        match &self.activity {
            SiteActivity::Proposing(round) if round.deadline <= now => self.decide(now, effects),
            SiteActivity::Requesting { deadline, .. } if *deadline <= now => {
                self.activity = SiteActivity::Idle
            }
            SiteActivity::Idle | SiteActivity::Proposing(_) | SiteActivity::Requesting { .. } => {}
        }
        if self.repeat_at.is_some_and(|at| at <= now) {
            self.repeat_grants(now, effects);
        }
        if self.next_period <= now {
            self.begin_period(now, effects);
        }
    }

    /// Repeats the unconfirmed transfers of a donor until the receiver confirms them.
    fn repeat_grants(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let open: Vec<(Ballot, SiteId)> = self.durable.unconfirmed().collect();
        self.repeat_at = (!open.is_empty()).then(|| now + self.timing.time_out());
        for (ballot, to) in open {
            self.send(to, SiteMessage::Given { ballot }, effects);
        }
    }

    fn begin_period(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        self.frozen = None;
        self.next_period += self.timing.period;
        if self.next_period <= now {
            self.next_period = now + self.timing.period;
        }
        let free = self.activity == SiteActivity::Idle && !self.is_cooling_down(now);
        if free && self.quiet_until <= now && self.sites > 1 {
            self.propose(now, effects);
        }
    }

    fn propose(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let ballot = self.durable.promised.max(self.highest_seen).next(self.id);
        let own = self.report();
        self.write(SiteRecord::Promised(ballot), effects);
        self.activity = SiteActivity::Proposing(ProposalRound {
            ballot,
            own,
            answers: Default::default(),
            deadline: now + self.timing.time_out(),
        });
        let worth = own.worth;
        let id = self.id;
        for to in (0..self.sites).map(SiteId).filter(|&to| to != id) {
            self.send(to, SiteMessage::Propose { ballot, worth }, effects);
        }
    }

    /// Promises a round, unless its ballot is too old or the site is busy. A promise ends the
    /// site's own round, because the later round decides.
    fn on_propose(
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
            Some(_) | None => Ok(self.promise(now, ballot, effects)),
        };
        self.send(from, SiteMessage::Answer { ballot, report }, effects);
    }

    fn promise(
        &mut self,
        now: Instant,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) -> SiteReport {
        self.activity = SiteActivity::Idle;
        self.quiet_until = now + self.timing.cool_down();
        let report = self.report();
        self.answered = Some((ballot, report));
        self.write(SiteRecord::Promised(ballot), effects);
        report
    }

    fn on_answer(
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
        if round.is_complete(self.sites) {
            self.decide(now, effects);
        }
    }

    fn decide(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let SiteActivity::Proposing(round) = &self.activity else {
            return;
        };
        let ballot = round.ballot;
        let outcome = round.outcome(self.id, self.sites);
        self.activity = SiteActivity::Idle;
        self.quiet_until = now + self.timing.cool_down();
        match outcome {
            RoundOutcome::NoMajority | RoundOutcome::NoDonor => {}
            RoundOutcome::Decided { highest, donor } if highest == self.id => {
                self.request(now, ballot, donor, effects);
            }
            RoundOutcome::Decided { highest, donor } => {
                self.write(SiteRecord::Relinquished(ballot), effects);
                self.send(highest, SiteMessage::Handover { ballot, donor }, effects);
            }
        }
    }

    fn on_handover(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        donor: SiteId,
        effects: &mut Vec<SiteEffect>,
    ) {
        let mine = ballot.site == from && ballot == self.durable.promised;
        let sound = donor.0 < self.sites && donor != self.id;
        let over = self.durable.added.contains_key(&ballot);
        if mine && sound && !over && !self.is_busy(now) {
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
            deadline: now + self.timing.time_out(),
        };
        self.send(donor, SiteMessage::Request { ballot }, effects);
    }

    /// Gives a proxy, at most once a round, if the site may and can.
    fn on_request(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        let answer = match self.durable.given.get(&ballot) {
            Some(transfer) if transfer.to == from => SiteMessage::Given { ballot },
            Some(_) => SiteMessage::Denied { ballot },
            None if self.may_give(now, ballot) => {
                self.give(now, from, ballot, effects);
                SiteMessage::Given { ballot }
            }
            None => SiteMessage::Denied { ballot },
        };
        self.send(from, answer, effects);
    }

    fn may_give(&self, now: Instant, ballot: Ballot) -> bool {
        ballot >= self.durable.promised && !self.is_busy(now) && self.pending() >= 2
    }

    fn give(&mut self, now: Instant, to: SiteId, ballot: Ballot, effects: &mut Vec<SiteEffect>) {
        // The site's own round, if any, is earlier than this one.
        self.activity = SiteActivity::Idle;
        let cool_until = now + self.timing.cool_down();
        let record = SiteRecord::Given {
            ballot,
            to,
            cool_until,
        };
        self.write(record, effects);
        self.outbox.put(SiteEffect::Delete, effects);
        let repeat = now + self.timing.time_out();
        self.repeat_at = Some(self.repeat_at.map_or(repeat, |at| at.min(repeat)));
    }

    /// Receives a proxy. The site accepts it in any activity, because the donor no longer has it.
    fn on_given(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        if !self.durable.added.contains_key(&ballot) {
            let cool_until = now + self.timing.cool_down();
            let record = SiteRecord::Added {
                ballot,
                from,
                cool_until,
            };
            self.write(record, effects);
            self.outbox.put(SiteEffect::Add, effects);
        }
        self.on_denied(from, ballot);
        self.send(from, SiteMessage::Confirm { ballot }, effects);
    }

    /// Ends the request that this message answers.
    fn on_denied(&mut self, from: SiteId, ballot: Ballot) {
        let over = matches!(
            self.activity,
            SiteActivity::Requesting { ballot: asked, donor, .. } if asked == ballot && donor == from
        );
        if over {
            self.activity = SiteActivity::Idle;
        }
    }

    fn on_confirm(&mut self, from: SiteId, ballot: Ballot, effects: &mut Vec<SiteEffect>) {
        let transfer = self.durable.given.get(&ballot);
        if transfer.is_some_and(|transfer| transfer.to == from && !transfer.confirmed) {
            self.write(SiteRecord::Confirmed(ballot), effects);
        }
    }

    /// Returns the site's report and fixes its value for the rest of the period.
    fn report(&mut self) -> SiteReport {
        SiteReport {
            worth: *self.frozen.get_or_insert(self.measured),
            pending: self.pending(),
        }
    }

    /// Returns whether the site takes part in a move, or did so within its cool-down.
    fn is_busy(&self, now: Instant) -> bool {
        matches!(self.activity, SiteActivity::Requesting { .. }) || self.is_cooling_down(now)
    }

    fn is_cooling_down(&self, now: Instant) -> bool {
        now < self.durable.cool_until
    }

    fn write(&mut self, record: SiteRecord, effects: &mut Vec<SiteEffect>) {
        self.durable.apply(record);
        self.outbox.write(record, effects);
    }

    fn send(&mut self, to: SiteId, message: SiteMessage, effects: &mut Vec<SiteEffect>) {
        self.outbox.put(SiteEffect::Send { to, message }, effects);
    }

    pub(super) const fn timing(&self) -> SessionTiming {
        self.timing
    }

    /// Drops the state that makes no difference as long as the site's measured value stays the
    /// same.
    pub(super) fn forget(&mut self) {
        self.outbox.forget();
        self.frozen = self.frozen.filter(|frozen| *frozen != self.measured);
        if self.highest_seen <= self.durable.promised {
            self.highest_seen = Ballot::NONE;
        }
    }

    pub(super) fn timers_mut(&mut self) -> SiteTimersMut<'_> {
        SiteTimersMut {
            next_period: &mut self.next_period,
            deadline: match &mut self.activity {
                SiteActivity::Idle => None,
                SiteActivity::Proposing(round) => Some(&mut round.deadline),
                SiteActivity::Requesting { deadline, .. } => Some(deadline),
            },
            repeat_at: self.repeat_at.as_mut(),
            cool_until: &mut self.durable.cool_until,
            quiet_until: &mut self.quiet_until,
        }
    }
}
