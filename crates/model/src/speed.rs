//! The speeds of nodes, and the list in which a user gives them.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::{NodeId, NodeRange, Span};

/// The speed of a node relative to a reference node: what takes a second there takes 1 / speed seconds
/// here. Between [`NodeSpeed::MIN`] and [`NodeSpeed::MAX`], or a ratio of two such speeds; 1 by default.
///
/// Ratings of machines, such as the SPEC rating of LibraRisk's paper, are speeds after division by the
/// rating of the reference node.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NodeSpeed(f64);

impl Default for NodeSpeed {
    fn default() -> Self {
        Self(1.0)
    }
}

impl NodeSpeed {
    /// The lowest speed that a user may give.
    pub const MIN: f64 = 0.001;
    /// The highest speed that a user may give.
    pub const MAX: f64 = 1000.0;

    /// Returns the speed, or None if it is not between [`NodeSpeed::MIN`] and [`NodeSpeed::MAX`].
    pub fn new(speed: f64) -> Option<Self> {
        (Self::MIN..=Self::MAX)
            .contains(&speed)
            .then_some(Self(speed))
    }

    /// Returns the speed as a factor, above 0.
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// Returns the speed relative to another node instead of the reference node.
    #[must_use]
    pub fn relative_to(self, other: Self) -> Self {
        Self(self.0 / other.0)
    }

    /// Returns the time that work of `reference` on the reference node takes here, to the nearest
    /// microsecond. Work that takes any time takes at least a microsecond.
    pub fn time_for(self, reference: Span) -> Span {
        if self.0 == 1.0 || reference <= Span::ZERO {
            return reference;
        }
        Span::from_secs_f64(reference.as_secs_f64() / self.0).max(Span::TICK)
    }

    /// Returns the seconds that work of `reference_s` seconds on the reference node takes here, not rounded.
    #[inline]
    pub fn seconds_for(self, reference_s: f64) -> f64 {
        // On nearly all nodes of nearly all machines there is nothing to divide.
        if self.0 == 1.0 {
            return reference_s;
        }
        reference_s / self.0
    }

    /// Returns the time that the work done here in `time` takes on the reference node, rounded down to a
    /// microsecond, so that [`NodeSpeed::time_for`] of it is at most `time`.
    pub fn work_within(self, time: Span) -> Span {
        if self.0 == 1.0 {
            return time;
        }
        Span::from_micros((time.as_micros() as f64 * self.0).floor() as i64)
    }

    /// Returns the lower of two speeds.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }
}

impl fmt::Display for NodeSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The speeds of a machine's nodes: ranges of nodes from the first node on, without gaps. Every node
/// beyond the last range has the speed 1, so the default is a machine of reference nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSpeeds(Vec<(NodeRange, NodeSpeed)>);

impl MachineSpeeds {
    /// Returns the ranges of nodes of equal speed that make up the first `nodes` nodes, in ascending
    /// order.
    pub fn ranges(&self, nodes: u32) -> impl Iterator<Item = (NodeRange, NodeSpeed)> {
        self.within(0, nodes)
    }

    /// Returns the speed of a node.
    pub fn of(&self, node: NodeId) -> NodeSpeed {
        let after = self.0.partition_point(|(range, _)| range.first <= node.0);
        let last = after.checked_sub(1).map(|at| self.0[at]);
        let found = last.filter(|(range, _)| range.contains(node));
        found.map_or_else(NodeSpeed::default, |(_, speed)| speed)
    }

    /// Returns true if every node has the speed 1 because no speed was given.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lowest speed of some nodes; 1 without nodes.
    pub fn slowest_of(&self, nodes: &[NodeRange]) -> NodeSpeed {
        if self.is_default() {
            return NodeSpeed::default();
        }
        let speeds = nodes
            .iter()
            .flat_map(|range| self.within(range.first, range.first + range.len));
        let slowest = speeds.map(|(_, speed)| speed).reduce(NodeSpeed::min);
        slowest.unwrap_or_default()
    }

    /// Returns the lowest speed of a machine of `nodes` nodes, at least 1.
    pub fn slowest(&self, nodes: u32) -> NodeSpeed {
        let speeds = self.ranges(nodes).map(|(_, speed)| speed);
        speeds.reduce(NodeSpeed::min).unwrap_or_default()
    }

    /// Returns the lowest speed of the `procs` fastest of `nodes` nodes: at least 1 of them, and at most
    /// all.
    pub fn slowest_of_fastest(&self, procs: u32, nodes: u32) -> NodeSpeed {
        let mut ranges: Vec<_> = self.ranges(nodes).collect();
        ranges.sort_by(|(_, one), (_, other)| other.0.total_cmp(&one.0));
        let (mut left, mut slowest) = (procs, NodeSpeed::default());
        for (range, speed) in ranges {
            slowest = speed;
            if left <= range.len {
                break;
            }
            left -= range.len;
        }
        slowest
    }

    /// Returns the sum of the speeds of `nodes` nodes: the work that the machine does in a second, in
    /// seconds of the reference node.
    pub fn capacity(&self, nodes: u32) -> f64 {
        let parts = self.ranges(nodes);
        parts
            .map(|(range, speed)| f64::from(range.len) * speed.0)
            .sum()
    }

