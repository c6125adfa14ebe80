//! The agents of the sites, and the network between them.

use std::collections::VecDeque;
use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use tollgate_federation::durable::DurableSite;
use tollgate_federation::{
    Membership, MoveRule, SessionTerms, SessionTiming, SiteEffect, SiteEvent, SiteId,
    SiteMeasurement, SiteMessage,
};
use tollgate_model::{Instant, Span};

use super::setup::FederationConfig;

/// The period of the agents. Its length means nothing but for the delay of messages, which is a part of it.
const PERIOD: Span = Span::from_secs(1000);

/// A change of a site's queue that its agent asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueChange {
    /// A pending proxy leaves the queue.
    Remove(usize),
    /// A proxy arrives in the queue.
    Add(usize),
}

/// The agents of all sites, each with the protocol that the product runs, and the messages on their way.
///
/// Messages take equally long, so that they arrive in the order in which they were sent. Records are on disk at once.
/// The first agent begins its periods half a period before the others, which then have promised its round: a session
/// without faults has one round a period.
pub(super) struct AgentNetwork {
    agents: Vec<DurableSite>,
    in_flight: VecDeque<InFlightMessage>,
    delay: Span,
    /// The probability that a message is lost.
    loss: f64,
    random: Pcg64Mcg,
    /// The begin of the next period.
    now: Instant,
    /// Scratch: the effects of an event.
    effects: Vec<SiteEffect>,
    n_messages: u64,
}

/// A message that was sent and not lost.
struct InFlightMessage {
    arrives_at: Instant,
    from: SiteId,
    to: SiteId,
    message: SiteMessage,
}

impl AgentNetwork {
    /// Creates agents at the begin of a session. `random` decides which messages are lost.
    pub(super) fn new(setup: &FederationConfig, moves: MoveRule, random: Pcg64Mcg) -> Self {
        let ids = || (0..).map(SiteId).take(setup.sites);
        let delay = Span::from_secs_f64(PERIOD.as_secs_f64() * setup.delay);
        let terms = Arc::new(SessionTerms {
            membership: Membership::new(1, ids()),
            timing: SessionTiming {
                period: PERIOD,
                max_delay: delay,
            },
            moves,
        });
        let later = Instant::ZERO + Span::from_micros(PERIOD.as_micros() / 2);
        let agent = |id: SiteId| {
            let first_period = if id.0 == 0 { Instant::ZERO } else { later };
            DurableSite::new(id, Arc::clone(&terms), setup.proxies, first_period)
        };
        Self {
            agents: ids().map(agent).collect(),
            in_flight: VecDeque::new(),
            delay,
            loss: setup.loss,
            random,
            now: Instant::ZERO,
            effects: Vec::new(),
            n_messages: 0,
        }
    }

    /// Returns the number of messages that were sent.
    pub(super) const fn n_messages(&self) -> u64 {
        self.n_messages
    }

    /// Passes what was seen of a site to its agent.
    pub(super) fn observe(&mut self, at: usize, running: u32, measured: SiteMeasurement) {
        for event in [SiteEvent::Running(running), SiteEvent::Measured(measured)] {
            // Neither has an effect.
            self.agents[at].handle(self.now, event, &mut self.effects);
        }
    }

    /// Runs the agents for a period. `change` carries out what they ask for.
    pub(super) fn run_period(&mut self, mut change: impl FnMut(QueueChange)) {
        let end = self.now + PERIOD;
        loop {
            let wakes = self.agents.iter().map(DurableSite::next_wake);
            let wake = wakes.enumerate().min_by_key(|&(at, wake)| (wake, at));
            let arrival = self.in_flight.front().map(|message| message.arrives_at);
            match (arrival, wake) {
                (Some(at), wake) if at < end && wake.is_none_or(|(_, wake)| at <= wake) => {
                    self.deliver(at, &mut change);
                }
                (_, Some((agent, wake))) if wake < end => {
                    self.handle(wake, agent, SiteEvent::Due, &mut change);
                }
                (_, _) => break,
            }
        }
        self.now = end;
    }

    /// Delivers the message that arrives next.
    fn deliver(&mut self, now: Instant, change: &mut impl FnMut(QueueChange)) {
        if let Some(arrived) = self.in_flight.pop_front() {
            let InFlightMessage {
                from, to, message, ..
            } = arrived;
            let event = SiteEvent::Received { from, message };
            self.handle(now, to.0 as usize, event, change);
        }
    }

    /// Lets an agent handle an event, and carries out the effects.
    fn handle(
        &mut self,
        now: Instant,
        at: usize,
        event: SiteEvent,
        change: &mut impl FnMut(QueueChange),
    ) {
        let mut effects = std::mem::take(&mut self.effects);
        self.agents[at].handle(now, event, &mut effects);
        let mut done = 0;
        // A record that is on disk releases further effects, which follow those that are there.
        while let Some(&effect) = effects.get(done) {
            done += 1;
            match effect {
                SiteEffect::Send { to, message } => self.send(now, at, to, message),
                SiteEffect::Write { number, .. } => {
                    self.agents[at].handle(now, SiteEvent::Written(number), &mut effects);
                }
                SiteEffect::Delete => change(QueueChange::Remove(at)),
                SiteEffect::Add => change(QueueChange::Add(at)),
            }
        }
        effects.clear();
        self.effects = effects;
    }

    fn send(&mut self, now: Instant, from: usize, to: SiteId, message: SiteMessage) {
        self.n_messages += 1;
        if self.loss > 0.0 && unit(&mut self.random) < self.loss {
            return;
        }
        self.in_flight.push_back(InFlightMessage {
            arrives_at: now + self.delay,
            from: SiteId(from as u32),
            to,
            message,
        });
    }
}

/// Draws a number in [0, 1) with 53 random bits.
fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
