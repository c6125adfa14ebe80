//! The computers as a batch system sees them.

use tollgate_model::{Instant, NodeId, Power, Span};

use super::recency_lists::RecencyLists;

/// A computer on the campus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CampusComputer {
    /// The cluster of the computer, counted from 0.
    pub cluster: u32,
    /// The computer's power consumption.
    pub power: Power,
}

/// Computers of one cluster with equal power: they differ only in when they were last used.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputerGroup {
    /// The cluster.
    pub cluster: u32,
    /// The power of each computer.
    pub power: Power,
    /// The computers, ascending; at least one.
    pub members: Vec<NodeId>,
}

/// All computers and their occupancy: a computer is free if no user and no task is there.
#[derive(Clone, Debug)]
pub struct ComputerPool {
    computers: Vec<CampusComputer>,
    groups: Vec<ComputerGroup>,
    group_of: Vec<u32>,
    /// By group: the free computers, the most recently left first.
    free_by_recency: RecencyLists,
    /// Free computers in arbitrary order.
    free: Vec<NodeId>,
    /// Index of a computer in `free`; [`TAKEN`] if it is not free.
    place: Vec<u32>,
    /// The instant at which the computer was freed or taken; None if it was never used.
    since: Vec<Option<Instant>>,
    stays_awake: Span,
}

const TAKEN: u32 = u32::MAX;

impl ComputerPool {
    /// Creates a pool of computers that are all free and asleep; an unused one stays awake for
    /// `stays_awake`.
    pub fn new(computers: Vec<CampusComputer>, stays_awake: Span) -> Self {
        let mut groups: Vec<ComputerGroup> = Vec::new();
        let mut group_of = Vec::with_capacity(computers.len());
        for (node, computer) in (0..).map(NodeId).zip(&computers) {
            let same = |group: &ComputerGroup| {
                group.cluster == computer.cluster && group.power == computer.power
            };
            let group = groups.iter().position(same).unwrap_or_else(|| {
                groups.push(ComputerGroup {
                    cluster: computer.cluster,
                    power: computer.power,
                    members: Vec::new(),
                });
                groups.len() - 1
            });
            groups[group].members.push(node);
            group_of.push(group as u32);
        }
        let len = computers.len();
        Self {
            free_by_recency: RecencyLists::new(&groups, len),
            free: (0..len as u32).map(NodeId).collect(),
            place: (0..len as u32).collect(),
            since: vec![None; len],
            computers,
            groups,
            group_of,
            stays_awake,
        }
    }

    /// Returns every computer, by its id.
    pub fn computers(&self) -> &[CampusComputer] {
        &self.computers
    }

    /// Returns the free computers, in an arbitrary order that is the same on every run.
    pub fn free(&self) -> &[NodeId] {
        &self.free
    }

    /// Returns true if a computer is free.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.place[node.index()] != TAKEN
    }

    /// Returns all groups of equal computers.
    pub fn groups(&self) -> &[ComputerGroup] {
        &self.groups
    }

    /// Returns the most recently left free computer of a group; None if no computer of the group is
    /// free.
    pub fn last_freed(&self, group: usize) -> Option<NodeId> {
        self.free_by_recency.first(group)
    }

    /// Returns the instant at which a free computer was last left or a taken one was taken; None if
    /// it was never used.
    pub fn since(&self, node: NodeId) -> Option<Instant> {
        self.since[node.index()]
    }

    /// Returns true if a free computer is still awake at `now`.
    pub fn is_awake(&self, node: NodeId, now: Instant) -> bool {
        self.since[node.index()].is_some_and(|since| now.since(since) < self.stays_awake)
    }

    /// Returns how long an unused computer stays awake.
    pub const fn stays_awake(&self) -> Span {
        self.stays_awake
    }

    /// Takes a free computer.
    ///
    /// # Panics
    /// If the computer is not free: the caller must know.
    pub fn take(&mut self, node: NodeId, now: Instant) {
        assert!(self.is_free(node), "computer {} is taken twice", node.0);
        let place = self.place[node.index()] as usize;
        self.free.swap_remove(place);
        if let Some(moved) = self.free.get(place) {
            self.place[moved.index()] = place as u32;
        }
        self.place[node.index()] = TAKEN;
        self.free_by_recency.remove(node);
        self.since[node.index()] = Some(now);
    }

    /// Releases a taken computer.
    ///
    /// # Panics
    /// If the computer was not taken.
    pub fn release(&mut self, node: NodeId, now: Instant) {
        assert!(!self.is_free(node), "computer {} is freed twice", node.0);
        self.place[node.index()] = self.free.len() as u32;
        self.free.push(node);
        let group = self.group_of[node.index()];
        self.free_by_recency.push(group as usize, node);
        self.since[node.index()] = Some(now);
    }
}
