//! A world: sites, all messages ever sent, and what may still happen.

use std::collections::BTreeSet;

use tollgate_federation::durable::{Durable, Site, Timer};
use tollgate_federation::{Effect, Event, Message, Refusal, SiteId, Timing, Worth};
use tollgate_model::{Instant, Span};

/// The times of every exploration.
pub(crate) const TIMING: Timing = Timing {
    period: Span::from_micros(1000),
    longest_delay: Span::from_micros(10),
};

/// How often what has a bound may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) rounds: u32,
    pub(crate) restarts: u32,
    pub(crate) dispatches: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// Each at zero on its own clock.
    pub(crate) sites: Vec<Site>,
    pub(crate) network: BTreeSet<(SiteId, SiteId, Message)>,
    pub(crate) left: Bounds,
    /// How many proxies there were at first.
    pub(crate) proxies: u32,
    worths: Vec<Worth>,
}

/// What may happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Deliver(SiteId, SiteId, Message),
    /// A timer of a site runs out.
    Expire(usize, Timer),
    /// A site crashes and comes back with what it had on disk.
    Restart(usize),
    /// A pending proxy of a site is dispatched.
    Dispatch(usize),
}

/// What happened to one site.
pub(crate) struct Step {
    pub(crate) site: usize,
    pub(crate) before: Site,
    pub(crate) after: Site,
    pub(crate) event: Event,
    pub(crate) effects: Vec<Effect>,
}

impl Step {
    /// Lets a site handle an event. Records are on disk at once: to crash between record and
    /// message is to lose the message, to crash before the record is to lose the event.
    fn take(site: usize, before: Site, event: Event) -> Self {
        let mut after = before.clone();
        let mut effects = Vec::new();
        after.handle(Instant::ZERO, event, &mut effects);
        after.handle(Instant::ZERO, Event::Written(u64::MAX), &mut effects);
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

/// A message that goes onto the network. To be told that a site is busy is to be told nothing
/// until the time-out.
fn sent(effect: &Effect) -> Option<(SiteId, Message)> {
    match effect {
        Effect::Send {
            message:
                Message::Answer {
                    report: Err(Refusal::Busy),
                    ..
                },
            ..
        } => None,
        Effect::Send { to, message } => Some((*to, *message)),
        Effect::Write { .. } | Effect::Delete | Effect::Add => None,
    }
}

impl World {
    pub(crate) fn new(worths: &[f64], proxies: u32, left: Bounds) -> Self {
        let count = worths.len() as u32;
        let first = Instant::ZERO + TIMING.period;
        let mut world = Self {
            sites: (0..count)
                .map(|id| Site::new(SiteId(id), count, TIMING, proxies, first))
                .collect(),
            network: BTreeSet::new(),
            left,
            proxies: proxies * count,
            worths: worths.iter().map(|&worth| Worth(worth)).collect(),
        };
        world.measure();
        world
    }

    fn measure(&mut self) {
        for (site, &worth) in self.sites.iter_mut().zip(&self.worths) {
            site.handle(Instant::ZERO, Event::Measured(worth), &mut Vec::new());
        }
    }

    pub(crate) fn worth(&self, site: usize) -> Worth {
        self.worths[site]
    }

    pub(crate) fn actions(&self) -> Vec<Action> {
        let deliveries = self.network.iter();
        let deliveries = deliveries.map(|&(from, to, message)| Action::Deliver(from, to, message));
        let mut actions: Vec<Action> = deliveries.collect();
        for site in 0..self.sites.len() {
            actions.extend(Timer::ALL.map(|timer| Action::Expire(site, timer)));
            if self.left.restarts > 0 {
                actions.push(Action::Restart(site));
            }
            if self.left.dispatches > 0 && self.sites[site].pending() > 0 {
                actions.push(Action::Dispatch(site));
            }
        }
        actions
    }

    /// The world after an action, and what it was to the site; none if a bound forbids it, or if
    /// nothing comes of it.
    pub(crate) fn after(&self, action: Action) -> Option<(Self, Option<Step>)> {
        let (site, event) = match action {
            Action::Restart(site) => {
                let mut world = self.clone();
                world.left.restarts -= 1;
                world.restart(site);
                return Some((world, None));
            }
            Action::Deliver(from, to, message) => {
                (to.0 as usize, Event::Received { from, message })
            }
            Action::Expire(site, _) => (site, Event::Due),
            Action::Dispatch(site) => (site, Event::Running(self.sites[site].running() + 1)),
        };
        let before = match action {
            Action::Expire(site, timer) => self.sites[site].expired(timer)?,
            Action::Restart(_) | Action::Deliver(..) | Action::Dispatch(_) => {
                self.sites[site].clone()
            }
        };
        let step = Step::take(site, before, event);
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
        if sent().any(|(_, _, message)| matches!(message, Message::Propose { .. })) {
            left.rounds = left.rounds.checked_sub(1)?;
        }
        if let Action::Dispatch(_) = action {
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
        let durable: Durable = site.durable().clone();
        let (count, running) = (self.sites.len() as u32, site.running());
        let now = Instant::ZERO;
        self.sites[at] = Site::restored(site.id(), count, TIMING, durable, running, now).untimed();
        self.sites[at].handle(now, Event::Measured(self.worths[at]), &mut Vec::new());
    }
}
