//! Numbers for names, since SWF has no names.

use std::collections::{HashMap, HashSet};

/// The numbers of the names in one column. Two names never share a number.
#[derive(Debug, Default)]
pub(super) struct NameNumbers {
    taken: HashSet<u64>,
    /// All numbers from 1 to this one are taken.
    full_up_to: u64,
    /// The names with a number that is not the name itself. Looked up in, never iterated.
    by_name: HashMap<Box<str>, u64>,
    /// The same names in the order in which they were numbered.
    given: Vec<(u64, Box<str>)>,
    given_away: HashSet<u64>,
}

impl NameNumbers {
    /// Returns the number of a name: the name itself if it is a number that no earlier name has,
    /// else the first free number from 1.
    pub(super) fn number_of(&mut self, name: Option<&str>) -> Option<u64> {
        let name = name?;
        if let Some(&number) = self.by_name.get(name) {
            return Some(number);
        }
        if let Some(number) = own_number(name).filter(|own| !self.given_away.contains(own)) {
            self.taken.insert(number);
            return Some(number);
        }
        let number = self.next_free();
        self.by_name.insert(name.into(), number);
        self.given.push((number, name.into()));
        self.given_away.insert(number);
        Some(number)
    }

    /// Returns the names with a number that is not the name itself.
    pub(super) fn assigned(&self) -> impl Iterator<Item = (u64, &str)> {
        let given = self.given.iter();
        given.map(|(number, name)| (*number, name.as_ref()))
    }

    fn next_free(&mut self) -> u64 {
        loop {
            self.full_up_to += 1;
            if self.taken.insert(self.full_up_to) {
                return self.full_up_to;
            }
        }
    }
}

/// Parses a name that is a number in plain notation: `7`, not `07` or `+7`.
fn own_number(name: &str) -> Option<u64> {
    let number: u64 = name.parse().ok()?;
    (number.to_string() == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_names_are_kept_and_numbers_are_unique() {
        let mut numbers = NameNumbers::default();
        let names = ["3", "ann", "bob", "2", "07", "ann", "1", "3"];
        let given: Vec<_> = names
            .map(|name| numbers.number_of(Some(name)).unwrap())
            .into();
        assert_eq!(given, [3, 1, 2, 4, 5, 1, 6, 3]);
        assert_eq!(numbers.number_of(None), None);
        let assigned: Vec<_> = numbers.assigned().collect();
        assert_eq!(
            assigned,
            [(1, "ann"), (2, "bob"), (4, "2"), (5, "07"), (6, "1")]
        );
    }
}
