//! What a batch system sees of the computers.

use tollgate_model::{Instant, NodeId, Power, Span};

/// A computer on the campus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CampusComputer {
    /// The cluster it stands in, counted from 0.
    pub cluster: u32,
    /// What it draws.
    pub power: Power,
}

/// Computers of one cluster that draw the same: nothing tells them apart but who was there last.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputerGroup {
    /// The cluster.
    pub cluster: u32,
    /// What each of them draws.
    pub power: Power,
    /// The computers, ascending; at least one.
    pub members: Vec<NodeId>,
}

/// All computers, and which of them are free: nobody sits there and no task runs.
#[derive(Clone, Debug)]
pub struct ComputerPool {
    computers: Vec<CampusComputer>,
    groups: Vec<ComputerGroup>,
    group_of: Vec<u32>,
    /// By group: the free computers, those left last at the end.
    free_by_recency: Vec<Vec<NodeId>>,
    /// Free computers in no order that means anything.
    free: Vec<NodeId>,
    /// Where a computer stands in `free`; [`TAKEN`] if it does not.
    place: Vec<u32>,
    /// Since when it is free, or taken; none if nobody was ever there.
    since: Vec<Option<Instant>>,
    stays_awake: Span,
}

const TAKEN: u32 = u32::MAX;

impl ComputerPool {
    /// Computers that are all free and asleep; left alone, one stays awake for `stays_awake`.
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
            free_by_recency: groups.iter().map(|group| group.members.clone()).collect(),
            free: (0..len as u32).map(NodeId).collect(),
            place: (0..len as u32).collect(),
            since: vec![None; len],
            computers,
            groups,
            group_of,
            stays_awake,
        }
    }

    /// Every computer, by its id.
    pub fn computers(&self) -> &[CampusComputer] {
        &self.computers
    }

    /// The free computers, in no order that means anything - but the same on every run.
    pub fn free(&self) -> &[NodeId] {
        &self.free
    }

    /// Whether a computer is free.
    pub fn is_free(&self, node: NodeId) -> bool {
        self.place[node.index()] != TAKEN
    }

    /// All groups of computers that are alike.
    pub fn groups(&self) -> &[ComputerGroup] {
        &self.groups
    }

    /// The free computer of a group that was left last, if one is free.
    pub fn last_freed(&self, group: usize) -> Option<NodeId> {
        self.free_by_recency[group].last().copied()
    }

    /// When whoever was there last left a free computer, or came to a taken one; none if nobody
    /// ever did.
    pub fn since(&self, node: NodeId) -> Option<Instant> {
        self.since[node.index()]
    }

    /// Whether a free computer is still awake at `now`.
    pub fn is_awake(&self, node: NodeId, now: Instant) -> bool {
        self.since[node.index()].is_some_and(|since| now.since(since) < self.stays_awake)
    }

    /// How long a computer stays awake when it is left alone.
    pub const fn stays_awake(&self) -> Span {
        self.stays_awake
    }

    /// Takes a free computer.
    ///
    /// # Panics
    /// If it is not free: who takes computers must know.
    pub fn take(&mut self, node: NodeId, now: Instant) {
        assert!(self.is_free(node), "computer {} is taken twice", node.0);
        let place = self.place[node.index()] as usize;
        self.free.swap_remove(place);
        if let Some(moved) = self.free.get(place) {
            self.place[moved.index()] = place as u32;
        }
        self.place[node.index()] = TAKEN;
        let left = &mut self.free_by_recency[self.group_of[node.index()] as usize];
        if let Some(place) = left.iter().rposition(|&other| other == node) {
            left.remove(place);
        }
        self.since[node.index()] = Some(now);
    }

    /// Gives a taken computer back.
    ///
    /// # Panics
    /// If it was not taken.
    pub fn release(&mut self, node: NodeId, now: Instant) {
        assert!(!self.is_free(node), "computer {} is freed twice", node.0);
        self.place[node.index()] = self.free.len() as u32;
        self.free.push(node);
        self.free_by_recency[self.group_of[node.index()] as usize].push(node);
        self.since[node.index()] = Some(now);
    }
}
