//! A waiting job, with what the plan needs to know of it.

use tollgate_model::{
    Distribution, Instant, JobId, JobSpec, Otherwise, PlacementNeeds, Probability, Reason, Span,
    UserId,
};
use tollgate_policy::{JobSlot, View};

use super::settings::PlanParams;
use super::start_rule::RuleJob;
use super::timetable::JobGroup;
use super::{RESERVED, host_needs};

/// A promised job is hopeless once its chance to end in time falls below this; it then runs last.
const HOPELESS: Probability = Probability::new(0.1).expect("a probability");
/// The same for a job without a promise, which is dropped then if its user wants that.
const HOPELESS_UNPROMISED: Probability = Probability::new(0.05).expect("a probability");
/// The time after its submission at which a job without a deadline stands in the order of its user's jobs as if
/// it were due.
const AS_IF_DUE: Span = Span::from_secs(3600);
/// The part of a promise's slack that is never lent: its latest start is as much earlier. It halves what is
/// broken where the jobs of a batch are long together, and costs little.
const KEPT_SLACK: f64 = 0.25;

/// The standing of a waiting job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitingClass {
    /// Its deadline is promised.
    Promised,
    /// It has no promise, but a place in the plan, because it has waited for long.
    Placed,
    /// Its deadline is not promised; it runs where no promise suffers.
    Unpromised,
    /// It has no deadline; it runs where no promise suffers.
    Free,
    /// Its deadline is not promised; it waits for a promise and does not run without one.
    Waitlisted,
}

impl WaitingClass {
    /// Returns the standing of a waiting job.
    pub(super) fn of(job: &JobSlot, settings: &PlanParams) -> Self {
        let has_place = job.accepted.is_some_and(|accepted| accepted.due.is_some());
        match (job.spec.sla.deadline, job.accepted) {
            (Some(_), Some(admission)) if admission.is_promised => Self::Promised,
            (_, Some(_)) if has_place => Self::Placed,
            (None, _) => Self::Free,
            (Some(_), Some(_)) => Self::Unpromised,
            (Some(_), None) => match settings.otherwise_of(&job.spec) {
                Otherwise::Run => Self::Unpromised,
                Otherwise::Wait | Otherwise::Reject => Self::Waitlisted,
            },
        }
    }

    /// Returns whether the job is one of those that the plan keeps places for.
    pub(super) const fn is_planned(self) -> bool {
        match self {
            Self::Promised | Self::Placed => true,
            Self::Unpromised | Self::Free | Self::Waitlisted => false,
        }
    }
}

/// A waiting job, or a group of equal ones, with what the plan needs to know of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedJob {
    pub(super) id: JobId,
    /// Number of such jobs that wait in the slot.
    pub(super) count: u32,
    pub(super) waiting_class: WaitingClass,
    pub(super) user: UserId,
    /// The place in the order of submission.
    pub(super) sequence: u64,
    pub(super) submit: Instant,
    pub(super) procs: u32,
    needs: PlacementNeeds,
    /// The run time at the job's own level: the plan's, or that which its user asks for.
    pub(super) run: Span,
    /// The run time by which the dispatch rule reserves.
    pub(super) reserved: Span,
    /// The run time at the level at which others' starts are weighed against its place.
    pub(super) guard: Span,
    /// The deadline, or the planned end of a job that has none; [`Instant::MAX`] without either.
    pub(super) due: Instant,
    /// The place in the order of deadlines: that of `due`, or an earlier one.
    pub(super) place: Instant,
    /// The last instant at which the job is not hopeless.
    feasible_until: Instant,
    /// The instant at which the job is given up if it has not started, and why.
    pub(super) gives_up: Option<(Instant, Reason)>,
}

impl PlannedJob {
    /// Returns a job that waits.
    pub(super) fn of(
        view: View<'_>,
        id: JobId,
        belief: &Distribution,
        settings: &PlanParams,
    ) -> Self {
        let job = view.job(id);
        let waiting_class = WaitingClass::of(job, settings);
        let entry = Self::new(id, &job.spec, waiting_class, belief, settings);
        let place = job.accepted.and_then(|accepted| accepted.due);
        let has_deadline = job.spec.sla.deadline.is_some();
        Self {
            count: job.count,
            sequence: job.sequence,
            due: place.filter(|_| !has_deadline).unwrap_or(entry.due),
            place: place.unwrap_or(entry.due),
            // A job that has started once, and is tried again, is admitted: it goes on.
            gives_up: entry.gives_up.filter(|_| job.accepted.is_none()),
            ..entry
        }
    }

