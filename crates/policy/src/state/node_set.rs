//! Sets of nodes, as those without a task.

use serde::{Deserialize, Serialize};
use tollgate_model::{NodeId, NodeRange};

const BITS: usize = u64::BITS as usize;

/// A set of nodes as a bitmap, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeSet {
    words: Vec<u64>,
    len: u32,
    /// No word below this one contains a node.
    lowest: usize,
}

impl NodeSet {
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Returns the nodes of a range that are in the set, in ascending order.
    pub(super) fn nodes_in(&self, range: NodeRange) -> impl Iterator<Item = NodeId> {
        let words = pieces(range).map(|(word, bits)| {
            let held = self.words.get(word).copied().unwrap_or(0);
            (word, held & bits)
        });
        words.flat_map(set_bits)
    }

    /// Returns the first node of the set that is not before this one.
    pub(super) fn first_from(&self, node: NodeId) -> Option<NodeId> {
        let (word, bit) = (node.index() / BITS, node.0 % u64::BITS);
        let rest = self.words.get(word)? & (u64::MAX << bit);
        let later = (word + 1..).zip(&self.words[word + 1..]);
        let words = std::iter::once((word, rest)).chain(later.map(|(word, &bits)| (word, bits)));
        let (word, bits) = words.into_iter().find(|&(_, bits)| bits != 0)?;
        Some(NodeId(word as u32 * u64::BITS + bits.trailing_zeros()))
    }

    /// Returns the end of the run of nodes of the set from this one on, which is in the set.
    pub(super) fn run_end(&self, node: NodeId) -> u32 {
        let (word, bit) = (node.index() / BITS, node.0 % u64::BITS);
        let run = (self.words[word] >> bit).trailing_ones();
        if bit + run < u64::BITS {
            return node.0 + run;
        }
        let full = self.words[word + 1..]
            .iter()
            .take_while(|&&bits| bits == u64::MAX);
        let end = word + 1 + full.count();
        let rest = self.words.get(end).map_or(0, |bits| bits.trailing_ones());
        end as u32 * u64::BITS + rest
    }

    /// Returns the nodes of a range that are in this set and in neither of two others, in ascending order.
    pub(super) fn nodes_without(
        &self,
        others: [&Self; 2],
        range: NodeRange,
    ) -> impl Iterator<Item = NodeId> {
        let words = pieces(range).map(move |(word, bits)| {
            let in_word = |set: &Self| set.words.get(word).copied().unwrap_or(0);
            let excluded = in_word(others[0]) | in_word(others[1]);
            (word, in_word(self) & bits & !excluded)
        });
        words.flat_map(set_bits)
    }

    /// Adds a node; returns false if it was in the set already.
    pub(super) fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u32::from(new);
        self.lowest = self.lowest.min(word);
        new
    }

    /// Removes a node; returns false if it was not in the set.
    pub(super) fn remove(&mut self, node: NodeId) -> bool {
        let there = self.contains(node);
        if there {
            let (word, bit) = place(node);
            self.words[word] &= !bit;
            self.len -= 1;
        }
        there
    }

    /// Removes the `count` lowest nodes and appends them to `taken` as ranges.
    ///
    /// # Panics
    /// If the set has fewer than `count` nodes.
    pub(super) fn take_lowest(&mut self, count: u32, taken: &mut Vec<NodeRange>) {
        assert!(count <= self.len, "{count} nodes wanted of {}", self.len);
        self.len -= count;
        let mut remaining = count;
        while remaining > 0 {
            let word = &mut self.words[self.lowest];
            if *word == 0 {
                self.lowest += 1;
                continue;
            }
            let bit = word.trailing_zeros();
            let run = (*word >> bit).trailing_ones().min(remaining);
            *word &= !mask(bit, run);
            remaining -= run;
            push_run(taken, self.lowest as u32 * u64::BITS + bit, run);
        }
    }

    /// Returns the number of nodes of the set that are in a range.
    pub(super) fn count_in(&self, range: NodeRange) -> u32 {
        let words = pieces(range).map(|(word, bits)| {
            let held = self.words.get(word).copied().unwrap_or(0);
            (held & bits).count_ones()
        });
        words.sum()
    }

    /// Removes the `count` lowest nodes of a range and appends them to `taken` as ranges.
    ///
    /// # Panics
    /// If the set has fewer than `count` nodes of the range.
    pub(super) fn take_lowest_in(
        &mut self,
        range: NodeRange,
        count: u32,
        taken: &mut Vec<NodeRange>,
    ) {
        let mut remaining = count;
        for (word, bits) in pieces(range) {
            while remaining > 0 && self.words.get(word).is_some_and(|held| held & bits != 0) {
                let held = self.words[word] & bits;
                let bit = held.trailing_zeros();
                let run = (held >> bit).trailing_ones().min(remaining);
                self.words[word] &= !mask(bit, run);
                remaining -= run;
                push_run(taken, word as u32 * u64::BITS + bit, run);
            }
        }
        assert_eq!(remaining, 0, "{count} nodes wanted of {range}");
        self.len -= count;
    }

    /// Adds the nodes of a range that are not in the set.
    pub(super) fn cover(&mut self, range: NodeRange) {
        for (word, bits) in pieces(range) {
            if word >= self.words.len() {
                self.words.resize(word + 1, 0);
            }
            self.len += (bits & !self.words[word]).count_ones();
            self.words[word] |= bits;
            self.lowest = self.lowest.min(word);
        }
    }

    /// Adds all nodes of a range.
    pub(super) fn insert_range(&mut self, range: NodeRange) {
        let mut first = range.first;
        let mut left = range.len;
        while left > 0 {
            let (word, bit) = (first as usize / BITS, first % u64::BITS);
            let run = left.min(u64::BITS - bit);
            let bits = mask(bit, run);
            debug_assert_eq!(self.words[word] & bits, 0, "a node cannot be idle twice");
            self.words[word] |= bits;
            self.lowest = self.lowest.min(word);
            first += run;
            left -= run;
        }
        self.len += range.len;
    }
}

