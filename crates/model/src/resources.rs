//! Generic resources that are counted beside processors: devices of a host, licences of a site.

use serde::{Deserialize, Serialize};

use crate::Instant;

/// Maximum number of resources that a site knows by name.
pub const MAX_RESOURCES: usize = 8;

/// Maximum number of devices of a kind on a host.
pub const MAX_DEVICES: u8 = 64;

/// A generic resource, as an index below [`MAX_RESOURCES`]. The site gives each name its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceIndex(pub u8);

impl ResourceIndex {
    /// Returns every index.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MAX_RESOURCES as u8).map(Self)
    }
}

/// A number of units of each resource.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ResourceCounts([u8; MAX_RESOURCES]);

impl ResourceCounts {
    /// No units of anything.
    pub const NONE: Self = Self([0; MAX_RESOURCES]);

    /// Returns the number of units of a resource.
    pub fn of(&self, index: ResourceIndex) -> u8 {
        self.0[usize::from(index.0)]
    }

    /// Returns the counts with `count` units of one resource instead.
    #[must_use]
    pub fn with(mut self, index: ResourceIndex, count: u8) -> Self {
        self.0[usize::from(index.0)] = count;
        self
    }

    /// Returns true if there is no unit of anything.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns true if there are at least as many units of each resource as `needed`.
    pub fn covers(&self, needed: &Self) -> bool {
        self.0
            .iter()
            .zip(&needed.0)
            .all(|(have, need)| have >= need)
    }

    /// Returns the sum, at most 255 of each.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        self.combine(other, u8::saturating_add)
    }

    /// Returns the difference, at least 0 of each.
    #[must_use]
    pub fn minus(self, other: &Self) -> Self {
        self.combine(other, u8::saturating_sub)
    }

    /// Returns how many times `each` is in it; None if `each` has no unit of anything.
    pub fn times(&self, each: &Self) -> Option<u32> {
        let parts = self.0.iter().zip(&each.0).filter(|(_, each)| **each > 0);
        parts.map(|(have, each)| u32::from(have / each)).min()
    }

    /// Returns the units of the resources of which `is_kept` is true.
    #[must_use]
    pub fn filter(self, is_kept: impl Fn(ResourceIndex) -> bool) -> Self {
        ResourceIndex::all().fold(Self::NONE, |kept, index| match is_kept(index) {
            true => kept.with(index, self.of(index)),
            false => kept,
        })
    }

    /// Returns the resources with at least one unit, and the number of their units.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceIndex, u8)> + '_ {
        let all = ResourceIndex::all().map(|index| (index, self.of(index)));
        all.filter(|(_, count)| *count > 0)
    }

    fn combine(mut self, other: &Self, combine: impl Fn(u8, u8) -> u8) -> Self {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = combine(*own, *other);
        }
        self
    }
}

/// The name of a host, as an index. The site gives each name its index; hosts can share a name.
///
/// A name is not one more resource of its host: a site has more hosts than [`MAX_RESOURCES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostNameIndex(pub u32);

impl HostNameIndex {
    /// The index of the names that no host has.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// A job's needs of the place where it runs, beside processors and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlacementNeeds {
    /// Whether all its processors have to be on one host.
    pub one_host: bool,
    /// The name of the host on which it has to run, if only hosts of one name will do. Such a job has all
    /// its processors on one host.
    pub host: Option<HostNameIndex>,
    /// Whether it runs only on hosts without users, where no task has to give way.
    pub dedicated: bool,
    /// Whether it runs only on hosts that are set aside. Other jobs do not run there.
    pub set_aside: bool,
    /// Units that it takes while it runs. A job that takes devices of a host runs on that host alone.
    pub units: ResourceCounts,
}

impl PlacementNeeds {
    /// Returns true if the job needs nothing beside processors and memory.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The resources that a host offers beside processors and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTerms {
    /// The instant by which everything on the host has to have ended; None if it stays.
    pub closes: Option<Instant>,
    /// Its devices.
    pub devices: ResourceCounts,
    /// Its name; None if no job can ask for it.
    pub name: Option<HostNameIndex>,
    /// Whether people work at it: tasks there give way when one of them comes.
    pub is_desktop: bool,
    /// Whether only jobs run there that ask for hosts that are set aside.
    pub is_set_aside: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: ResourceIndex = ResourceIndex(0);
    const LICENCE: ResourceIndex = ResourceIndex(3);

    #[test]
    fn counts_are_compared_and_combined_by_resource() {
        let two = ResourceCounts::NONE.with(GPU, 2).with(LICENCE, 5);
        let one = ResourceCounts::NONE.with(GPU, 1);
        assert!(two.covers(&one) && !one.covers(&two));
        assert!(!one.covers(&ResourceCounts::NONE.with(LICENCE, 1)));
        assert_eq!(two.minus(&one).of(GPU), 1);
        assert_eq!(one.minus(&two), ResourceCounts::NONE);
        assert_eq!(two.plus(&one).of(GPU), 3);
        assert_eq!(two.times(&one.with(LICENCE, 2)), Some(2));
        assert_eq!(two.times(&ResourceCounts::NONE), None);
        let licences = two.filter(|index| index == LICENCE);
        assert_eq!(licences.iter().collect::<Vec<_>>(), [(LICENCE, 5)]);
    }
}