    /// Returns the mean time that work of `reference` on the reference node takes on each of some nodes,
    /// to the nearest microsecond; `reference` without nodes.
    pub fn mean_time_for(&self, reference: Span, nodes: &[NodeRange]) -> Span {
        if self.is_default() || nodes.is_empty() {
            return reference;
        }
        let parts = nodes
            .iter()
            .flat_map(|range| self.within(range.first, range.first + range.len));
        let (mut micros, mut count) = (0_i128, 0_i128);
        for (range, speed) in parts {
            micros += i128::from(speed.time_for(reference).as_micros()) * i128::from(range.len);
            count += i128::from(range.len);
        }
        let mean = (2 * micros + count).div_euclid(2 * count);
        Span::from_micros(mean as i64)
    }

    /// Returns the speeds of `nodes` nodes, at least 1, relative to the slowest of them.
    #[must_use]
    pub fn relative_to_slowest(&self, nodes: u32) -> Self {
        let slowest = self.slowest(nodes);
        let relative = self
            .ranges(nodes)
            .map(|(range, speed)| (range, speed.relative_to(slowest)));
        let relative: Vec<_> = relative.collect();
        match relative[..] {
            [(_, only)] if only == NodeSpeed::default() => Self::default(),
            _ => Self(relative),
        }
    }

    /// Returns the ranges of equal speed of the nodes from `from` to before `end`, in ascending order.
    fn within(&self, from: u32, end: u32) -> impl Iterator<Item = (NodeRange, NodeSpeed)> {
        let n_before = self
            .0
            .partition_point(|(range, _)| range.first + range.len <= from);
        let known = self.0[n_before..].iter().copied();
        let known = known.map(|(range, speed)| (range.first, range.first + range.len, speed));
        let rest = (self.n_known(), u32::MAX, NodeSpeed::default());
        let clipped = known.chain([rest]).map(move |(first, last, speed)| {
            let (first, last) = (first.max(from), last.min(end));
            let len = last.saturating_sub(first);
            (NodeRange { first, len }, speed)
        });
        clipped.take_while(|(range, _)| range.len > 0)
    }

    fn n_known(&self) -> u32 {
        self.0
            .last()
            .map_or(0, |(range, _)| range.first + range.len)
    }

    fn push(&mut self, len: u32, speed: NodeSpeed) {
        match self.0.last_mut() {
            Some((range, last)) if *last == speed => range.len += len,
            Some(_) | None => {
                let first = self.n_known();
                self.0.push((NodeRange { first, len }, speed));
            }
        }
    }
}

/// A list of node speeds as a user writes it: `64*1,64*1.5` is 64 nodes of speed 1 and 64 of speed 1.5.
/// A last speed without a count takes the rest of the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedList {
    counted: Vec<(NonZeroU32, NodeSpeed)>,
    rest: Option<NodeSpeed>,
}

/// Text that is not a list of node speeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedListError(String);

/// A list of node speeds for another number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeedCountError {
    /// Number of speeds in the list.
    pub listed: u64,
    /// True if the list ends with a speed without a count, which is that of at least one node.
    pub has_rest: bool,
    /// Number of nodes of the machine.
    pub nodes: u32,
}

impl fmt::Display for SpeedListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (NodeSpeed::MIN, NodeSpeed::MAX);
        write!(
            f,
            "`{}` is not a COUNT*SPEED: expected a count of at least 1, which the last entry may leave out, \
             and a speed from {min} to {max}",
            self.0
        )
    }
}

impl fmt::Display for SpeedCountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            listed,
            has_rest,
            nodes,
        } = self;
        let more = if *has_rest { " and a rest" } else { "" };
        write!(
            f,
            "speeds of {listed} nodes{more}, but the machine has {nodes}"
        )
    }
}

impl std::error::Error for SpeedListError {}
impl std::error::Error for SpeedCountError {}

impl SpeedList {
    /// Returns the speeds of a machine of `nodes` nodes.
    ///
    /// # Errors
    /// If the counts do not sum up to `nodes`, or leave no node for the speed of the rest.
    pub fn of_machine(&self, nodes: u32) -> Result<MachineSpeeds, SpeedCountError> {
        let counts = self.counted.iter().map(|(count, _)| u64::from(count.get()));
        let listed: u64 = counts.sum();
        let has_rest = self.rest.is_some();
        let left = u64::from(nodes).checked_sub(listed);
        let left = left.and_then(|left| u32::try_from(left).ok());
        let left = left.filter(|&left| has_rest == (left > 0));
        let left = left.ok_or(SpeedCountError {
            listed,
            has_rest,
            nodes,
        })?;
        let mut speeds = MachineSpeeds::default();
        for &(count, speed) in &self.counted {
            speeds.push(count.get(), speed);
        }
        if let Some(speed) = self.rest {
            speeds.push(left, speed);
        }
        Ok(speeds)
    }
}

impl FromStr for SpeedList {
    type Err = SpeedListError;

    fn from_str(text: &str) -> Result<Self, SpeedListError> {
        let mut list = Self {
            counted: Vec::new(),
            rest: None,
        };
        for entry in text.split(',') {
            let wrong = || SpeedListError(entry.to_owned());
            let speed = |word: &str| word.trim().parse().ok().and_then(NodeSpeed::new);
            if list.rest.is_some() {
                return Err(SpeedListError(text.to_owned()));
            }
            match entry.split_once('*') {
                Some((count, word)) => {
                    let count = count.trim().parse().map_err(|_| wrong())?;
                    list.counted.push((count, speed(word).ok_or_else(wrong)?));
                }
                None => list.rest = Some(speed(entry).ok_or_else(wrong)?),
            }
        }
        Ok(list)
    }
}

impl fmt::Display for SpeedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (count, speed)) in self.counted.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{count}*{speed}")?;
        }
        match self.rest {
            Some(speed) if self.counted.is_empty() => write!(f, "{speed}"),
            Some(speed) => write!(f, ",{speed}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
