//! The free computers of each group in order of their release.

use tollgate_model::NodeId;

use super::pool::ComputerPool;

/// A list for each group of computers: a computer is added first, and removed from any place, in
/// constant time.
#[derive(Clone, Debug)]
pub(super) struct RecencyLists {
    /// By computer: its neighbours. Behind the computers one more by group, the head of its list, which is
    /// linked to the first and the last computer, or to itself if the list is empty.
    links: Vec<RecencyLink>,
    /// By computer: its group.
    group_of: Vec<u32>,
}

/// The neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct RecencyLink {
    newer: u32,
    older: u32,
}

impl RecencyLists {
    /// Creates lists of the free computers of a pool. One that was left later comes first, of those left together the
    /// one with the highest index.
    pub(super) fn new(pool: &ComputerPool) -> Self {
        let (groups, computers) = (pool.groups(), pool.computers().len());
        let alone = |place: usize| RecencyLink {
            newer: place as u32,
            older: place as u32,
        };
        let mut lists = Self {
            links: (0..computers + groups.len()).map(alone).collect(),
            group_of: vec![0; computers],
        };
        for (number, group) in (0..).zip(groups) {
            for node in &group.members {
                lists.group_of[node.index()] = number;
            }
            let members = group.members.iter().copied();
            let mut free: Vec<NodeId> = members.filter(|&node| pool.is_free(node)).collect();
            free.sort_by_key(|&node| pool.since(node));
            free.into_iter().for_each(|node| lists.push(node));
        }
        lists
    }

    /// Returns the computer that was added last to the list of a group and is still in it.
    pub(super) fn first(&self, group: usize) -> Option<NodeId> {
        let computers = self.group_of.len();
        let first = self.links[computers + group].older;
        ((first as usize) < computers).then_some(NodeId(first))
    }

    /// Adds a computer, which is in no list, to the list of its group.
    pub(super) fn push(&mut self, node: NodeId) {
        let head = self.group_of.len() + self.group_of[node.index()] as usize;
        let second = self.links[head].older;
        self.links[node.index()] = RecencyLink {
            newer: head as u32,
            older: second,
        };
        self.links[second as usize].newer = node.0;
        self.links[head].older = node.0;
    }

    /// Removes a computer from its list.
    pub(super) fn remove(&mut self, node: NodeId) {
        let RecencyLink { newer, older } = self.links[node.index()];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::CampusComputer;
    use proptest::prelude::*;
    use tollgate_model::{Power, Span, Watts};

    proptest! {
        #[test]
        fn first_is_the_last_added_of_those_left(changes in prop::collection::vec(0u32..8, 0..60)) {
            let power = Power { active: Watts(1.0), idle: Watts(1.0), asleep: Watts(1.0) };
            let computers = (0..8).map(|node| CampusComputer { cluster: node % 2, power });
            let pool = ComputerPool::new(computers.collect(), Span::ZERO);
            let mut lists = RecencyLists::new(&pool);
            let groups: Vec<Vec<NodeId>> = pool.groups().iter().map(|group| group.members.clone()).collect();
            let mut plain = groups;
            for change in changes {
                let (node, group) = (NodeId(change), change as usize % 2);
                match plain[group].iter().position(|known| *known == node) {
                    Some(place) => {
                        plain[group].remove(place);
                        lists.remove(node);
                    }
                    None => {
                        plain[group].push(node);
                        lists.push(node);
                    }
                }
                for (group, plain) in plain.iter().enumerate() {
                    prop_assert_eq!(lists.first(group), plain.last().copied());
                }
            }
        }
    }
}
