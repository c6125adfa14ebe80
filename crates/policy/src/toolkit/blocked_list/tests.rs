//! The list against an ordered set and a linear walk.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

impl BlockEntry for u32 {
    type Key = u32;
    type Summary = u32;

    fn key(&self) -> u32 {
        *self
    }

    fn summary(block: &[u32]) -> u32 {
        block.iter().map(|n| n % 97).min().unwrap()
    }

    fn include(&self, summary: &mut u32) {
        *summary = (self % 97).min(*summary);
    }

    fn exclude(&self, summary: &mut u32, rest: &[u32]) {
        *summary = BlockEntry::summary(rest);
    }

    fn merge(summary: &mut u32, more: &u32) {
        *summary = (*summary).min(*more);
    }
}

fn check_groups(blocks: &BlockedList<u32>) {
    let groups = blocks.blocks.chunks(GROUP).map(<[_]>::concat);
    let expected: Vec<u32> = groups.map(|group| BlockEntry::summary(&group)).collect();
    assert_eq!(blocks.groups, expected);
}

proptest! {
    #[test]
    fn behaves_like_an_ordered_set(steps in prop::collection::vec((prop::bool::weighted(0.7), 0u32..3000), 0..4000)) {
        let mut blocks = BlockedList::default();
        let mut set = BTreeSet::new();
        for (add, n) in steps {
            if add {
                if set.insert(n) {
                    blocks.insert(n);
                }
            } else {
                prop_assert_eq!(blocks.remove(n).is_some(), set.remove(&n));
            }
            prop_assert_eq!(blocks.len(), set.len());
            if n % 64 == 0 {
                check_groups(&blocks);
            }
        }
        let BlockedList { blocks, summaries, len, .. } = blocks;
        let blocks = BlockedList::from(StoredList { blocks, summaries, len });
        check_groups(&blocks);
        prop_assert!(blocks.iter().eq(set.iter()));
        for (summary, entries) in blocks.blocks() {
            prop_assert_eq!(summary, BlockEntry::summary(entries));
        }
    }

    #[test]
    fn scan_finds_the_same_entries_as_a_linear_walk(set in prop::collection::btree_set(0u32..5000, 0..3000), limit in 0u32..97) {
        let mut blocks = BlockedList::default();
        for &n in &set {
            blocks.insert(n);
        }
        let mut found = Vec::new();
        let mut cursor = BlockCursor::default();
        while let Some((at, entry)) = blocks.find(cursor, |least| *least <= limit, |n| n % 97 <= limit) {
            found.push(entry);
            cursor = if entry % 2 == 0 { blocks.remove_at(at); at } else { at.next() };
        }
        let behind = blocks.find(blocks.cursor_behind(limit * 40), |_| true, |_| true);
        prop_assert_eq!(behind.map(|(_, n)| n), blocks.iter().copied().find(|&n| n > limit * 40));
        let walked: Vec<u32> = set.iter().copied().filter(|n| n % 97 <= limit).collect();
        prop_assert_eq!(&found, &walked);
        prop_assert_eq!(blocks.len(), set.len() - walked.iter().filter(|n| *n % 2 == 0).count());
    }
}
