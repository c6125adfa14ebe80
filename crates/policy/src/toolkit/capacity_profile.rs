//! The availability profile: free processors over time, by the estimates.

mod found_holes;

use found_holes::FoundHoles;
use tollgate_model::{Instant, Span};

use crate::state::View;

/// A step function of free processors: each step's number holds from its instant to the next step.
/// Never empty; the first step is the present.
///
/// ```
/// use tollgate_model::{Credits, Instant, JobSpec, Sla, Span, UserId};
/// use tollgate_policy::{ClusterState, View, toolkit::CapacityProfile};
///
/// let now = Instant::ZERO;
/// let mut state = ClusterState::default();
/// state.add_nodes(4);
/// let running = state.insert(JobSpec {
///     submit: now,
///     estimate: Span::from_secs(100),
///     procs: 3,
///     memory: 0,
///     needs: Default::default(),
///     restarts: 0,
///     user: UserId(0),
///     sla: Sla::default(),
/// });
/// state.start_exclusive(running, now, Credits::ZERO);
///
/// // One processor is free now, all four are when the running job ends.
/// let mut profile = CapacityProfile::of(View::new(&state, now));
/// let at = profile.earliest(now, 2, Span::from_secs(60)).expect("a hole");
/// assert_eq!(at, Instant::from_secs(100));
/// profile.reserve(at, 2, Span::from_secs(60));
/// // A job of three processors has to wait for the reservation, one of two runs beside it.
/// assert!(!profile.fits(at, 3, Span::from_secs(10)));
/// assert!(profile.fits(at, 2, Span::from_secs(10)));
/// ```
#[derive(Clone, Debug)]
pub struct CapacityProfile {
    /// The steps in order of time. No block is ever empty.
    blocks: Vec<ProfileBlock>,
    /// The results of searches since the profile was made.
    found: FoundHoles,
}

/// Neighbouring steps, with what a search must know to pass over them.
#[derive(Clone, Debug)]
struct ProfileBlock {
    /// Free processors from an instant on, before `reserved` is subtracted.
    steps: Vec<(Instant, u32)>,
    /// Processors that are reserved during all steps.
    reserved: u32,
    /// The fewest free processors of any step.
    fewest: u32,
    /// The most free processors of any step.
    most: u32,
}

/// Maximum number of steps of a block. With a thousand steps a search takes a fifth longer in blocks of
/// half the size.
const CAPACITY: usize = 64;

impl CapacityProfile {
    /// Returns the free processors from now on if every running job ends by its estimate. A job
    /// past its estimate is assumed to end at the next microsecond.
    pub fn of(view: View<'_>) -> Self {
        let mut free = view.n_idle();
        let mut steps = vec![(view.now, free)];
        for runner in view.running_jobs().iter() {
            let end = runner.end.max(view.now + Span::TICK);
            free += runner.procs;
            match steps.last_mut() {
                Some(step) if step.0 == end => step.1 = free,
                _ => steps.push((end, free)),
            }
        }
        Self::of_steps(&steps)
    }

    /// Creates a profile from steps in order of time, of which there is at least one: free processors from each
    /// instant on.
    pub fn of_steps(steps: &[(Instant, u32)]) -> Self {
        // Half full, so that reservations find room.
        let blocks = steps.chunks(CAPACITY / 2);
        Self {
            blocks: blocks.map(ProfileBlock::new).collect(),
            found: FoundHoles::default(),
        }
    }

    /// Returns the first instant from `from` on at which `procs` processors are free for `length`;
    /// None if no such instant exists.
    pub fn earliest(&mut self, from: Instant, procs: u32, length: Span) -> Option<Instant> {
        let bound = self.found.bound(procs, length);
        let from = bound.map_or(from, |bound| bound.max(from));
        let hole = self.first_hole(from, procs, length)?;
        self.found.note(procs, length, hole);
        Some(hole)
    }

    /// Returns the length of the longest time during which `procs` processors are free, of those that begin
    /// from `from` on and before `before`. Returns zero if none does, [`Span::MAX`] if one has no end.
    pub fn longest(&self, from: Instant, before: Instant, procs: u32) -> Span {
        let mut longest = Span::ZERO;
        let mut hole: Option<Instant> = None;
        for block in &self.blocks[self.block_at(from)..] {
            if block.most < procs {
                longest = longest.max(length_until(block.first(), hole.take()));
                continue;
            }
            for &(at, free) in block.steps_from(from) {
                if free < procs + block.reserved {
                    longest = longest.max(length_until(at, hole.take()));
                } else if hole.is_none() {
                    if at.max(from) >= before {
                        return longest;
                    }
                    hole = Some(at.max(from));
                }
            }
        }
        hole.map_or(longest, |_| Span::MAX)
    }

