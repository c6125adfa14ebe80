//! A site's queue of proxies and its running proxies.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use tollgate_grid_policies::migrate::{ProxyChoice, SiteEstimator, SiteObservation};

use super::dispatch::{DispatchHazards, exponential};
use super::setup::{DrawOrder, FederationConfig};

/// A site in a run.
///
/// Where there is no limit on running proxies, a draw before the average wait depends on the
/// proxy's variate and on that wait alone. So the site computes the tick of the draw that decides
/// as soon as it has the proxy, and needs no tick before.
#[derive(Clone, Debug)]
pub(super) struct SimulatedSite {
    /// Oldest first.
    pending: Vec<PendingProxy>,
    /// By tick, modulo the length of a run: number of proxies that end there.
    ending: Vec<u32>,
    running: u32,
    /// The average wait, and the tick since which it applies.
    wait: u32,
    wait_since: u32,
    /// The next tick with a draw that may dispatch a proxy, or a tick before.
    next_draw: u32,
    /// Scratch: the places of the proxies that draw, in the order of their draws.
    order: Vec<u32>,
}

/// A pending proxy.
#[derive(Clone, Copy, Debug)]
struct PendingProxy {
    /// The tick of its first draw.
    first: u32,
    /// The tick of the first draw, by the present average wait, that may dispatch it.
    decides: u32,
    /// The rest of its variate when the present average wait began.
    left: f64,
    /// The rest of its variate before the draw that decides, and after each further one. Negative if
    /// the draw that decides dispatches the proxy whatever else runs.
    rest: f64,
}

/// The parameters of a tick, the same for each site.
pub(super) struct DispatchTick<'a> {
    setup: &'a FederationConfig,
    hazards: &'a DispatchHazards,
    tick: u32,
    /// The tick, modulo the length of a run.
    slot: usize,
}

impl<'a> DispatchTick<'a> {
    pub(super) const fn new(
        setup: &'a FederationConfig,
        hazards: &'a DispatchHazards,
        tick: u32,
    ) -> Self {
        Self {
            setup,
            hazards,
            tick,
            slot: (tick % setup.run_ticks) as usize,
        }
    }
}

impl SimulatedSite {
    pub(super) fn new(setup: &FederationConfig, random: &mut Pcg64Mcg) -> Self {
        let proxies = (0..setup.proxies).map(|_| PendingProxy::new(0, random));
        Self {
            pending: proxies.collect(),
            ending: vec![0; setup.run_ticks as usize],
            running: 0,
            wait: 0,
            wait_since: 0,
            next_draw: 0,
            order: Vec::new(),
        }
    }

    pub(super) const fn running(&self) -> u32 {
        self.running
    }

    pub(super) fn pending(&self) -> u32 {
        self.pending.len() as u32
    }

    pub(super) const fn wait(&self) -> u32 {
        self.wait
    }

    /// Changes the average wait from this tick on.
    pub(super) fn set_wait(&mut self, now: &DispatchTick<'_>, wait: u32) {
        let tick = now.tick;
        self.next_draw = u32::MAX;
        for proxy in &mut self.pending {
            if proxy.decides < tick {
                proxy.left = proxy.rest;
            } else {
                let since = proxy.first.max(self.wait_since);
                let draws = tick.saturating_sub(since);
                let early = self.wait.saturating_sub(now.setup.age(proxy.first, since));
                proxy.left = now.hazards.early_draws(early, draws, proxy.left).1;
            }
            proxy.look_ahead(now, wait, proxy.first.max(tick));
            self.next_draw = self.next_draw.min(proxy.decides);
        }
        (self.wait, self.wait_since) = (wait, tick);
    }

    /// Returns the next tick with a draw that may dispatch a proxy; never if no proxy is pending.
    pub(super) const fn next_draw(&self) -> u32 {
        self.next_draw
    }

    /// Ends the runs that were dispatched a run's length ago; their proxies are pending again.
    fn end_runs(&mut self, now: &DispatchTick<'_>, random: &mut Pcg64Mcg) {
        let ended = std::mem::take(&mut self.ending[now.slot]);
        self.running -= ended;
        for _ in 0..ended {
            self.queue_proxy(now, now.tick, random);
        }
    }

    /// Adds a proxy to the queue that draws first in the tick `first`.
    fn queue_proxy(&mut self, now: &DispatchTick<'_>, first: u32, random: &mut Pcg64Mcg) {
        let mut proxy = PendingProxy::new(first, random);
        proxy.look_ahead(now, self.wait, first);
        self.next_draw = self.next_draw.min(proxy.decides);
        self.pending.push(proxy);
    }

