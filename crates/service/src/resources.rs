//! The names of hosts, and of generic resources: devices of hosts, licences of the site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{
    EvictionCause, HostNameIndex, Instant, MAX_RESOURCES, ResourceCounts, ResourceIndex,
};

/// Units of resources by name; at least 1 of each.
pub type NamedResources = BTreeMap<String, u8>;

/// The resources that a host offers beside processors and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOffer {
    /// The name by which jobs ask for the host.
    pub name: String,
    /// The instant by which everything there has to have ended; None if the host stays.
    pub closes: Option<Instant>,
    /// Whether people work at it, so that tasks give way there.
    pub is_desktop: bool,
    /// Why it is in use, so that no task starts there now; None if it is free.
    pub in_use: Option<EvictionCause>,
    /// Its devices. A site knows at most [`MAX_RESOURCES`] names; more are not offered.
    pub devices: NamedResources,
}

/// The names of the site's resources, in the order of their indices. A name keeps its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceNames(Vec<String>);

impl ResourceNames {
    /// Returns the index of a name, if it is known.
    pub fn index_of(&self, name: &str) -> Option<ResourceIndex> {
        let at = self.0.iter().position(|known| known == name)?;
        u8::try_from(at).ok().map(ResourceIndex)
    }

    /// Returns the name of a resource.
    pub fn name_of(&self, index: ResourceIndex) -> Option<&str> {
        self.0.get(usize::from(index.0)).map(String::as_str)
    }

    /// Returns the index of a name, which is known from then on; None if there are too many names.
    pub(crate) fn learn(&mut self, name: &str) -> Option<ResourceIndex> {
        if let Some(known) = self.index_of(name) {
            return Some(known);
        }
        if self.0.len() == MAX_RESOURCES {
            return None;
        }
        self.0.push(name.to_owned());
        self.index_of(name)
    }

    /// Returns the counts of what is named, without the names that are not known.
    pub fn counts_of(&self, named: &NamedResources) -> ResourceCounts {
        let known = named
            .iter()
            .filter_map(|(name, &count)| Some((self.index_of(name)?, count)));
        known.fold(ResourceCounts::NONE, |counts, (index, count)| {
            counts.with(index, count)
        })
    }

    /// Returns the names of counts.
    pub fn named(&self, counts: &ResourceCounts) -> NamedResources {
        let named = counts
            .iter()
            .filter_map(|(index, count)| Some((self.name_of(index)?.to_owned(), count)));
        named.collect()
    }
}

/// The names of the hosts that ever were there, in the order of their indices. A name keeps its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNames(Vec<String>);

impl HostNames {
    /// Returns the index of a name; [`HostNameIndex::UNKNOWN`] if no host ever had it.
    pub fn index_of(&self, name: &str) -> HostNameIndex {
        let at = self.0.iter().position(|known| known == name);
        let at = at.and_then(|at| u32::try_from(at).ok());
        at.map_or(HostNameIndex::UNKNOWN, HostNameIndex)
    }

    /// Returns the name of an index, if a host ever had it.
    pub fn name_of(&self, index: HostNameIndex) -> Option<&str> {
        let at = usize::try_from(index.0).ok()?;
        self.0.get(at).map(String::as_str)
    }

    /// Returns the index of a name, which is known from then on.
    pub(crate) fn learn(&mut self, name: &str) -> HostNameIndex {
        if self.index_of(name) == HostNameIndex::UNKNOWN {
            self.0.push(name.to_owned());
        }
        self.index_of(name)
    }
}
