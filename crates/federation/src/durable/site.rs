//! A site: events in, effects out.

mod rounds;
mod transfers;

use std::sync::Arc;

use tollgate_model::Instant;

use super::model_checking::SiteTimersMut;
use super::outbox::Outbox;
use super::persistent_state::DurableState;
use super::round::{ProposalRound, RoundOutcome};
use crate::membership::{MembershipError, SessionTerms};
use crate::message::{SiteEffect, SiteEvent, SiteMessage, SiteRecord, SiteReport};
use crate::site::{Ballot, SiteId, SiteMeasurement};

/// A site in the durable form of the protocol.
///
/// A driver creates the site with [`DurableSite::new`], or after a crash with
/// [`DurableSite::restored`] from the state on disk. It passes events to [`DurableSite::handle`],
/// with [`SiteEvent::Due`] no later than at [`DurableSite::next_wake`], and carries out the effects
/// in order. Time never goes back while the site runs.
///
/// A site takes part in rounds once its driver has sent [`SiteEvent::Measured`] and
/// [`SiteEvent::Running`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DurableSite {
    id: SiteId,
    terms: Arc<SessionTerms>,
    durable: DurableState,
    outbox: Outbox,
    /// The site's current values, and its values in this period: the values of a round never
    /// change.
    measured: Option<SiteMeasurement>,
    frozen: Option<SiteMeasurement>,
    /// Number of running proxies; None if the queue cannot be read.
    running: Option<u32>,
    activity: SiteActivity,
    /// The outcome of the last round that the site proposed and decided.
    last_outcome: Option<(Ballot, RoundOutcome)>,
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
    /// Creates a site that begins the session with `proxies` proxies. `id` is a member. The site's
    /// first period begins at `first_period`.
    pub fn new(
        id: SiteId,
        terms: impl Into<Arc<SessionTerms>>,
        proxies: u32,
        first_period: Instant,
    ) -> Self {
        let terms = terms.into();
        let durable = DurableState::new(terms.membership.epoch(), proxies);
        Self::with_state(id, terms, durable, first_period)
    }

    /// Restores a site at `now` from its state on disk. The site keeps its promises: it begins no
    /// round before its cool-down has ended, also if the clock was set back meanwhile.
    ///
    /// # Errors
    ///
    /// `id` is not a member, or the state is of another epoch: see
    /// [`Membership::entry`](crate::Membership::entry).
    pub fn restored(
        id: SiteId,
        terms: impl Into<Arc<SessionTerms>>,
        mut durable: DurableState,
        now: Instant,
    ) -> Result<Self, MembershipError> {
        let terms = terms.into();
        let (state, session) = (durable.epoch, terms.membership.epoch());
        if state != session {
            return Err(MembershipError::OtherEpoch { state, session });
        }
        if !terms.membership.contains(id) {
            return Err(MembershipError::UnknownSite(id));
        }
        let quiet_until = now + terms.timing.cool_down();
        durable.cool_until = durable.cool_until.min(quiet_until);
        let open = durable.unconfirmed().next().is_some();
        let first_period = now + terms.timing.period;
        Ok(Self {
            quiet_until,
            repeat_at: open.then_some(now),
            ..Self::with_state(id, terms, durable, first_period)
        })
    }

    fn with_state(
        id: SiteId,
        terms: Arc<SessionTerms>,
        durable: DurableState,
        first_period: Instant,
    ) -> Self {
        Self {
            id,
            terms,
            durable,
            outbox: Outbox::default(),
            measured: None,
            frozen: None,
            running: None,
            activity: SiteActivity::Idle,
            last_outcome: None,
            answered: None,
            highest_seen: Ballot::NONE,
            quiet_until: Instant::ZERO,
            next_period: first_period,
            repeat_at: None,
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

    /// Returns the terms of the site's session.
    pub fn terms(&self) -> &SessionTerms {
        &self.terms
    }

    /// Returns the ballot and the outcome of the last round that the site proposed and decided;
    /// None if it decided no round since it was created or restored.
    pub const fn last_outcome(&self) -> Option<(Ballot, RoundOutcome)> {
        self.last_outcome
    }

    /// Returns the number of the site's running proxies; None if the queue cannot be read.
    pub const fn running(&self) -> Option<u32> {
        self.running
    }

    /// Returns the number of the site's pending proxies; 0 if the queue cannot be read, or if more
    /// proxies run than the site has.
    pub const fn pending(&self) -> u32 {
        match self.running {
            Some(running) => self.durable.proxies.saturating_sub(running),
            None => 0,
        }
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
            SiteEvent::Measured(measured) => self.measured = Some(measured.finite()),
            SiteEvent::Running(running) => self.running = Some(running),
            SiteEvent::Unreachable => self.on_unreachable(),
            SiteEvent::Written(number) => self.outbox.on_written(number, effects),
            SiteEvent::Due => self.on_due(now, effects),
            // A message from an unknown site, or from the site itself, is ignored.
            SiteEvent::Received { from, .. } if !self.is_other_member(from) => {}
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

    /// Abandons the site's own round: it would ask for a proxy that it cannot submit.
    fn on_unreachable(&mut self) {
        self.running = None;
        if let SiteActivity::Proposing(_) = self.activity {
            self.activity = SiteActivity::Idle;
        }
    }

    /// Returns whether the driver can read the queue and has measured the site.
    const fn is_reachable(&self) -> bool {
        self.running.is_some() && self.measured.is_some()
    }

    fn is_other_member(&self, site: SiteId) -> bool {
        site != self.id && self.terms.membership.contains(site)
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

    /// Drops the state that makes no difference as long as the site's measured value stays the
    /// same.
    pub(super) fn forget(&mut self) {
        self.outbox.forget();
        self.last_outcome = None;
        self.frozen = self.frozen.filter(|frozen| Some(*frozen) != self.measured);
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