    /// Ends runs, and lets every pending proxy draw once for which this tick may decide. `meter` is
    /// notified of the waits of dispatched proxies. Returns the number of dispatched proxies.
    pub(super) fn dispatch(
        &mut self,
        now: &DispatchTick<'_>,
        meter: &mut SiteEstimator,
        random: &mut Pcg64Mcg,
    ) -> u32 {
        self.end_runs(now, random);
        if self.next_draw > now.tick {
            return 0;
        }
        self.order.resize(self.pending.len(), 0);
        let (order, pending) = (self.order.as_mut_slice(), self.pending.as_mut_slice());
        let mut drawing = 0;
        for (at, proxy) in (0..).zip(&*pending) {
            // Unlike `filter`, this does not branch on whether a proxy draws, which nothing foretells.
            order[drawing] = at;
            drawing += usize::from(proxy.decides <= now.tick);
        }
        let order = &mut order[..drawing];
        // A proxy that is not due draws the same in any order. Where there is no limit, only the
        // dispatched ones of these proxies affect the due ones, so only their positions need to be
        // random. The queue is in order of age: if any proxy is due, the first one is.
        let first = pending.first();
        let is_due = first.is_some_and(|proxy| now.setup.age(proxy.first, now.tick) >= self.wait);
        let shuffles = now.setup.order == DrawOrder::Random && (is_due || now.setup.limit > 0);
        let mut running = self.running;
        for at in 0..drawing {
            if shuffles {
                order.swap(at, at + below(drawing - at, random));
            }
            let proxy = &mut pending[order[at] as usize];
            if proxy.rest < 0.0 || proxy.draw(now, self.wait, running) {
                meter.record_start(now.tick - proxy.first);
                running += 1;
            }
        }
        let started = running - self.running;
        self.running = running;
        self.ending[now.slot] = started;
        self.remove_started(now.tick);
        started
    }

    /// Removes the dispatched proxies from the queue, and finds the next tick with a draw that may
    /// dispatch one of the others.
    fn remove_started(&mut self, tick: u32) {
        let pending = self.pending.as_mut_slice();
        let (mut kept, mut next) = (0, u32::MAX);
        for at in 0..pending.len() {
            // Unlike `retain`, this does not branch on whether a proxy stays.
            let proxy = pending[at];
            pending[kept] = proxy;
            let stays = proxy.decides > tick || proxy.rest >= 0.0;
            kept += usize::from(stays);
            next = next.min(if stays { proxy.decides } else { u32::MAX });
        }
        self.pending.truncate(kept);
        self.next_draw = next.max(tick + 1);
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

    /// Removes a pending proxy. The queue is not empty: agents give no proxy that does not wait.
    pub(super) fn remove_proxy(&mut self, moved: ProxyChoice, random: &mut Pcg64Mcg) {
        let count = self.pending.len();
        let at = match moved {
            ProxyChoice::Newest => count - 1,
            ProxyChoice::Oldest => 0,
            ProxyChoice::Random => below(count, random),
        };
        self.pending.remove(at);
    }

    /// Adds a proxy to the queue, to draw first in the next tick.
    pub(super) fn add_proxy(&mut self, now: &DispatchTick<'_>, random: &mut Pcg64Mcg) {
        self.queue_proxy(now, now.tick + 1, random);
    }
}

impl PendingProxy {
    fn new(first: u32, random: &mut Pcg64Mcg) -> Self {
        let left = exponential(random);
        Self {
            first,
            decides: first,
            left,
            rest: left,
        }
    }

    /// Finds the draw that decides, the next draw being in tick `next`. Where there is a limit on
    /// running proxies, every draw may decide.
    fn look_ahead(&mut self, now: &DispatchTick<'_>, wait: u32, next: u32) {
        let early = match now.setup.limit {
            0 => wait.saturating_sub(now.setup.age(self.first, next)),
            _ => 0,
        };
        let (survived, rest) = now.hazards.early_draws(early, early, self.left);
        (self.decides, self.rest) = (next + survived, rest);
    }

    /// Lets the proxy draw; returns true if it is dispatched.
    fn draw(&mut self, now: &DispatchTick<'_>, wait: u32, running: u32) -> bool {
        let limit = now.setup.limit;
        if limit > 0 && running >= limit {
            return false;
        }
        self.rest -= match wait.checked_sub(now.setup.age(self.first, now.tick)) {
            None | Some(0) => now.hazards.due(running),
            Some(left) => now.hazards.early(left),
        };
        self.rest < 0.0
    }
}

impl FederationConfig {
    /// Returns the waiting time (T_p), in a tick, of a proxy that draws first in the tick `first`.
    const fn age(&self, first: u32, tick: u32) -> u32 {
        tick - first + self.first_age
    }
}

/// Draws an index below `count`, uniform to within one part in about 2^50.
fn below(count: usize, random: &mut Pcg64Mcg) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}
