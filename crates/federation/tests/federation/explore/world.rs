//! A world: sites, all messages ever sent, and the actions that may still happen.

use std::collections::BTreeSet;
use std::sync::Arc;

use tollgate_federation::durable::{DurableSite, SiteTimer};
use tollgate_federation::{
    Envelope, MoveRule, ReportRefusal, SessionTerms, SessionTiming, SiteEffect, SiteEvent, SiteId,
    SiteMeasurement, SiteMessage,
};
use tollgate_model::{Instant, Span};

use super::history::TransferHistory;
use crate::network::terms;

/// The timing of every exploration.
pub(crate) const TIMING: SessionTiming = SessionTiming {
    period: Span::from_micros(1000),
    max_delay: Span::from_micros(10),
};

/// The bounds on the number of actions of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ExploreBounds {
    pub(crate) rounds: u32,
    pub(crate) restarts: u32,
    pub(crate) dispatches: u32,
    /// Number of times that a site cannot read its queue for a while.
    pub(crate) outages: u32,
    /// The site that is lost. At any time each other site may enter the next epoch.
    pub(crate) lost: Option<SiteId>,
}

/// The settings of a world that no action changes.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct WorldSetting {
    pub(crate) values: Vec<SiteMeasurement>,
    /// Number of proxies of each site at the start.
    pub(crate) proxies: u32,
    pub(crate) terms: Arc<SessionTerms>,
    /// The terms of the epoch without the lost site.
    next_terms: Option<Arc<SessionTerms>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ExploredWorld {
    /// The sites, each at zero on its own clock.
    pub(crate) sites: Vec<DurableSite>,
    pub(crate) network: BTreeSet<(SiteId, Envelope)>,
    pub(crate) left: ExploreBounds,
    pub(crate) history: TransferHistory,
    pub(crate) setting: Arc<WorldSetting>,
}

/// An action that may happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExploreAction {
    /// A message arrives at a site.
    Deliver(SiteId, Envelope),
    /// A timer of a site runs out.
    Expire(usize, SiteTimer),
    /// A site crashes and restarts with its state on disk.
    Restart(usize),
    /// A proxy of a site is dispatched. It may be one more than the site has: a proxy that started
    /// after the queue was read, and was given away since.
    Dispatch(usize),
    /// A site cannot read its queue.
    Lose(usize),
    /// A site can read its queue again.
    Read(usize),
    /// A site enters the epoch without the lost site, and restarts.
    Enter(usize),
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

    pub(crate) fn site(&self) -> SiteId {
        SiteId(self.site as u32)
    }

    /// Returns the messages that go onto the network. A report that a site is busy has the same
    /// effect as no answer until the time-out.
    fn sent(&self) -> impl Iterator<Item = (SiteId, Envelope)> + '_ {
        let membership = &self.after.terms().membership;
        self.effects.iter().filter_map(|effect| match effect {
            SiteEffect::Send {
                message:
                    SiteMessage::Answer {
                        report: Err(ReportRefusal::Busy),
                        ..
                    },
                ..
            } => None,
            &SiteEffect::Send { to, message } => {
                Some((to, membership.envelope(self.site(), message)))
            }
            SiteEffect::Write { .. } | SiteEffect::Delete | SiteEffect::Add => None,
        })
    }

    fn proposes(&self) -> bool {
        self.sent()
            .any(|(_, sent)| matches!(sent.message, SiteMessage::Propose { .. }))
    }
}

impl ExploredWorld {
    pub(crate) fn new(
        values: &[SiteMeasurement],
        proxies: u32,
        moves: MoveRule,
        left: ExploreBounds,
    ) -> Self {
        let count = values.len() as u32;
        let first = Instant::ZERO + TIMING.period;
        let terms = Arc::new(terms(count, TIMING, moves));
        let next_terms = left.lost.map(|lost| {
            Arc::new(SessionTerms {
                membership: terms.membership.without(lost).expect("a member"),
                ..SessionTerms::clone(&terms)
            })
        });
        let mut world = Self {
            sites: (0..count)
                .map(|id| DurableSite::new(SiteId(id), Arc::clone(&terms), proxies, first))
                .collect(),
            network: BTreeSet::new(),
            left,
            history: TransferHistory::default(),
            setting: Arc::new(WorldSetting {
                values: values.to_vec(),
                proxies,
                terms,
                next_terms,
            }),
        };
        for site in 0..values.len() {
            world.measure(site, 0);
        }
        world
    }

    pub(crate) fn values(&self, site: usize) -> SiteMeasurement {
        self.setting.values[site]
    }