fn place(node: NodeId) -> (usize, u64) {
    (node.index() / BITS, 1 << (node.index() % BITS))
}

/// Returns the words of a range, each with the bits of the range in it.
fn pieces(range: NodeRange) -> impl Iterator<Item = (usize, u64)> {
    let end = range.first + range.len;
    let words = range.first / u64::BITS..end.div_ceil(u64::BITS);
    words.map(move |word| {
        let first = range.first.max(word * u64::BITS);
        let last = end.min((word + 1) * u64::BITS);
        (word as usize, mask(first % u64::BITS, last - first))
    })
}

/// Returns the nodes of a word of the bitmap, in ascending order.
fn set_bits((word, mut bits): (usize, u64)) -> impl Iterator<Item = NodeId> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(NodeId(word as u32 * u64::BITS + bit))
    })
}

/// Returns a mask of `run` ones from bit `bit` on.
fn mask(bit: u32, run: u32) -> u64 {
    (u64::MAX >> (u64::BITS - run)) << bit
}

/// Appends a run of nodes, merged with the last range where it is adjacent.
fn push_run(ranges: &mut Vec<NodeRange>, first: u32, len: u32) {
    match ranges.last_mut() {
        Some(last) if last.first + last.len == first => last.len += len,
        _ => ranges.push(NodeRange { first, len }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn take_lowest_and_insert_range_are_inverse(nodes in prop::collection::btree_set(0u32..300, 1..200), count in 0usize..200) {
            let mut set = NodeSet::default();
            for &node in &nodes {
                prop_assert!(set.insert(NodeId(node)));
            }
            let before = set.clone();
            let count = count.min(nodes.len());
            let mut ranges = Vec::new();
            set.take_lowest(count as u32, &mut ranges);
            let taken: Vec<u32> = ranges.iter().flat_map(|range| range.nodes()).map(|node| node.0).collect();
            prop_assert!(taken.iter().eq(nodes.iter().take(count)));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].first + pair[0].len < pair[1].first));
            let left: BTreeSet<u32> = (0..300).filter(|&n| set.contains(NodeId(n))).collect();
            prop_assert!(left.iter().eq(nodes.iter().skip(count)));
            for range in ranges {
                set.insert_range(range);
            }
            prop_assert_eq!(set.len(), before.len());
            prop_assert_eq!(set.words, before.words);
        }

        #[test]
        fn nodes_of_a_range_are_counted_and_taken_from_it_alone(nodes in prop::collection::btree_set(0u32..300, 0..200), first in 0u32..290, len in 1u32..200, part in 0.0f64..=1.0) {
            let mut set = NodeSet::default();
            for &node in &nodes {
                set.insert(NodeId(node));
            }
            let range = NodeRange { first, len };
            let inside: Vec<u32> = nodes.iter().copied().filter(|&node| range.contains(NodeId(node))).collect();
            prop_assert_eq!(set.count_in(range) as usize, inside.len());
            let listed: Vec<u32> = set.nodes_in(range).map(|node| node.0).collect();
            prop_assert_eq!(&listed, &inside);
            let mut others = NodeSet::default();
            nodes.iter().filter(|&node| node % 3 == 0).for_each(|&node| {
                others.insert(NodeId(node));
            });
            let mut more = NodeSet::default();
            nodes.iter().filter(|&node| node % 5 == 0).for_each(|&node| {
                more.insert(NodeId(node));
            });
            let without = set.nodes_without([&others, &more], range).map(|node| node.0);
            prop_assert!(without.eq(inside.iter().copied().filter(|node| node % 3 > 0 && node % 5 > 0)));
            let count = (part * inside.len() as f64) as usize;
            let mut ranges = Vec::new();
            set.take_lowest_in(range, count as u32, &mut ranges);
            let taken: Vec<u32> = ranges.iter().flat_map(|range| range.nodes()).map(|node| node.0).collect();
            prop_assert_eq!(&taken[..], &inside[..count]);
            prop_assert_eq!(set.len() as usize, nodes.len() - count);
            prop_assert_eq!(set.count_in(range) as usize, inside.len() - count);
        }
    }
}