    /// Returns the last instant, not before the first step, from which `procs` processors are free for `length`
    /// until `end` at the latest; None if no such instant exists.
    pub fn latest(&self, procs: u32, length: Span, end: Instant) -> Option<Instant> {
        let mut end = end;
        for block in self.blocks[..=self.block_at(end)].iter().rev() {
            if block.most < procs {
                end = end.min(block.first());
                continue;
            }
            let first = block.first();
            if block.fewest >= procs {
                if first <= end - length {
                    return Some(end - length);
                }
                continue;
            }
            let needed = procs + block.reserved;
            let begun = block.steps.partition_point(|step| step.0 < end);
            for &(at, free) in block.steps[..begun].iter().rev() {
                if free < needed {
                    end = at;
                } else if at <= end - length {
                    return Some(end - length);
                }
            }
        }
        None
    }

    /// Returns the fewest processors that are free at any instant from `at` on and before `end`.
    pub fn fewest(&self, at: Instant, end: Instant) -> u32 {
        let mut fewest = u32::MAX;
        for block in &self.blocks[self.block_at(at)..] {
            if block.first() >= end {
                break;
            }
            let steps = block.steps_from(at).iter();
            let free = steps.take_while(|step| step.0 < end).map(|step| step.1);
            fewest = fewest.min(
                free.min()
                    .unwrap_or(u32::MAX)
                    .saturating_sub(block.reserved),
            );
        }
        fewest
    }

    /// Returns the time around an instant, not before the first step, during which the number of free
    /// processors does not change. Returns its begin and its end, [`Instant::MAX`] if it has none.
    pub fn steady_around(&self, at: Instant) -> (Instant, Instant) {
        let place = self.block_at(at);
        let steps = &self.blocks[place].steps;
        let next = steps.partition_point(|step| step.0 <= at);
        let later = || self.blocks.get(place + 1).map(ProfileBlock::first);
        let until = steps.get(next).map(|step| step.0).or_else(later);
        let from = steps[next.saturating_sub(1)].0;
        (from, until.unwrap_or(Instant::MAX))
    }

    /// Returns the instants at which the number of free processors may change, ascending.
    pub fn changes(&self) -> impl Iterator<Item = Instant> + '_ {
        let steps = self.blocks.iter().flat_map(|block| &block.steps);
        steps.map(|step| step.0)
    }

    /// Returns the first instant from `from` on at which `procs` processors are free for `length`, as
    /// [`CapacityProfile::earliest`] does, which remembers what it has found. Blocks of steps that are free or
    /// taken as a whole are passed over.
    pub fn first_hole(&self, from: Instant, procs: u32, length: Span) -> Option<Instant> {
        let mut hole: Option<Instant> = None;
        for block in &self.blocks[self.block_at(from)..] {
            if hole.is_some_and(|start| block.first() >= start + length) {
                return hole;
            }
            if block.most < procs {
                hole = None;
            } else if block.fewest >= procs {
                hole.get_or_insert(block.first().max(from));
            } else if let Some(found) = block.search(&mut hole, from, procs, length) {
                return Some(found);
            }
        }
        hole
    }

    /// Returns true if `procs` processors are free for `length` from `at` on.
    pub fn fits(&self, at: Instant, procs: u32, length: Span) -> bool {
        self.free_until(at, procs) >= at + length
    }

    /// Returns the first instant from `at` on at which fewer than `procs` processors are free;
    /// [`Instant::MAX`] if there is none.
    fn free_until(&self, at: Instant, procs: u32) -> Instant {
        for block in &self.blocks[self.block_at(at)..] {
            if block.fewest >= procs {
                continue;
            }
            let mut steps = block.steps.iter().enumerate();
            let short = steps.find(|&(step, &(_, free))| {
                let ends = block.steps.get(step + 1).map(|next| next.0);
                free < procs + block.reserved && ends.is_none_or(|ends| ends > at)
            });
            if let Some((_, &(short, _))) = short {
                return short.max(at);
            }
        }
        Instant::MAX
    }

    /// Reserves `procs` processors for `length` from `at` on, where [`CapacityProfile::fits`] holds.
    pub fn reserve(&mut self, at: Instant, procs: u32, length: Span) {
        let end = at + length;
        self.split(at);
        self.split(end);
        let first = self.block_at(at);
        for block in &mut self.blocks[first..] {
            if block.first() >= end {
                break;
            }
            block.reserve(at, end, procs);
        }
    }

    /// Takes a reservation back, or a part of one.
    pub fn release(&mut self, at: Instant, procs: u32, length: Span) {
        let end = at + length;
        self.split(at);
        self.split(end);
        let first = self.block_at(at);
        for block in &mut self.blocks[first..] {
            if block.first() >= end {
                break;
            }
            block.release(at, end, procs);
        }
        // Earlier holes may have opened.
        self.found = FoundHoles::default();
    }

    /// Forgets steps that ended before `now`. Searches and reservations begin no earlier from then on.
    pub fn discard_before(&mut self, now: Instant) {
        let current = self.block_at(now);
        self.blocks.drain(..current);
    }

    /// Makes a step begin at `at`.
    fn split(&mut self, at: Instant) {
        let place = self.block_at(at);
        let block = &mut self.blocks[place];
        let Err(step) = block.steps.binary_search_by_key(&at, |step| step.0) else {
            return;
        };
        let free = block.steps[step - 1].1;
        block.steps.insert(step, (at, free));
        if block.steps.len() > CAPACITY {
            let upper = block.split_off();
            self.blocks.insert(place + 1, upper);
        }
    }

    /// Returns the block with the step that contains `at`, which is not before the first step.
    fn block_at(&self, at: Instant) -> usize {
        let begun = self.blocks.partition_point(|block| block.first() <= at);
        begun.saturating_sub(1)
    }
}

