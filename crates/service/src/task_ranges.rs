//! Sets of task indices as ranges: an array of a million tasks is one line.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of indices in a parsed range.
const MAX_RANGE_LEN: u32 = 10_000_000;
/// Maximum number of indices in parsed ranges with a step: each of them is stored separately.
const MAX_STEPPED: u32 = 1_000_000;

/// Ascending ranges of indices, both ends included, that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRanges(VecDeque<(u32, u32)>);

/// A text that is not a list of ranges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected numbers as in 1-1000, 1,3,7-9 or 0-99:3, got `{0}`")]
pub struct BadTaskRanges(pub String);

impl TaskRanges {
    /// Returns every index from `first` to `last`; the empty set if `last` comes before `first`.
    pub fn new(first: u32, last: u32) -> Self {
        Self(
            (first <= last)
                .then_some((first, last))
                .into_iter()
                .collect(),
        )
    }

    /// Returns the number of indices.
    pub fn len(&self) -> u64 {
        let lengths = self
            .0
            .iter()
            .map(|(first, last)| u64::from(last - first) + 1);
        lengths.sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the smallest index.
    pub fn first(&self) -> Option<u32> {
        self.0.front().map(|&(first, _)| first)
    }

    /// Returns the ranges, ascending, with both ends.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// Returns every index, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|&(first, last)| first..=last)
    }

    /// Returns whether an index is in the set.
    pub fn contains(&self, number: u32) -> bool {
        let place = self.0.partition_point(|&(_, last)| last < number);
        self.0.get(place).is_some_and(|&(first, _)| first <= number)
    }

    /// Removes and returns the smallest index.
    pub fn pop_first(&mut self) -> Option<u32> {
        let (first, last) = self.0.front_mut()?;
        let number = *first;
        if *first == *last {
            self.0.pop_front();
        } else {
            *first += 1;
        }
        Some(number)
    }

    /// Returns the first `n` indices; all if there are fewer.
    #[must_use]
    pub fn first_n(&self, n: u32) -> Self {
        let mut left = n;
        let cut = |(first, last): (u32, u32)| {
            let taken = left.min((last - first).saturating_add(1));
            left -= taken;
            (taken > 0).then(|| (first, first + (taken - 1)))
        };
        Self(self.iter().map_while(cut).collect())
    }

    /// Adds the indices of `other`.
    pub fn add(&mut self, other: &Self) {
        if !other.is_empty() {
            *self = self.iter().chain(other.iter()).collect();
        }
    }

    /// Removes the indices of `other`.
    pub fn remove(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let mut left = VecDeque::new();
        let mut holes = other.0.iter().peekable();
        for (mut first, last) in self.iter() {
            while holes.next_if(|hole| hole.1 < first).is_some() {}
            let mut rest = true;
            while let Some(&&(from, to)) = holes.peek().filter(|hole| hole.0 <= last) {
                if from > first {
                    left.push_back((first, from - 1));
                }
                if to >= last {
                    rest = false;
                    break;
                }
                first = to + 1;
                holes.next();
            }
            if rest {
                left.push_back((first, last));
            }
        }
        self.0 = left;
    }

    /// Returns the indices that are also in `other`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut without = self.clone();
        without.remove(other);
        let mut common = self.clone();
        common.remove(&without);
        common
    }
}

/// Collects ranges in any order.
impl FromIterator<(u32, u32)> for TaskRanges {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(ranges: I) -> Self {
        let mut ranges: Vec<(u32, u32)> = ranges.into_iter().collect();
        ranges.sort_unstable();
        let mut sorted: VecDeque<(u32, u32)> = VecDeque::new();
        for (first, last) in ranges {
            match sorted.back_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                Some(_) | None => sorted.push_back((first, last)),
            }
        }
        Self(sorted)
    }
}

/// Formats as `1-640,700`.
impl fmt::Display for TaskRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

/// Parses `7`, `1-1000`, `1,3,7-9`, and every third index with `0-99:3`. Each part has at most ten
/// million indices, and all parts with a step have together at most a million.
impl FromStr for TaskRanges {
    type Err = BadTaskRanges;

    fn from_str(words: &str) -> Result<Self, BadTaskRanges> {
        let bad = || BadTaskRanges(words.chars().take(100).collect());
        let number = |word: &str| match word.starts_with('+') {
            true => Err(bad()),
            false => word.parse::<u32>().map_err(|_| bad()),
        };
        let mut all = Vec::new();
        let mut stepped = 0;
        for part in words.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, number(step)?),
                None => (part, 1),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(range)?, number(range)?),
            };
            if step == 0 || last < first || last - first >= MAX_RANGE_LEN {
                return Err(bad());
            }
            if step == 1 {
                all.push((first, last));
            } else {
                stepped += 1 + (last - first) / step;
                if stepped > MAX_STEPPED {
                    return Err(bad());
                }
                let numbers = (first..=last).step_by(step as usize);
                all.extend(numbers.map(|number| (number, number)));
            }
        }
        Ok(Self::from_iter(all))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn read(words: &str) -> TaskRanges {
        words.parse().unwrap()
    }

    #[test]
    fn task_ranges_parse_and_print_in_user_notation() {
        for (words, written, len) in [
            ("7", "7", 1),
            ("1-1000", "1-1000", 1000),
            ("7-9,1,3,2", "1-3,7-9", 6),
            ("0-9:3", "0,3,6,9", 4),
            ("1-5,3-8,9", "1-9", 9),
        ] {
            assert_eq!(read(words).to_string(), written);
            assert_eq!(read(words).len(), len);
        }
        for words in [
            "",
            "a",
            "3-1",
            "1-",
            "-1",
            "1-9:0",
            "1,,2",
            "0-4294967295",
            "1-2-3",
            "+1",
        ] {
            assert!(words.parse::<TaskRanges>().is_err(), "{words}");
        }
    }

    #[test]
    fn stepped_range_beyond_the_maximum_is_rejected_before_expansion() {
        let one = "0-1999999:2";
        assert_eq!(read(one).len(), 1_000_000);
        let many = vec![one; 5_000].join(",");
        assert!(many.parse::<TaskRanges>().is_err());
    }

    fn some() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0_u32..40, 0..20)
    }

    fn of(numbers: &BTreeSet<u32>) -> TaskRanges {
        let mut ranges = TaskRanges::default();
        for &number in numbers {
            ranges.add(&TaskRanges::new(number, number));
        }
        ranges
    }

    proptest! {
        #[test]
        fn task_ranges_behave_as_sets(a in some(), b in some()) {
            let (ranges, other) = (of(&a), of(&b));
            prop_assert_eq!(ranges.numbers().collect::<BTreeSet<_>>(), a.clone());
            let mut sum = ranges.clone();
            sum.add(&other);
            prop_assert_eq!(&sum, &of(&a.union(&b).copied().collect()));
            let mut left = ranges.clone();
            left.remove(&other);
            prop_assert_eq!(&left, &of(&a.difference(&b).copied().collect()));
            prop_assert_eq!(ranges.intersection(&other), of(&a.intersection(&b).copied().collect()));
            for number in 0..40 {
                prop_assert_eq!(ranges.contains(number), a.contains(&number));
            }
            let mut popped = ranges.clone();
            prop_assert_eq!(popped.pop_first(), a.first().copied());
            prop_assert_eq!(popped.len(), (a.len() as u64).saturating_sub(1));
        }
    }
}
