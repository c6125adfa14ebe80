//! Which number stands for which user, executable, ..

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, SplitAspect};

use super::parse::ClassKey;

/// Names in order of their first appearance; a name's number is its place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<T>", into = "Vec<T>")]
pub(super) struct NameIds<T: Ord + Clone> {
    names: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T: Ord + Clone> NameIds<T> {
    pub(super) fn id_for(&mut self, name: T) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer names than memory has room for");
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    pub(super) fn find(&self, name: &T) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, number: u32) -> Option<&T> {
        self.names.get(number as usize)
    }
}

impl<T: Ord + Clone> From<Vec<T>> for NameIds<T> {
    fn from(names: Vec<T>) -> Self {
        let mut numbered = Self {
            names: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for name in names {
            numbered.id_for(name);
        }
        numbered
    }
}

impl<T: Ord + Clone> From<NameIds<T>> for Vec<T> {
    fn from(numbered: NameIds<T>) -> Self {
        numbered.names
    }
}

/// The names behind classes and contexts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ForecastNames {
    /// What the jobs of a class have in common; empty is the user.
    pub(super) by: Vec<ClassKey>,
    /// What they have of it; none where a record does not say.
    pub(super) classes: NameIds<Vec<Option<String>>>,
    pub(super) executables: NameIds<String>,
    pub(super) queues: NameIds<String>,
    pub(super) accounts: NameIds<String>,
}

impl ForecastNames {
    /// Classes made by these keys.
    pub(super) fn new(by: &[ClassKey]) -> Self {
        Self {
            by: by.to_vec(),
            ..Self::default()
        }
    }

    /// What makes a class.
    pub(super) fn keys(&self) -> &[ClassKey] {
        if self.by.is_empty() {
            &[ClassKey::User]
        } else {
            &self.by
        }
    }

    /// What the jobs of a class have of each key.
    pub(super) fn class(&self, class: ClassId) -> &[Option<String>] {
        self.classes.name(class.0).map_or(&[], Vec::as_slice)
    }

    /// The names of an aspect by which classes are split.
    pub(super) fn aspect(&self, aspect: SplitAspect) -> &NameIds<String> {
        match aspect {
            SplitAspect::Executable => &self.executables,
            SplitAspect::Queue => &self.queues,
            SplitAspect::Account => &self.accounts,
        }
    }

    /// The rule of a class in words, of a part of it if it is split.
    pub(super) fn rule(
        &self,
        class: ClassId,
        split: Option<SplitAspect>,
        part: Option<u32>,
    ) -> String {
        let keys = self.keys().iter().zip(self.class(class));
        let mut words: Vec<String> = keys
            .map(|(key, value)| match value {
                Some(value) => format!("{key} {value}"),
                None => format!("no {key} given"),
            })
            .collect();
        match (split, part) {
            (Some(aspect), Some(part)) => {
                let name = self.aspect(aspect).name(part);
                words.push(format!("{aspect} {}", name.map_or("?", String::as_str)));
            }
            (Some(aspect), None) => words.push(format!("any other {aspect}")),
            (None, _) => {}
        }
        words.join(", ")
    }
}