/// Returns the length of a hole that ends at `end`; zero without one.
fn length_until(end: Instant, hole: Option<Instant>) -> Span {
    hole.map_or(Span::ZERO, |start| end.since(start))
}

impl ProfileBlock {
    fn new(steps: &[(Instant, u32)]) -> Self {
        let mut block = Self {
            steps: Vec::with_capacity(CAPACITY + 1),
            reserved: 0,
            fewest: 0,
            most: 0,
        };
        block.steps.extend_from_slice(steps);
        block.summarise();
        block
    }

    fn first(&self) -> Instant {
        self.steps[0].0
    }

    /// Returns the step that holds at `from`, or the first one if that is later, and all steps behind it.
    fn steps_from(&self, from: Instant) -> &[(Instant, u32)] {
        let begun = self.steps.partition_point(|step| step.0 <= from);
        &self.steps[begun.saturating_sub(1)..]
    }

    /// Continues the search for a hole in the steps of this block, where `hole` has begun before if it
    /// is there. Returns the hole if it ends here.
    fn search(
        &self,
        hole: &mut Option<Instant>,
        from: Instant,
        procs: u32,
        length: Span,
    ) -> Option<Instant> {
        let needed = procs + self.reserved;
        let mut end = hole.map_or(Instant::MAX, |start| start + length);
        for &(at, free) in self.steps_from(from) {
            if at >= end {
                return *hole;
            }
            if free < needed {
                *hole = None;
                end = Instant::MAX;
            } else if hole.is_none() {
                let start = at.max(from);
                *hole = Some(start);
                end = start + length;
            }
        }
        None
    }

    fn summarise(&mut self) {
        let (mut fewest, mut most) = (u32::MAX, 0);
        for &(_, free) in &self.steps {
            fewest = fewest.min(free);
            most = most.max(free);
        }
        self.fewest = fewest - self.reserved;
        self.most = most - self.reserved;
    }

    /// Reserves processors during the steps that begin from `at` on and before `end`.
    fn reserve(&mut self, at: Instant, end: Instant, procs: u32) {
        let first = self.steps.partition_point(|step| step.0 < at);
        let last = self.steps.partition_point(|step| step.0 < end);
        if last - first == self.steps.len() {
            self.reserved += procs;
            self.fewest -= procs;
            self.most -= procs;
            return;
        }
        for (_, free) in &mut self.steps[first..last] {
            *free -= procs;
        }
        self.summarise();
    }

    /// Releases processors during the steps that begin from `at` on and before `end`.
    fn release(&mut self, at: Instant, end: Instant, procs: u32) {
        let first = self.steps.partition_point(|step| step.0 < at);
        let last = self.steps.partition_point(|step| step.0 < end);
        for (_, free) in &mut self.steps[first..last] {
            *free += procs;
        }
        self.summarise();
    }

    /// Removes the second half of the steps and returns it.
    fn split_off(&mut self) -> Self {
        let mut upper = Self::new(&self.steps[CAPACITY / 2..]);
        upper.reserved = self.reserved;
        upper.summarise();
        self.steps.truncate(CAPACITY / 2);
        self.summarise();
        upper
    }
}

#[cfg(test)]
mod tests;
