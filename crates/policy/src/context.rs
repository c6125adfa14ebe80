//! The interface through which a policy acts: checked transitions, each of which emits an effect.

use std::ops::Deref;

use tollgate_model::{Credits, Instant, JobId, NodeId, NodeRange, Reason};

use crate::state::{Admission, ClusterState, HostPart, NodeTask, SharedStart, View};
use crate::timers::TimerTree;

/// An action or an answer that the caller must carry out. Small and `Copy`: a placement or the
/// shares of a node are read from the [`ClusterState`] that the effect names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Reports the job's admission state.
    Notify {
        /// The job.
        job: JobId,
        /// The notice.
        notice: Notice,
    },
    /// Starts the job on [`crate::JobSlot::placement`].
    Start {
        /// The job.
        job: JobId,
        /// The attempt that begins.
        attempt: u32,
    },
    /// The tasks of the node, and of all nodes that it stands for, progress at other rates from now on.
    SharesChanged {
        /// The node.
        node: NodeId,
    },
    /// A node that stood for others no longer stands for all of them. The tasks of those that are left go on
    /// as before.
    GroupParted {
        /// The node that has stood for them.
        from: NodeId,
        /// The node that stands for them from now on.
        to: NodeId,
    },
    /// The first job of a group of waiting ones has a slot of its own from now on.
    Split {
        /// The group, which has one job fewer.
        group: JobId,
        /// The job.
        job: JobId,
    },
    /// Kills the job's running tasks; their end is reported like any other.
    Kill {
        /// The job.
        job: JobId,
        /// The attempt to end.
        attempt: u32,
    },
    /// Books an amount of money.
    Book {
        /// The job.
        job: JobId,
        /// The reason for the booking.
        kind: BookingKind,
        /// The provider's revenue; negative where the provider pays.
        amount: Credits,
    },
    /// The job has ended; its slot is recycled after the pass.
    Closed {
        /// The job.
        job: JobId,
        /// The job's ending.
        ending: JobEnding,
    },
}

const _: () = assert!(size_of::<Effect>() <= 32, "effects are copied around a lot");

/// A notice about the admission of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The job is admitted at this price.
    Accepted {
        /// Maximum cost of the job.
        price: Credits,
    },
    /// The job is admitted at this price, without a promise of its deadline.
    Unpromised {
        /// Maximum cost of the job.
        price: Credits,
    },
    /// The job, which was admitted without a promise, has one now, at the price that it had.
    Promised {
        /// Maximum cost of the job.
        price: Credits,
    },
    /// The job waits; admission is decided at its start.
    Queued,
    /// The job is rejected.
    Rejected(Reason),
}

/// The reason for a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BookingKind {
    /// The cost of the job: the provider's price, or the user's bid.
    Charge,
    /// The provider's penalty for finishing the job late.
    Penalty,
}

/// The ending of a job that was admitted or queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnding {
    /// All tasks of the job ran to their end.
    Finished,
    /// The user cancelled the job.
    Cancelled,
    /// The job's nodes vanished, and the job must not be retried.
    Lost,
}

/// A description of a violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvariantViolation(pub String);

/// A policy's handle on the state: it reads like a [`View`], and each action is checked, applied at
/// once, and recorded as an [`Effect`].
#[derive(Debug)]
pub struct PolicyContext<'a> {
    state: &'a mut ClusterState,
    alarms: &'a mut PolicyAlarms,
    effects: &'a mut Vec<Effect>,
    now: Instant,
}

/// The instants at which the gate must run the policy again, and whether invariants are checked.
#[derive(Clone, Debug, Default)]
pub struct PolicyAlarms {
    /// One alarm per node: when its shares must be recomputed.
    pub nodes: TimerTree,
    /// The latest instant for the next pass, if a pass is wanted.
    pub pass: Option<Instant>,
    /// True if the planned starts of jobs are not read: a policy may leave out reservations that cannot
    /// make a difference now.
    pub omits_reservations: bool,
    /// True if the expensive invariant checks run.
    pub checking: bool,
    /// The first violation found.
    pub violation: Option<InvariantViolation>,
}

