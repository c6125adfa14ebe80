//! A world: sites, all messages ever sent, and the actions that may still happen.

use std::collections::BTreeSet;

use tollgate_federation::durable::{DurableSite, DurableState, SiteTimer};
use tollgate_federation::{
    ReportRefusal, SessionTiming, SiteEffect, SiteEvent, SiteId, SiteMessage, SiteValue,
};
use tollgate_model::{Instant, Span};

/// The timing of every exploration.
pub(crate) const TIMING: SessionTiming = SessionTiming {
    period: Span::from_micros(1000),
    max_delay: Span::from_micros(10),
};

/// The bounds on the number of actions of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExploreBounds {
    pub(crate) rounds: u32,
    pub(crate) restarts: u32,
    pub(crate) dispatches: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ExploredWorld {
    /// The sites, each at zero on its own clock.
    pub(crate) sites: Vec<DurableSite>,
    pub(crate) network: BTreeSet<(SiteId, SiteId, SiteMessage)>,
    pub(crate) left: ExploreBounds,
    /// The initial number of proxies.
    pub(crate) proxies: u32,
    worths: Vec<SiteValue>,
}

/// An action that may happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExploreAction {
    Deliver(SiteId, SiteId, SiteMessage),
    /// A timer of a site runs out.
    Expire(usize, SiteTimer),
    /// A site crashes and restarts with its state on disk.
    Restart(usize),
    /// A pending proxy of a site is dispatched.
    Dispatch(usize),
}

/// A step of one site.
pub(crate) struct SiteStep {
    pub(crate) site: usize,
    pub(crate) before: DurableSite,
    pub(crate) after: DurableSite,
    pub(crate) event: SiteEvent,
    pub(crate) effects: Vec<SiteEffect>,
}

impl SiteStep {
    /// Handles an event at a site. Records are on disk at once: a crash between record and message
    /// equals a lost message, and a crash before the record equals a lost event.
    fn take(site: usize, before: DurableSite, event: SiteEvent) -> Self {
        let mut after = before.clone();
        let mut effects = Vec::new();
        after.handle(Instant::ZERO, event, &mut effects);
        after.handle(Instant::ZERO, SiteEvent::Written(u64::MAX), &mut effects);
        Self {
            site,
            before,
            after: after.untimed(),
            event,
            effects,
        }
    }

    fn site(&self) -> SiteId {
        SiteId(self.site as u32)
    }
}

/// Returns a message that goes onto the network. A report that a site is busy has the same effect
/// as no answer until the time-out.
fn sent(effect: &SiteEffect) -> Option<(SiteId, SiteMessage)> {
    match effect {
        SiteEffect::Send {
            message:
                SiteMessage::Answer {
                    report: Err(ReportRefusal::Busy),
                    ..
                },
            ..
        } => None,
        SiteEffect::Send { to, message } => Some((*to, *message)),
        SiteEffect::Write { .. } | SiteEffect::Delete | SiteEffect::Add => None,
    }
}

impl ExploredWorld {
    pub(crate) fn new(worths: &[f64], proxies: u32, left: ExploreBounds) -> Self {
        let count = worths.len() as u32;
        let first = Instant::ZERO + TIMING.period;
        let mut world = Self {
            sites: (0..count)
                .map(|id| DurableSite::new(SiteId(id), count, TIMING, proxies, first))
                .collect(),
            network: BTreeSet::new(),
            left,
            proxies: proxies * count,
            worths: worths.iter().map(|&worth| SiteValue(worth)).collect(),
        };
        world.measure();
        world
    }

    fn measure(&mut self) {
        for (site, &worth) in self.sites.iter_mut().zip(&self.worths) {
            site.handle(Instant::ZERO, SiteEvent::Measured(worth), &mut Vec::new());
        }
    }

    pub(crate) fn worth(&self, site: usize) -> SiteValue {
        self.worths[site]
    }

    pub(crate) fn actions(&self) -> Vec<ExploreAction> {
        let deliveries = self.network.iter();
        let deliveries =
            deliveries.map(|&(from, to, message)| ExploreAction::Deliver(from, to, message));
        let mut actions: Vec<ExploreAction> = deliveries.collect();
        for site in 0..self.sites.len() {
            actions.extend(SiteTimer::ALL.map(|timer| ExploreAction::Expire(site, timer)));
            if self.left.restarts > 0 {
                actions.push(ExploreAction::Restart(site));
            }
            if self.left.dispatches > 0 && self.sites[site].pending() > 0 {
                actions.push(ExploreAction::Dispatch(site));
            }
        }
        actions
    }

    /// Returns the world after an action and the action's step at its site. None if a bound forbids
    /// the action, or if it changes nothing.
    pub(crate) fn after(&self, action: ExploreAction) -> Option<(Self, Option<SiteStep>)> {
        let (site, event) = match action {
            ExploreAction::Restart(site) => {
                let mut world = self.clone();
                world.left.restarts -= 1;
                world.restart(site);
                return Some((world, None));
            }
            ExploreAction::Deliver(from, to, message) => {
                (to.0 as usize, SiteEvent::Received { from, message })
            }
            ExploreAction::Expire(site, _) => (site, SiteEvent::Due),
            ExploreAction::Dispatch(site) => {
                (site, SiteEvent::Running(self.sites[site].running() + 1))
            }
        };
        let before = match action {
            ExploreAction::Expire(site, timer) => self.sites[site].expired(timer)?,
            ExploreAction::Restart(_) | ExploreAction::Deliver(..) | ExploreAction::Dispatch(_) => {
                self.sites[site].clone()
            }
        };
        let step = SiteStep::take(site, before, event);
        let sent = || {
            step.effects
                .iter()
                .filter_map(sent)
                .map(|(to, m)| (step.site(), to, m))
        };
        if step.after == self.sites[site] && sent().all(|message| self.network.contains(&message)) {
            return None;
        }
        let mut left = self.left;
        if sent().any(|(_, _, message)| matches!(message, SiteMessage::Propose { .. })) {
            left.rounds = left.rounds.checked_sub(1)?;
        }
        if let ExploreAction::Dispatch(_) = action {
            left.dispatches -= 1;
        }
        let mut world = self.clone();
        world.left = left;
        world.network.extend(sent());
        world.sites[site] = step.after.clone();
        Some((world, Some(step)))
    }

    fn restart(&mut self, at: usize) {
        let site = &self.sites[at];
        let durable: DurableState = site.durable().clone();
        let (count, running) = (self.sites.len() as u32, site.running());
        let now = Instant::ZERO;
        self.sites[at] =
            DurableSite::restored(site.id(), count, TIMING, durable, running, now).untimed();
        self.sites[at].handle(now, SiteEvent::Measured(self.worths[at]), &mut Vec::new());
    }
}
