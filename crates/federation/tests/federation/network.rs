//! A network with a clock: delays, losses, duplicates and crashes, all from one seed.

use std::collections::BTreeMap;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use tollgate_federation::{
    Membership, MoveRule, SessionTerms, SessionTiming, SiteEffect, SiteEvent, SiteId,
    SiteMeasurement, SiteMessage, SiteRecord, durable, paper,
};
use tollgate_model::{Instant, Span};

/// A session with a round every ten minutes and messages of 1.2 to 12 seconds.
pub(crate) const TIMING: SessionTiming = SessionTiming {
    period: Span::from_secs(600),
    max_delay: Span::from_secs(12),
};

/// Returns the terms of a session of `count` sites.
pub(crate) fn terms(count: u32, timing: SessionTiming, moves: MoveRule) -> SessionTerms {
    SessionTerms {
        membership: Membership::new(1, (0..count).map(SiteId)),
        timing,
        moves,
    }
}

/// A site in either form.
pub(crate) trait SiteProtocol {
    fn next_wake(&self) -> Instant;
    /// Returns the epoch of the site's messages.
    fn epoch(&self) -> u64;
    fn handle(&mut self, now: Instant, event: SiteEvent, effects: &mut Vec<SiteEffect>);
}

impl SiteProtocol for paper::PaperSite {
    fn next_wake(&self) -> Instant {
        self.next_wake()
    }

    fn epoch(&self) -> u64 {
        0
    }

    fn handle(&mut self, now: Instant, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        self.handle(now, event, effects);
    }
}

impl SiteProtocol for durable::DurableSite {
    fn next_wake(&self) -> Instant {
        self.next_wake()
    }

    fn epoch(&self) -> u64 {
        self.terms().membership.epoch()
    }

    fn handle(&mut self, now: Instant, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        self.handle(now, event, effects);
    }
}

/// The faults of a network, as probabilities per message.
#[derive(Clone, Copy, Default)]
pub(crate) struct MessageFaults {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
}

/// Sites, and the messages and records in flight.
pub(crate) struct SiteNetwork<P> {
    pub(crate) sites: Vec<P>,
    pub(crate) now: Instant,
    pub(crate) random: Pcg64,
    pub(crate) faults: MessageFaults,
    /// Whether each site is down: such a site receives no messages, and no time passes for it.
    pub(crate) down: Vec<bool>,
    /// Every message that was sent, with its time.
    pub(crate) sent: Vec<(Instant, SiteId, SiteId, SiteMessage)>,
    /// Records that are on disk, by site.
    pub(crate) disk: Vec<Vec<SiteRecord>>,
    /// Deletes and adds, with their time and site.
    pub(crate) changes: Vec<(Instant, SiteId, SiteEffect)>,
    /// Events on their way to a site, with the epoch in which they count.
    in_flight: BTreeMap<(Instant, u64), (SiteId, u64, SiteEvent)>,
    number: u64,
}

impl<P: SiteProtocol> SiteNetwork<P> {
    pub(crate) fn new(sites: Vec<P>, faults: MessageFaults, seed: u64) -> Self {
        let count = sites.len();
        Self {
            sites,
            now: Instant::ZERO,
            random: Pcg64::seed_from_u64(seed),
            faults,
            down: vec![false; count],
            sent: Vec::new(),
            disk: vec![Vec::new(); count],
            changes: Vec::new(),
            in_flight: BTreeMap::new(),
            number: 0,
        }
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn measure(&mut self, worths: &[f64]) {
        for (site, &worth) in worths.iter().enumerate() {
            self.measure_site(site, worth);
        }
    }

    pub(crate) fn measure_site(&mut self, at: usize, worth: f64) {
        self.deliver(at, SiteEvent::Measured(SiteMeasurement::of_worth(worth)));
    }

    /// Returns a random time, at most `longest`.
    pub(crate) fn delay(&mut self, longest: Span) -> Span {
        Span::from_secs_f64(self.unit() * longest.as_secs_f64())
    }

    /// Passes an event to a site now.
    pub(crate) fn deliver(&mut self, at: usize, event: SiteEvent) {
        let mut effects = Vec::new();
        self.sites[at].handle(self.now, event, &mut effects);
        let from = SiteId(at as u32);
        let epoch = self.sites[at].epoch();
        for effect in effects {
            match effect {
                SiteEffect::Send { to, message } => self.send(from, to, epoch, message),
                SiteEffect::Write { number, record } => {
                    // The write takes a moment, and other events happen meanwhile.
                    self.disk[at].push(record);
                    let delay = Span::from_secs_f64(self.unit() * 0.1);
                    self.put(delay, from, epoch, SiteEvent::Written(number));
                }
                SiteEffect::Delete | SiteEffect::Add => self.changes.push((self.now, from, effect)),
            }
        }
    }

    fn send(&mut self, from: SiteId, to: SiteId, epoch: u64, message: SiteMessage) {
        self.sent.push((self.now, from, to, message));
        let copies = if self.unit() < self.faults.loss {
            0
        } else {
            1 + u32::from(self.unit() < self.faults.duplication)
        };
        for _ in 0..copies {
            // 0.2 to 2 % of the period.
            let part = 0.1 + 0.9 * self.unit();
            let delay = Span::from_secs_f64(TIMING.max_delay.as_secs_f64() * part);
            self.put(delay, to, epoch, SiteEvent::Received { from, message });
        }
    }

    fn put(&mut self, delay: Span, to: SiteId, epoch: u64, event: SiteEvent) {
        self.number += 1;
        let key = (self.now + delay, self.number);
        self.in_flight.insert(key, (to, epoch, event));
    }

    /// Runs the network until `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        loop {
            let up = (0..self.sites.len()).filter(|&site| !self.down[site]);
            let wake = up.map(|site| (self.sites[site].next_wake(), site)).min();
            let arrival = self.in_flight.first_key_value().map(|(&key, _)| key);
            let (at, site, epoch, event) = match (arrival, wake) {
                (Some(key), wake) if wake.is_none_or(|(wake, _)| key.0 <= wake) => {
                    let (to, epoch, event) = self.in_flight[&key];
                    if key.0 <= end {
                        self.in_flight.remove(&key);
                    }
                    (key.0, to.0 as usize, Some(epoch), event)
                }
                (_, Some((wake, site))) => (wake, site, None, SiteEvent::Due),
                (_, None) => break,
            };
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            let counts = epoch.is_none_or(|epoch| epoch == self.sites[site].epoch());
            if counts && !self.down[site] {
                self.deliver(site, event);
            }
        }
        self.now = end;
    }

    /// Crashes a site. Each record that it wrote without an acknowledgement from the disk may be on
    /// disk or not.
    pub(crate) fn crash(&mut self, at: usize) {
        self.down[at] = true;
        let mut lost = 0;
        self.in_flight.retain(|_, (to, _, event)| {
            let own = to.0 as usize == at && matches!(event, SiteEvent::Written(_));
            lost += usize::from(own);
            !own
        });
        let kept = (self.unit() * (lost + 1) as f64) as usize;
        let length = self.disk[at].len();
        self.disk[at].truncate(length - (lost - kept.min(lost)));
    }

    pub(crate) fn messages(&self) -> usize {
        self.sent.len()
    }

    pub(crate) fn count(&self, effect: SiteEffect) -> usize {
        self.changes
            .iter()
            .filter(|change| change.2 == effect)
            .count()
    }
}
