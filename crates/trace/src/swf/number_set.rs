//! A set of job numbers, which takes little memory because most follow one another.

use std::collections::BTreeMap;

/// A set of numbers as ranges without gaps.
#[derive(Default)]
pub(super) struct NumberSet {
    /// The last number of each range by its first.
    ranges: BTreeMap<u64, u64>,
}

impl NumberSet {
    /// Returns whether the set has this number.
    pub(super) fn contains(&self, number: u64) -> bool {
        let range = self.ranges.range(..=number).next_back();
        range.is_some_and(|(_, &last)| number <= last)
    }

    /// Adds a number.
    pub(super) fn insert(&mut self, number: u64) {
        if self.contains(number) {
            return;
        }
        let before = self.ranges.range_mut(..number).next_back();
        let follows = before.filter(|(_, last)| last.checked_add(1) == Some(number));
        let first = match follows {
            Some((&first, last)) => {
                *last = number;
                first
            }
            None => {
                self.ranges.insert(number, number);
                number
            }
        };
        let next = number.checked_add(1);
        if let Some(last) = next.and_then(|next| self.ranges.remove(&next)) {
            self.ranges.insert(first, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_kept_as_in_a_plain_set(numbers in prop::collection::vec(0_u64..40, 0..60)) {
            let (mut ranges, mut plain) = (NumberSet::default(), BTreeSet::new());
            for number in numbers {
                ranges.insert(number);
                plain.insert(number);
                for probe in 0..42 {
                    prop_assert_eq!(ranges.contains(probe), plain.contains(&probe));
                }
            }
            let gaps = plain.iter().filter(|&&number| !plain.contains(&(number + 1))).count();
            prop_assert_eq!(ranges.ranges.len(), gaps);
        }
    }
}
