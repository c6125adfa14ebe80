//! How a policy acts: through checked transitions that leave an effect each.

use std::ops::Deref;

use tollgate_model::{Credits, Instant, JobId, NodeId, Reason};

use crate::state::{ClusterState, NodeTask, View};
use crate::timers::TimerTree;

/// What the world outside must do or say. Small and `Copy`: a placement or the shares of a node
/// are read from the [`ClusterState`] that the effect names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// The job is told where it stands.
    Notify {
        /// Whom it concerns.
        job: JobId,
        /// What it is told.
        notice: Notice,
    },
    /// Run the job on [`crate::JobSlot::placement`].
    Start {
        /// Whom it concerns.
        job: JobId,
        /// The try that begins.
        attempt: u32,
    },
    /// The tasks of the node progress at other rates from now on.
    SharesChanged {
        /// Where.
        node: NodeId,
    },
    /// End what runs of the job; the end is reported like any other.
    Kill {
        /// Whom it concerns.
        job: JobId,
        /// The try to end.
        attempt: u32,
    },
    /// Money changes hands.
    Book {
        /// Whom it concerns.
        job: JobId,
        /// What for.
        kind: BookingKind,
        /// How much the provider gets; negative where it pays.
        amount: Credits,
    },
    /// Nothing more will happen to the job; its slot is recycled after the pass.
    Closed {
        /// Whom it concerns.
        job: JobId,
        /// How it ended.
        ending: JobEnding,
    },
}

const _: () = assert!(size_of::<Effect>() <= 32, "effects are copied around a lot");

/// What a job is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It is let in, at this price.
    Accepted {
        /// The most it will cost.
        price: Credits,
    },
    /// It waits; whether it is let in is decided at its start.
    Queued,
    /// It is kept out.
    Rejected(Reason),
}

/// What money is booked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BookingKind {
    /// What the job costs: the provider's price, or the user's bid.
    Charge,
    /// What the provider loses for finishing it late.
    Penalty,
}

/// How a job ended that was let in or was still waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnding {
    /// All its tasks ran to their end.
    Finished,
    /// Its user took it back.
    Cancelled,
    /// What it ran on vanished, and it may not be tried again.
    Lost,
}

/// Something that must never happen, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvariantViolation(pub String);

/// The hand of a policy: reads like a [`View`], and each act is checked, applied at once, and
/// left behind as an [`Effect`].
#[derive(Debug)]
pub struct PolicyContext<'a> {
    state: &'a mut ClusterState,
    alarms: &'a mut PolicyAlarms,
    effects: &'a mut Vec<Effect>,
    now: Instant,
}

/// When the gate must look again, and whether it looks hard.
#[derive(Clone, Debug, Default)]
pub struct PolicyAlarms {
    /// One alarm a node: when its shares must be set anew.
    pub nodes: TimerTree,
    /// When the next pass is wanted at the latest.
    pub pass: Option<Instant>,
    /// Verify what is too dear to verify always.
    pub checking: bool,
    /// The first thing that was found wrong.
    pub violation: Option<InvariantViolation>,
}

impl<'a> PolicyContext<'a> {
    /// A hand on `state` at `now`.
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

    /// The present state, to read.
    pub fn view(&self) -> View<'_> {
        View::new(self.state, self.now)
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Lets a queued job in that will start later.
    pub fn accept(&mut self, job: JobId, price: Credits) {
        self.state.accept(job, self.now, price);
        self.notify(job, Notice::Accepted { price });
    }

    /// Keeps a queued job out.
    pub fn reject(&mut self, job: JobId, reason: Reason) {
        self.state.close(job);
        self.notify(job, Notice::Rejected(reason));
    }

    /// Tells a job where it stands.
    pub fn notify(&mut self, job: JobId, said: Notice) {
        self.effects.push(Effect::Notify { job, notice: said });
    }

    /// Starts a queued job on the lowest idle nodes, all to itself, and lets it in at `price` if
    /// it was not let in before.
    pub fn start(&mut self, job: JobId, price: Credits) {
        let new = self.state.job(job).accepted.is_none();
        self.state.start_exclusive(job, self.now, price);
        self.announce_start(job, price, new);
    }

    /// Starts a queued job on these nodes beside what runs there. The gate then asks the policy
    /// for the shares of each of them.
    pub fn start_shared(&mut self, job: JobId, nodes: &[NodeId], price: Credits) {
        let entry = self.state.job(job);
        let (new, spec) = (entry.accepted.is_none(), entry.spec);
        for &node in nodes {
            assert!(self.state.has_capacity(node, &spec), "{node:?} has no room");
        }
        self.state.start_shared(job, nodes, self.now, price);
        self.announce_start(job, price, new);
    }

    fn announce_start(&mut self, job: JobId, price: Credits, new: bool) {
        if new {
            self.notify(job, Notice::Accepted { price });
        }
        let attempt = self.state.job(job).attempt;
        self.effects.push(Effect::Start { job, attempt });
    }

    /// Sets the share of each task of a node, in order, from now until something changes there,
    /// a deadline passes, or a task has done the seconds of work that are its `mark`.
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

    /// Notes for when processors are reserved for a queued job.
    pub fn note_reservation(&mut self, job: JobId, at: Instant) {
        self.state.set_planned_start(job, at);
    }

    /// Asks for a pass at `at`, which is later than now, although nothing may happen then.
    pub fn request_pass_at(&mut self, at: Instant) {
        assert!(at > self.now, "a wake at {at} is asked for at {}", self.now);
        self.alarms.pass = Some(self.alarms.pass.map_or(at, |pass| pass.min(at)));
    }

    /// Verifies what is too dear to verify always; the first violation is kept for the gate.
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
