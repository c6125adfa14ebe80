//! Users and queues as numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Names in order of their first appearance. The number of a name is its position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub(crate) struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// The number that stands for a name that was never seen.
const UNKNOWN: u32 = u32::MAX;

impl Names {
    /// Returns the number of a name, a new one if the name is new. None for an empty name.
    pub(crate) fn number(&mut self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }

    /// Returns the number of a name, or one that no name has.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let known = self.numbers.get(name).copied();
        (!name.is_empty()).then(|| known.unwrap_or(UNKNOWN))
    }

    /// Returns the name with a number. Empty if none has it.
    pub(crate) fn name(&self, number: Option<u32>) -> &str {
        let name = number.and_then(|number| self.names.get(number as usize));
        name.map_or("", String::as_str)
    }

    /// Returns all names.
    pub(crate) fn all(&self) -> &[String] {
        &self.names
    }
}

impl From<Vec<String>> for Names {
    fn from(names: Vec<String>) -> Self {
        let mut numbered = Self::default();
        for name in names {
            numbered.number(&name);
        }
        numbered
    }
}

impl From<Names> for Vec<String> {
    fn from(numbered: Names) -> Self {
        numbered.names
    }
}