impl<'a> PolicyContext<'a> {
    /// Creates a handle on `state` at `now`.
    pub fn new(
        state: &'a mut ClusterState,
        clock: &'a mut PolicyAlarms,
        effects: &'a mut Vec<Effect>,
        now: Instant,
    ) -> Self {
        Self {
            state,
            alarms: clock,
            effects,
            now,
        }
    }

    /// Returns a read-only view of the present state.
    pub fn view(&self) -> View<'_> {
        View::new(self.state, self.now)
    }

    /// Returns the present instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Gives the first job of a waiting group a slot of its own, and returns it; a job that is alone has it already.
    /// A policy that has the group in its index takes it out before, and puts both in.
    pub fn split_first(&mut self, group: JobId) -> JobId {
        if self.state.job(group).count == 1 {
            return group;
        }
        let job = self.state.split(group, 1);
        self.effects.push(Effect::Split { group, job });
        job
    }

    /// Admits a queued job that will start later, at `price` if it was not admitted before. `due` is the
    /// instant by which its end is planned, if that is not its deadline.
    pub fn accept(&mut self, job: JobId, price: Credits, due: Option<Instant>) {
        let before = self.state.job(job).accepted;
        self.state.accept(job, self.now, price, due);
        match before {
            None => self.notify(job, Notice::Accepted { price }),
            Some(Admission {
                price,
                is_promised: false,
                ..
            }) => self.notify(job, Notice::Promised { price }),
            Some(_) => {}
        }
    }

    /// Notes that the promise of a job, which was just accepted, counts on hosts that are not there yet.
    pub fn note_expected(&mut self, job: JobId) {
        self.state.note_expected(job);
    }

    /// Admits a queued job, whose deadline is not promised, at `price` if it was not admitted before. `due`
    /// is the instant by which its end is planned, if there is one.
    pub fn admit_unpromised(&mut self, job: JobId, price: Credits, due: Option<Instant>) {
        let new = self.state.job(job).accepted.is_none();
        self.state.admit_unpromised(job, self.now, price, due);
        if new {
            self.notify(job, Notice::Unpromised { price });
        }
    }

    /// Rejects a queued job.
    pub fn reject(&mut self, job: JobId, reason: Reason) {
        self.state.close(job);
        self.notify(job, Notice::Rejected(reason));
    }

    /// Emits a notice about a job.
    pub fn notify(&mut self, job: JobId, notice: Notice) {
        self.effects.push(Effect::Notify { job, notice });
    }

    /// Starts a queued job exclusively on the lowest idle nodes, and admits it at `price` if it was
    /// not admitted before.
    pub fn start(&mut self, job: JobId, price: Credits) {
        let new = self.state.job(job).accepted.is_none();
        self.state.start_exclusive(job, self.now, price);
        self.announce_start(job, price, new);
    }

    /// Starts a queued job exclusively on the lowest idle nodes of these hosts, with the devices and licences
    /// that it needs. Admits it at `price` if it was not admitted before.
    pub fn start_on_hosts(&mut self, job: JobId, price: Credits, parts: &[HostPart]) {
        let new = self.state.job(job).accepted.is_none();
        self.state.start_on_hosts(job, self.now, price, parts);
        self.announce_start(job, price, new);
    }

    /// Starts a held job exclusively on these nodes, free of charge. Returns false, and changes nothing, if
    /// one of them is not idle.
    pub fn start_held(&mut self, job: JobId, nodes: &[NodeRange]) -> bool {
        if !self.state.are_idle(nodes) {
            return false;
        }
        let new = self.state.job(job).accepted.is_none();
        self.state.start_held(job, nodes, self.now, Credits::ZERO);
        self.announce_start(job, Credits::ZERO, new);
        true
    }

    /// Starts a held job in the place of one that has just ended on these nodes, beside the tasks that run
    /// there, free of charge; else as [`PolicyContext::start_shared`]. Returns None, and changes nothing, if
    /// one of them is down or has no room.
    pub fn start_held_shared(&mut self, job: JobId, nodes: &[NodeRange]) -> Option<SharedStart> {
        let spec = self.state.job(job).spec;
        let nodes: Vec<NodeId> = nodes.iter().flat_map(|range| range.nodes()).collect();
        let takes = |&node: &NodeId| self.is_up(node) && self.has_place(node, &spec);
        if !nodes.iter().all(takes) {
            return None;
        }
        self.state.set_held(job, false);
        Some(self.start_beside(job, &nodes, Credits::ZERO))
    }

    /// Starts a queued job on these nodes beside the tasks that run there. The shares of the returned leads
    /// must then be set, and the policy's index must learn of groups that were parted.
    pub fn start_shared(&mut self, job: JobId, nodes: &[NodeId], price: Credits) -> SharedStart {
        let spec = self.state.job(job).spec;
        for &node in nodes {
            assert!(self.state.has_capacity(node, &spec), "{node:?} has no room");
        }
        self.start_beside(job, nodes, price)
    }

    fn start_beside(&mut self, job: JobId, nodes: &[NodeId], price: Credits) -> SharedStart {
        let new = self.state.job(job).accepted.is_none();
        let started = self.state.start_shared(job, nodes, self.now, price);
        for &(from, to) in &started.parted {
            let alarm = self.alarms.nodes.at(from.index());
            self.alarms.nodes.set(to.index(), alarm);
            self.effects.push(Effect::GroupParted { from, to });
        }
        self.announce_start(job, price, new);
        started
    }

    fn announce_start(&mut self, job: JobId, price: Credits, new: bool) {
        if new {
            self.notify(job, Notice::Accepted { price });
        }
        let attempt = self.state.job(job).attempt;
        self.effects.push(Effect::Start { job, attempt });
    }

    /// Sets the share of each task of a node, in order. The shares hold from now until something
    /// changes on the node, a deadline passes, or a task has done the seconds of work that are its
    /// `mark`.
    pub fn set_shares(
        &mut self,
        node: NodeId,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) {
        let next = self.state.set_shares(node, self.now, share, mark);
        self.alarms.nodes.set(node.index(), next);
        self.effects.push(Effect::SharesChanged { node });
    }

    /// Sets the rates of the jobs on `nodes`, all those whose shares were set since the last call, to those of
    /// their slowest tasks. A node that stands for others since a group was parted is one of them, too.
    /// Returns the nodes on which a rate changed; for each, [`PolicyContext::renew_alarm`] must follow.
    pub fn couple_rates(&mut self, nodes: &[NodeId]) -> Vec<NodeId> {
        self.state.couple_rates(nodes, self.now)
    }

    /// Computes anew when the shares of a node must be set again, after its rates changed. `mark` is that
    /// of [`PolicyContext::set_shares`].
    pub fn renew_alarm(&mut self, node: NodeId, mark: impl Fn(&NodeTask) -> f64) {
        let next = self.state.next_change(node, mark);
        self.alarms.nodes.set(node.index(), next);
        self.effects.push(Effect::SharesChanged { node });
    }

    /// Returns true if the reservation of every job must be recorded at each pass, because it may be
    /// read.
    pub fn needs_reservations(&self) -> bool {
        !self.alarms.omits_reservations
    }

    /// Records the instant at which processors are reserved for a queued job.
    pub fn note_reservation(&mut self, job: JobId, at: Instant) {
        self.state.set_planned_start(job, at);
    }

    /// Requests a pass at `at`, which is later than now, even if no event happens then.
    pub fn request_pass_at(&mut self, at: Instant) {
        assert!(at > self.now, "a wake at {at} is asked for at {}", self.now);
        self.alarms.pass = Some(self.alarms.pass.map_or(at, |pass| pass.min(at)));
    }

    /// Runs an expensive invariant check if such checks are enabled; the first violation is kept
    /// for the gate.
    pub fn verify(&mut self, check: impl FnOnce(View<'_>) -> Result<(), InvariantViolation>) {
        if self.alarms.checking && self.alarms.violation.is_none() {
            self.alarms.violation = check(View::new(self.state, self.now)).err();
        }
    }
}

impl Deref for PolicyContext<'_> {
    type Target = ClusterState;

    fn deref(&self) -> &ClusterState {
        self.state
    }
}