    /// Returns a job that is submitted now.
    pub(super) fn new(
        id: JobId,
        spec: &JobSpec,
        waiting_class: WaitingClass,
        belief: &Distribution,
        settings: &PlanParams,
    ) -> Self {
        let run = belief.quantile(settings.level_of(spec));
        let due = spec.due().unwrap_or(Instant::MAX);
        let hopeless = match waiting_class {
            WaitingClass::Promised | WaitingClass::Placed => HOPELESS,
            WaitingClass::Unpromised | WaitingClass::Free | WaitingClass::Waitlisted => {
                HOPELESS_UNPROMISED
            }
        };
        let feasible_until = due - belief.quantile(hopeless);
        let drops_late = spec.sla.drop_late || settings.drop_late;
        let gives_up = match waiting_class {
            WaitingClass::Waitlisted => Some((due - run, Reason::NoRoom)),
            WaitingClass::Unpromised if drops_late => Some((feasible_until, Reason::LATE)),
            WaitingClass::Promised
            | WaitingClass::Placed
            | WaitingClass::Unpromised
            | WaitingClass::Free => None,
        };
        Self {
            id,
            count: 1,
            waiting_class,
            user: spec.user,
            sequence: u64::MAX,
            submit: spec.submit,
            procs: spec.procs,
            needs: spec.needs,
            run,
            reserved: belief.quantile(RESERVED).max(run),
            guard: belief.quantile(settings.guard_of(spec)),
            due,
            place: due,
            feasible_until,
            gives_up,
        }
    }

    /// Returns whether it matters on which hosts the job runs.
    pub(super) fn needs_hosts(&self) -> bool {
        !self.needs.is_none()
    }

    /// Returns the key in the order of deadlines: the place, then the order of submission.
    pub(super) fn key(&self) -> (Instant, u64) {
        (self.place, self.sequence)
    }

    /// Returns the job as the start rule sees it.
    pub(super) fn rule(&self, view: View<'_>) -> RuleJob {
        RuleJob {
            id: self.id,
            user: self.user,
            group: self.group(view),
            guard: self.guard,
            latest_end: self.latest_end(),
        }
    }

    /// Returns the last instant at which the job can be promised: if it started then, it would end in
    /// time with the plan's probability.
    pub(super) fn decision_due(&self) -> Instant {
        self.due - self.run
    }

    /// Returns whether the job will hardly end in time even if it starts now.
    pub(super) fn is_hopeless(&self, now: Instant) -> bool {
        now > self.feasible_until
    }

    /// Returns the instant by which the job ends at its latest place: a part of its slack is not lent.
    pub(super) fn latest_end(&self) -> Instant {
        let slack = (self.due.since(self.submit) - self.guard).max(Span::ZERO);
        match self.waiting_class {
            WaitingClass::Placed => self.due,
            WaitingClass::Promised
            | WaitingClass::Unpromised
            | WaitingClass::Free
            | WaitingClass::Waitlisted => {
                self.due - Span::from_secs_f64(KEPT_SLACK * slack.as_secs_f64())
            }
        }
    }

    /// Returns the place among the jobs of its user.
    pub(super) fn own_place(&self) -> (Instant, u64) {
        let is_free = self.due == Instant::MAX;
        let due = if is_free {
            self.submit + AS_IF_DUE
        } else {
            self.due
        };
        (due, self.sequence)
    }

    /// Returns whether both are jobs of the same user that differ in nothing but their places in the order of submission.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let Self {
            id,
            count,
            sequence,
            ..
        } = *other;
        let moved = Self {
            id,
            count,
            sequence,
            ..*self
        };
        moved == *other
    }

    /// Returns whether another job is alike and none can stand between both in any order of their user's jobs.
    pub(super) fn is_followed_by(&self, next: &Self) -> bool {
        let end = self.sequence.wrapping_add(u64::from(self.count));
        end == next.sequence && self.is_like(next)
    }

    /// Returns one of the jobs as a group of its own.
    pub(super) fn single(&self, view: View<'_>) -> JobGroup {
        JobGroup {
            count: 1,
            ..self.group(view)
        }
    }

    pub(super) fn group(&self, view: View<'_>) -> JobGroup {
        let group = JobGroup {
            procs: self.procs,
            count: self.count,
            run: self.run,
            reserved: self.reserved,
            due: self.due,
            ..host_needs(view, &self.needs)
        };
        match self.waiting_class {
            WaitingClass::Promised => group.promised(view),
            WaitingClass::Placed
            | WaitingClass::Unpromised
            | WaitingClass::Free
            | WaitingClass::Waitlisted => group,
        }
    }
}
