//! A site's queue of proxies and its running proxies.

use std::collections::VecDeque;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use tollgate_policies::migrate::{ProxyChoice, SiteEstimator, SiteObservation};

use super::dispatch::{DispatchHazards, exponential};
use super::setup::{DrawOrder, FederationConfig};

/// A site in a run.
#[derive(Clone, Debug)]
pub(super) struct SimulatedSite {
    /// Oldest first.
    pending: Vec<PendingProxy>,
    /// Number of proxies that end after this tick, after the next, and so on; as long as a run.
    ending: VecDeque<u32>,
    running: u32,
    /// Scratch: the draw order, and the dispatched proxies.
    order: Vec<u32>,
}

/// A pending proxy.
#[derive(Clone, Copy, Debug)]
struct PendingProxy {
    /// The tick of its first draw.
    first: u32,
    /// The rest of its variate after its draws; the proxy is dispatched when nothing is left.
    left: f64,
}

/// The parameters of a tick at a site.
pub(super) struct DispatchTick<'a> {
    pub(super) setup: &'a FederationConfig,
    pub(super) hazards: &'a DispatchHazards,
    pub(super) tick: u32,
    /// The site's average wait.
    pub(super) wait: u32,
}

impl SimulatedSite {
    pub(super) fn new(setup: &FederationConfig, random: &mut Pcg64Mcg) -> Self {
        Self {
            pending: (0..setup.proxies)
                .map(|_| PendingProxy::new(0, random))
                .collect(),
            ending: VecDeque::from(vec![0; setup.run_ticks as usize]),
            running: 0,
            order: Vec::new(),
        }
    }

    pub(super) const fn running(&self) -> u32 {
        self.running
    }

    pub(super) fn pending(&self) -> u32 {
        self.pending.len() as u32
    }

    /// Ends the runs that were dispatched a run's length ago; their proxies are pending again.
    pub(super) fn end_runs(&mut self, tick: u32, random: &mut Pcg64Mcg) {
        let ended = self.ending.pop_front().unwrap_or(0);
        self.ending.push_back(0);
        self.running -= ended;
        self.pending
            .extend((0..ended).map(|_| PendingProxy::new(tick, random)));
    }

    /// Lets every pending proxy draw once. `meter` is notified of the waits of dispatched proxies.
    pub(super) fn dispatch(
        &mut self,
        draws: &DispatchTick<'_>,
        meter: &mut SiteEstimator,
        random: &mut Pcg64Mcg,
    ) {
        // The due proxies come first: the queue is in order of age.
        let is_due = |proxy: &&PendingProxy| draws.age(proxy) >= draws.wait;
        let due = self.pending.iter().filter(is_due).count();
        let limited = draws.setup.limit > 0;
        if draws.setup.order == DrawOrder::OldestFirst || (due == 0 && !limited) {
            self.dispatch_in_order(draws, meter);
            return;
        }
        self.order.clear();
        self.order.extend(0..due as u32);
        // A proxy that is not due draws the same in any order. Where there is no limit, only the
        // dispatched ones of these proxies affect the rest, so only their positions need to be
        // random.
        for (at, proxy) in (0..).zip(&mut self.pending).skip(due) {
            if limited || draws.draw(proxy, 0) {
                self.order.push(at);
            }
        }
        self.dispatch_shuffled(draws, meter, random);
    }

    fn dispatch_in_order(&mut self, draws: &DispatchTick<'_>, meter: &mut SiteEstimator) {
        let before = self.running;
        let mut running = before;
        for proxy in &mut self.pending {
            if draws.draw(proxy, running) {
                meter.record_start(draws.tick - proxy.first);
                running += 1;
            }
        }
        self.start(running - before);
    }

    fn dispatch_shuffled(
        &mut self,
        draws: &DispatchTick<'_>,
        meter: &mut SiteEstimator,
        random: &mut Pcg64Mcg,
    ) {
        let before = self.running;
        let mut running = before;
        for at in 0..self.order.len() {
            let other = at + below(self.order.len() - at, random);
            self.order.swap(at, other);
            let proxy = &mut self.pending[self.order[at] as usize];
            if proxy.left < 0.0 || draws.draw(proxy, running) {
                meter.record_start(draws.tick - proxy.first);
                running += 1;
            }
        }
        self.start(running - before);
    }

    /// Removes `count` dispatched proxies from the queue: those whose variate is used up.
    fn start(&mut self, count: u32) {
        if count > 0 {
            // Unlike `retain`, this does not branch on whether a proxy stays, which nothing foretells.
            let mut kept = 0;
            for at in 0..self.pending.len() {
                let proxy = self.pending[at];
                self.pending[kept] = proxy;
                kept += usize::from(proxy.left >= 0.0);
            }
            self.pending.truncate(kept);
        }
        self.running += count;
        if let Some(last) = self.ending.back_mut() {
            *last += count;
        }
    }

    /// Returns the site's observable state at the end of a tick.
    pub(super) fn observation(
        &self,
        setup: &FederationConfig,
        flops: f64,
        tick: u32,
    ) -> SiteObservation {
        let waited =
            |proxy: Option<&PendingProxy>| proxy.map_or(0, |p| (tick + 1).saturating_sub(p.first));
        SiteObservation {
            flops,
            size: setup.size,
            running: self.running,
            pending: self.pending(),
            oldest: waited(self.pending.first()),
            newest: waited(self.pending.last()),
            limit: (setup.limit > 0).then_some(setup.limit),
        }
    }

    /// Removes a pending proxy; returns false if the queue is empty.
    pub(super) fn remove_proxy(&mut self, moved: ProxyChoice, random: &mut Pcg64Mcg) -> bool {
        let count = self.pending.len();
        if count == 0 {
            return false;
        }
        let at = match moved {
            ProxyChoice::Newest => count - 1,
            ProxyChoice::Oldest => 0,
            ProxyChoice::Random => below(count, random),
        };
        self.pending.remove(at);
        true
    }

    /// Adds a proxy to the queue, to draw first in the next tick.
    pub(super) fn add_proxy(&mut self, tick: u32, random: &mut Pcg64Mcg) {
        self.pending.push(PendingProxy::new(tick + 1, random));
    }
}

impl PendingProxy {
    fn new(first: u32, random: &mut Pcg64Mcg) -> Self {
        Self {
            first,
            left: exponential(random),
        }
    }
}

impl DispatchTick<'_> {
    /// Returns a proxy's waiting time (T_p).
    fn age(&self, proxy: &PendingProxy) -> u32 {
        self.tick - proxy.first + self.setup.first_age
    }

    /// Lets a proxy draw; returns true if it is dispatched.
    fn draw(&self, proxy: &mut PendingProxy, running: u32) -> bool {
        let limit = self.setup.limit;
        if limit > 0 && running >= limit {
            return false;
        }
        proxy.left -= match self.wait.checked_sub(self.age(proxy)) {
            None | Some(0) => self.hazards.due(running),
            Some(left) => self.hazards.early(left),
        };
        proxy.left < 0.0
    }
}

/// Draws an index below `count`, uniform to within one part in about 2^50.
fn below(count: usize, random: &mut Pcg64Mcg) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}
