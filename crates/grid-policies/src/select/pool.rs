//! The computers as a batch system sees them.

use tollgate_model::{Instant, NodeId, Power, Span};

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
    /// Free computers in arbitrary order.
    free: Vec<NodeId>,
    occupancy: Vec<ComputerOccupancy>,
    stays_awake: Span,
}

/// The occupancy of a computer.
#[derive(Clone, Copy, Debug)]
struct ComputerOccupancy {
    /// Index of the computer in `free`; [`TAKEN`] if it is not free.
    place: u32,
    /// The instant at which the computer was freed or taken; None if it was never used.
    since: Option<Instant>,
}

const TAKEN: u32 = u32::MAX;

impl ComputerPool {
    /// Creates a pool of computers that are all free and asleep; an unused one stays awake for
    /// `stays_awake`.
    pub fn new(computers: Vec<CampusComputer>, stays_awake: Span) -> Self {
        let mut groups: Vec<ComputerGroup> = Vec::new();
        for (node, computer) in (0..).map(NodeId).zip(&computers) {
            let same = |group: &&mut ComputerGroup| {
                group.cluster == computer.cluster && group.power == computer.power
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.members.push(node),
                None => groups.push(ComputerGroup {
                    cluster: computer.cluster,
                    power: computer.power,
                    members: vec![node],
                }),
            }
        }
        let nodes = 0..computers.len() as u32;
        let unused = |place| ComputerOccupancy { place, since: None };
        Self {
            free: nodes.clone().map(NodeId).collect(),
            occupancy: nodes.map(unused).collect(),
            computers,
            groups,
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
        self.occupancy[node.index()].place != TAKEN
    }

    /// Returns all groups of equal computers.
    pub fn groups(&self) -> &[ComputerGroup] {
        &self.groups
    }

    /// Returns the instant at which a free computer was last left or a taken one was taken; None if
    /// it was never used.
    pub fn since(&self, node: NodeId) -> Option<Instant> {
        self.occupancy[node.index()].since
    }

    /// Returns true if a free computer is still awake at `now`.
    pub fn is_awake(&self, node: NodeId, now: Instant) -> bool {
        self.since(node)
            .is_some_and(|since| now.since(since) < self.stays_awake)
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
        let taken = ComputerOccupancy {
            place: TAKEN,
            since: Some(now),
        };
        let place = std::mem::replace(&mut self.occupancy[node.index()], taken).place;
        self.free.swap_remove(place as usize);
        if let Some(moved) = self.free.get(place as usize) {
            self.occupancy[moved.index()].place = place;
        }
    }

    /// Releases a taken computer.
    ///
    /// # Panics
    /// If the computer was not taken.
    pub fn release(&mut self, node: NodeId, now: Instant) {
        assert!(!self.is_free(node), "computer {} is freed twice", node.0);
        self.occupancy[node.index()] = ComputerOccupancy {
            place: self.free.len() as u32,
            since: Some(now),
        };
        self.free.push(node);
    }
}