    /// Returns the sites that stay in the session.
    pub(crate) fn staying(&self) -> impl Iterator<Item = usize> + '_ {
        let lost = self.left.lost.map(|lost| lost.0 as usize);
        (0..self.sites.len()).filter(move |&site| Some(site) != lost)
    }

    /// Returns whether a site has entered the epoch without the lost site.
    pub(crate) fn has_entered(&self, site: usize) -> bool {
        self.sites[site].durable().epoch > self.setting.terms.membership.epoch()
    }

    pub(crate) fn actions(&self) -> Vec<ExploreAction> {
        let deliveries = self.network.iter();
        let deliveries = deliveries.map(|&(to, envelope)| ExploreAction::Deliver(to, envelope));
        let mut actions: Vec<ExploreAction> = deliveries.collect();
        for (at, site) in self.sites.iter().enumerate() {
            actions.extend(SiteTimer::ALL.map(|timer| ExploreAction::Expire(at, timer)));
            if self.left.restarts > 0 {
                actions.push(ExploreAction::Restart(at));
            }
            match site.running() {
                Some(running) if self.left.dispatches > 0 && running <= site.durable().proxies => {
                    actions.push(ExploreAction::Dispatch(at));
                }
                Some(_) => {}
                None => actions.push(ExploreAction::Read(at)),
            }
            if self.left.outages > 0 && site.running().is_some() {
                actions.push(ExploreAction::Lose(at));
            }
        }
        if self.left.lost.is_some() {
            let stale = self.staying().filter(|&site| !self.has_entered(site));
            actions.extend(stale.map(ExploreAction::Enter));
        }
        actions
    }

    /// Returns the world after an action and the action's step at its site. None if a bound forbids
    /// the action, or if it changes nothing.
    pub(crate) fn after(&self, action: ExploreAction) -> Option<(Self, Option<SiteStep>)> {
        let mut left = self.left;
        let mut timer = None;
        let (site, event) = match action {
            ExploreAction::Restart(site) => {
                let mut world = self.clone();
                world.left.restarts -= 1;
                world.restart(site, Arc::new(self.sites[site].terms().clone()));
                return Some((world, None));
            }
            ExploreAction::Enter(site) => {
                let mut world = self.clone();
                world.enter(site);
                return Some((world, None));
            }
            ExploreAction::Deliver(to, envelope) => {
                let site = to.0 as usize;
                (site, self.sites[site].terms().membership.admit(envelope)?)
            }
            ExploreAction::Expire(site, expired) => {
                timer = Some(expired);
                (site, SiteEvent::Due)
            }
            ExploreAction::Dispatch(site) => {
                left.dispatches -= 1;
                (site, SiteEvent::Running(self.sites[site].running()? + 1))
            }
            ExploreAction::Lose(site) => {
                left.outages -= 1;
                (site, SiteEvent::Unreachable)
            }
            ExploreAction::Read(site) => (site, SiteEvent::Running(0)),
        };
        let before = match timer {
            Some(timer) => self.sites[site].expired(timer)?,
            None => self.sites[site].clone(),
        };
        let step = SiteStep::take(site, before, event);
        let unchanged = step.after == self.sites[site];
        if unchanged && step.sent().all(|message| self.network.contains(&message)) {
            return None;
        }
        if step.proposes() {
            left.rounds = left.rounds.checked_sub(1)?;
        }
        let mut world = self.clone();
        world.left = left;
        world.network.extend(step.sent());
        world.history.extend(step.site(), &step.effects);
        world.sites[site] = step.after.clone();
        Some((world, Some(step)))
    }

    /// Moves a site to the epoch without the lost site.
    pub(crate) fn enter(&mut self, site: usize) {
        let terms = self.setting.next_terms.clone().expect("a site is lost");
        self.restart(site, terms);
    }

    fn restart(&mut self, at: usize, terms: Arc<SessionTerms>) {
        let site = &self.sites[at];
        let running = site.running().unwrap_or(0);
        let mut durable = site.durable().clone();
        let records = terms.membership.entry(durable.epoch);
        for record in records.expect("an epoch of the session") {
            durable.apply(record);
        }
        let restored = DurableSite::restored(site.id(), terms, durable, Instant::ZERO);
        self.sites[at] = restored.expect("the same epoch").untimed();
        self.measure(at, running);
    }

    /// Reads the queue of a site.
    fn measure(&mut self, at: usize, running: u32) {
        let measured = SiteEvent::Measured(self.setting.values[at]);
        for event in [measured, SiteEvent::Running(running)] {
            self.sites[at].handle(Instant::ZERO, event, &mut Vec::new());
        }
    }
}
