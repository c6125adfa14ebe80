//! A site's queue of proxies and those that run.

use std::collections::VecDeque;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use tollgate_policy::migrate::{Meter, Moved, Sighting};

use super::dispatch::Thresholds;
use super::setup::{DrawOrder, Setup};

/// A site in a run. A pending proxy is known by the tick of its first draw, which orders the
/// queue: the oldest comes first.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pending: Vec<u32>,
    /// How many end after this tick, after the next, and so on; as long as a run.
    ending: VecDeque<u32>,
    running: u32,
    /// Scratch: who draws when, and who is dispatched.
    order: Vec<u32>,
}

/// A tick as a site sees it.
pub(super) struct Draws<'a> {
    pub(super) setup: &'a Setup,
    pub(super) thresholds: &'a Thresholds,
    pub(super) tick: u32,
    /// The average wait there.
    pub(super) wait: u32,
}

impl Site {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            pending: vec![0; setup.proxies as usize],
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

    /// Runs that were dispatched a run's length ago end; their proxies are pending again.
    pub(super) fn end_runs(&mut self, tick: u32) {
        let ended = self.ending.pop_front().unwrap_or(0);
        self.ending.push_back(0);
        self.running -= ended;
        self.pending.extend((0..ended).map(|_| tick));
    }

    /// Every pending proxy draws once. `meter` hears how long those waited that are dispatched.
    pub(super) fn dispatch(&mut self, draws: &Draws<'_>, meter: &mut Meter, random: &mut Pcg64Mcg) {
        let age = |first: u32| draws.tick - first + draws.setup.first_age;
        // The queue is ordered by age. Unless one is due, or a limit may be reached, no draw
        // depends on another, and their order does not matter.
        let any_due = self.pending.first().is_some_and(|&f| age(f) >= draws.wait);
        let in_order = !any_due && draws.setup.limit == 0;
        if in_order || draws.setup.order == DrawOrder::OldestFirst {
            self.dispatch_in_order(draws, meter, random);
        } else {
            self.dispatch_shuffled(draws, meter, random);
        }
    }

    fn dispatch_in_order(&mut self, draws: &Draws<'_>, meter: &mut Meter, random: &mut Pcg64Mcg) {
        let mut running = self.running;
        self.pending.retain(|&first| {
            let starts = draws.starts(first, running, random);
            if starts {
                meter.started(draws.tick - first);
                running += 1;
            }
            !starts
        });
        self.start(running - self.running);
    }

    fn dispatch_shuffled(&mut self, draws: &Draws<'_>, meter: &mut Meter, random: &mut Pcg64Mcg) {
        let before = self.running;
        let mut running = before;
        self.order.clear();
        self.order.extend(0..self.pending.len() as u32);
        for at in 0..self.order.len() {
            let other = at + below(self.order.len() - at, random);
            self.order.swap(at, other);
            let first = &mut self.pending[self.order[at] as usize];
            if draws.starts(*first, running, random) {
                meter.started(draws.tick - *first);
                running += 1;
                *first = GONE;
            }
        }
        if running > before {
            self.pending.retain(|&first| first != GONE);
        }
        self.start(running - before);
    }

    fn start(&mut self, count: u32) {
        self.running += count;
        if let Some(last) = self.ending.back_mut() {
            *last += count;
        }
    }

    /// What it shows at the end of a tick.
    pub(super) fn sighting(&self, setup: &Setup, flops: f64, tick: u32) -> Sighting {
        let waited =
            |first: Option<&u32>| first.map_or(0, |&first| (tick + 1).saturating_sub(first));
        Sighting {
            flops,
            size: setup.size,
            running: self.running,
            pending: self.pending(),
            oldest: waited(self.pending.first()),
            newest: waited(self.pending.last()),
            limit: (setup.limit > 0).then_some(setup.limit),
        }
    }

    /// Takes a pending proxy away; false if there is none.
    pub(super) fn give(&mut self, moved: Moved, random: &mut Pcg64Mcg) -> bool {
        let count = self.pending.len();
        if count == 0 {
            return false;
        }
        let at = match moved {
            Moved::Newest => count - 1,
            Moved::Oldest => 0,
            Moved::Random => below(count, random),
        };
        self.pending.remove(at);
        true
    }

    /// Puts a proxy into the queue, to draw first in the next tick.
    pub(super) fn receive(&mut self, tick: u32) {
        self.pending.push(tick + 1);
    }
}

/// What stands for a proxy that has just left the queue: no run has that many ticks.
const GONE: u32 = u32::MAX;

impl Draws<'_> {
    /// Whether a proxy is dispatched that drew first at tick `first`.
    fn starts(&self, first: u32, running: u32, random: &mut Pcg64Mcg) -> bool {
        let limit = self.setup.limit;
        if limit > 0 && running >= limit {
            return false;
        }
        let age = self.tick - first + self.setup.first_age;
        let threshold = match self.wait.checked_sub(age) {
            None | Some(0) => self.thresholds.due(running),
            Some(left) => self.thresholds.early(left),
        };
        random.next_u64() < threshold
    }
}

/// A place below `count`, each as probable but for one part in 2^50 or so.
fn below(count: usize, random: &mut Pcg64Mcg) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}
