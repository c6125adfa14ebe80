//! The numbers of users, executables, queues and accounts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, SplitAspect};

use crate::class_key::ClassKey;

/// Names in order of their first appearance. The number of a name is its position.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<T>", into = "Vec<T>")]
pub struct NameIds<T: Ord + Clone> {
    names: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T: Ord + Clone> NameIds<T> {
    /// Returns the number of a name, which is added if it is new.
    pub fn id_for(&mut self, name: T) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer names than memory has room for");
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// Returns the number of a name. None if no record has it.
    pub fn find(&self, name: &T) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the name with a number. None if there is none.
    pub fn name(&self, number: u32) -> Option<&T> {
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
pub struct ForecastNames {
    /// The keys that the jobs of a class share. Empty means the user.
    pub by: Vec<ClassKey>,
    /// The values of the keys for each class. None if a record does not give the value.
    pub classes: NameIds<Vec<Option<String>>>,
    /// The executables.
    pub executables: NameIds<String>,
    /// The queues.
    pub queues: NameIds<String>,
    /// The accounts.
    pub accounts: NameIds<String>,
}

impl ForecastNames {
    /// Creates names for classes with these keys.
    pub fn new(by: &[ClassKey]) -> Self {
        Self {
            by: by.to_vec(),
            ..Self::default()
        }
    }

    /// Returns the keys of the classes.
    pub fn keys(&self) -> &[ClassKey] {
        if self.by.is_empty() {
            &[ClassKey::User]
        } else {
            &self.by
        }
    }

    /// Returns the value of each key for the jobs of a class.
    pub fn class(&self, class: ClassId) -> &[Option<String>] {
        self.classes.name(class.0).map_or(&[], Vec::as_slice)
    }

    /// Returns the names of an aspect by which classes are split.
    pub fn aspect(&self, aspect: SplitAspect) -> &NameIds<String> {
        match aspect {
            SplitAspect::Executable => &self.executables,
            SplitAspect::Queue => &self.queues,
            SplitAspect::Account => &self.accounts,
        }
    }

    /// Describes the rule of a class, or of a part of the class if the class is split.
    pub fn rule(&self, class: ClassId, split: Option<SplitAspect>, part: Option<u32>) -> String {
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
