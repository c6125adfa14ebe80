//! The jobs that run in the possible futures of some of them, in the order in which they are dispatched by deadline.

use std::collections::BTreeSet;

use tollgate_model::{
    Distribution, Instant, JobId, JobSpec, Kinship, Otherwise, Span, WorkProgress,
};
use tollgate_policy::{AdmissionDecision, JobPhase, OutlookSubject, View};

use super::draws::{DrawnJobs, JobBlock};
use super::fair_turns::{FairTurn, FairTurns};
use super::host_future::HostFuture;
use super::planned_job::{PlannedJob, WaitingClass};
use super::timetable::JobGroup;
use super::{NEW, PlanPolicy, RESERVED, belief_of, host_needs};

/// A job of the scenarios, or several equal ones that are dispatched one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScenarioJob {
    pub(super) spec: JobSpec,
    /// Number of such jobs.
    count: u32,
    pub(super) belief: Distribution,
    kinship: Option<Kinship>,
    /// The order of submission.
    sequence: u64,
    /// The start, if the job runs.
    pub(super) start: Option<Instant>,
    /// The progress of its work, if the job runs.
    pub(super) progress: Option<WorkProgress>,
    /// The job, if it runs.
    pub(super) running: Option<JobId>,
    pub(super) is_subject: bool,
    is_promised: bool,
}

/// The jobs of the scenarios of a subject.
pub(super) struct ScenarioJobs {
    /// The running jobs, then the waiting ones in the order in which they are dispatched by deadline. First
    /// come those with a promise, then those without one that have their turns up to the last subject.
    pub(super) jobs: Vec<ScenarioJob>,
    /// Number of the first of them that matter for a dispatch by deadline.
    pub(super) n_by_deadline: usize,
    /// The turns in which all of them start; None if they are not foreseen.
    pub(super) turns: Option<FairTurns>,
}

impl PlanPolicy {
    /// Returns the jobs of the scenarios of a subject.
    pub(super) fn scenario_jobs(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
    ) -> ScenarioJobs {
        let new = new_job(subject);
        let candidate = new.map(|new| self.new_planned_job(view, &new));
        let is_promised = |job: PlannedJob| job.waiting_class == WaitingClass::Promised;
        let new = new.map(|new| ScenarioJob {
            is_promised: candidate.is_some_and(is_promised),
            ..new
        });
        let requested = match subject {
            OutlookSubject::Existing(jobs) => jobs,
            OutlookSubject::InGroup(ref job, _) => std::slice::from_ref(job),
            OutlookSubject::New(..) => &[],
            OutlookSubject::Array(array) => array.tasks,
        };
        let requested: BTreeSet<JobId> = requested.iter().copied().collect();
        let existing = |id: JobId| self.existing_job(view, id, requested.contains(&id));
        let mut jobs: Vec<ScenarioJob> = self.running.iter().map(|&id| existing(id)).collect();
        let (mut planned, hopeless) = self.waiting.by_deadline(view.now);
        if let Some(promised) = candidate.filter(|new| new.waiting_class.is_planned()) {
            let at = planned.partition_point(|job| job.place <= promised.place);
            planned.insert(at, promised);
        }
        let of_waiting = |id: JobId| new.filter(|_| id == NEW).unwrap_or_else(|| existing(id));
        let order = planned.iter().chain(&hopeless);
        jobs.extend(order.map(|job| of_waiting(job.id)));
        let n_before = match subject {
            OutlookSubject::InGroup(_, n_before) => Some(n_before),
            OutlookSubject::New(..) | OutlookSubject::Existing(_) | OutlookSubject::Array(_) => {
                None
            }
        };
        if let (Some(n_before), Some(at)) = (n_before, jobs.iter().position(|job| job.is_subject)) {
            jobs.splice(at..=at, jobs[at].around(n_before).collect::<Vec<_>>());
        }
        jobs.dedup_by(|next, block| block.absorb(next));
        let n_promised = jobs.len();

        let subjects = self.waiting_classes(view, &requested);
        let turns = match candidate.is_some() || !subjects.is_empty() {
            true => self.fair_turns(view, &planned, &requested, candidate, n_before),
            false => Vec::new(),
        };
        // Jobs that wait without a promise come behind all that have one.
        let in_turn = turns.iter().filter_map(|turn| match turn {
            FairTurn::Planned(_) => None,
            FairTurn::Unplanned(turn) => {
                let job = of_waiting(turn.job.id);
                Some(ScenarioJob {
                    count: turn.job.group.count,
                    sequence: job.sequence + u64::from(turn.n_before),
                    is_subject: turn.is_subject,
                    ..job
                })
            }
        });
        let is_waitlisted = |of: WaitingClass| of == WaitingClass::Waitlisted;
        let waitlisted = subjects.iter().filter(|(_, of)| is_waitlisted(*of));
        let waitlisted = waitlisted.map(|&(id, _)| existing(id));
        let mut behind: Vec<ScenarioJob> = in_turn.chain(waitlisted).collect();
        behind.dedup_by(|next, block| block.absorb(next));
        let is_any_behind = behind.iter().any(|job| job.is_subject);
        jobs.extend(behind);

        let is_hopeless = |id: JobId| hopeless.iter().any(|job| job.id == id);
        let new_class = candidate.map(|new| (NEW, new.waiting_class));
        let mut subjects = subjects.into_iter().chain(new_class);
        let take_turns = subjects.all(|(id, of)| !is_waitlisted(of) && !is_hopeless(id));
        let turns = (take_turns && !turns.is_empty())
            .then(|| FairTurns::new(view, &planned, &hopeless, turns))
            .flatten();
        let n_by_deadline = match is_any_behind {
            true => jobs.len(),
            false => n_promised,
        };
        if turns.is_none() {
            jobs.truncate(n_by_deadline);
        }
        ScenarioJobs {
            jobs,
            n_by_deadline,
            turns,
        }
    }

    /// Returns a running or waiting job, or the jobs of a slot.
    pub(super) fn existing_job(&self, view: View<'_>, id: JobId, is_subject: bool) -> ScenarioJob {
        let job = view.job(id);
        ScenarioJob {
            spec: job.spec,
            count: job.count,
            belief: belief_of(&job.spec, view.forecast(id)),
            kinship: view.kinship(id),
            sequence: job.sequence,
            start: self.running.contains(&id).then_some(job.start).flatten(),
            progress: self.running.contains(&id).then(|| job.progress()),
            running: self.running.contains(&id).then_some(id),
            is_subject,
            is_promised: job.spec.sla.deadline.is_some() && job.is_promised(),
        }
    }

    /// Returns jobs that are submitted now as the plan sees them once they are decided about.
    fn new_planned_job(&self, view: View<'_>, new: &ScenarioJob) -> PlannedJob {
        let place = self.promised_place(view, new);
        let may_run = self.settings.otherwise_of(&new.spec) == Otherwise::Run;
        let waiting_class = match (place, new.spec.sla.deadline) {
            (Some(_), _) => WaitingClass::Promised,
            (None, None) => WaitingClass::Free,
            (None, Some(_)) if may_run => WaitingClass::Unpromised,
            (None, Some(_)) => WaitingClass::Waitlisted,
        };
        let mut job = PlannedJob::new(NEW, &new.spec, waiting_class, &new.belief, &self.settings);
        job.count = new.count;
        job.place = place.unwrap_or(job.place);
        job
    }

    /// Returns those of some jobs that wait, with their standings.
    fn waiting_classes(
        &self,
        view: View<'_>,
        jobs: &BTreeSet<JobId>,
    ) -> Vec<(JobId, WaitingClass)> {
        let waiting = jobs
            .iter()
            .filter(|id| view.job(**id).phase == JobPhase::Queued);
        let classes = waiting.map(|&id| (id, self.planned_job(view, id).waiting_class));
        classes.collect()
    }

    /// Returns the place of a new job among the promised ones; None if it is not promised.
    fn promised_place(&self, view: View<'_>, new: &ScenarioJob) -> Option<Instant> {
        let decision = self.decide(view, &new.spec, Some(&new.belief), new.count);
        match decision {
            Ok(AdmissionDecision::Promise { due, .. }) => due.or(new.spec.due()),
            Ok(
                AdmissionDecision::Queue
                | AdmissionDecision::Unpromised(_)
                | AdmissionDecision::Waitlist { .. }
                | AdmissionDecision::Run { .. }
                | AdmissionDecision::Reject(_),
            )
            | Err(_) => None,
        }
    }
}

impl ScenarioJob {
    /// Returns the only one of some jobs; None if there are several or none.
    pub(super) fn single<'a>(mut jobs: impl Iterator<Item = &'a Self>) -> Option<&'a Self> {
        let first = jobs.next().filter(|job| job.is_single())?;
        jobs.next().is_none().then_some(first)
    }

    /// Returns the work that the job has done; zero if it waits.
    pub(super) fn elapsed(&self, now: Instant) -> Span {
        let progress = self.progress;
        progress.map_or(Span::ZERO, |progress| progress.work_by(now))
    }

    /// Returns whether the job is one by itself.
    pub(super) const fn is_single(&self) -> bool {
        self.count == 1
    }

    pub(super) fn block(&self) -> JobBlock {
        JobBlock {
            user: self.spec.user,
            kinship: self.kinship,
            sequence: self.sequence,
            count: self.count,
        }
    }

    /// Returns the assumed end of a job that runs, and the end by which the dispatch rule reserves.
    pub(super) fn ends(
        &self,
        now: Instant,
        progress: &WorkProgress,
        drawn: &[DrawnJobs],
    ) -> [Instant; 2] {
        let level = drawn.first().map_or(RESERVED, |&(_, level)| level);
        let levels = [level, RESERVED];
        let runs = self
            .belief
            .quantiles_given_survived(progress.work_by(now), levels);
        let [assumed, reserved] = runs.map(|work| progress.end_of(work));
        [assumed, assumed.max(reserved)]
    }

    /// Returns the end of a running job in a future in which it would end at `assumed` if no user came to its host.
    /// Where one does, it is assumed to start anew at once on another, if it may: that is simpler than a place.
    pub(super) fn end_with_users(
        &self,
        view: View<'_>,
        assumed: Instant,
        (drawn, hosts): (&[DrawnJobs], &HostFuture),
    ) -> Instant {
        let login = self.running.map(|id| hosts.first_login(view, id));
        match login.filter(|login| *login < assumed) {
            None => assumed,
            Some(_) if self.spec.restarts == 0 => Instant::MAX,
            Some(login) => {
                let level = drawn.first().map_or(RESERVED, |&(_, level)| level);
                login + self.belief.quantile(level)
            }
        }
    }

    /// Returns an empty group of such jobs, with their needs and the run time by which the dispatch rule reserves.
    pub(super) fn group(&self, view: View<'_>) -> JobGroup {
        JobGroup {
            reserved: self.belief.quantile(RESERVED),
            ..self.placed(view)
        }
    }

    /// Returns an empty group of such jobs, with where they may run.
    fn placed(&self, view: View<'_>) -> JobGroup {
        let group = JobGroup {
            procs: self.spec.procs,
            restarts: self.spec.restarts,
            ..host_needs(view, &self.spec.needs)
        };
        match self.is_promised {
            true => group.promised(view),
            false => group,
        }
    }

    /// Returns the groups of jobs that wait and run equally long.
    pub(super) fn groups(
        &self,
        view: View<'_>,
        drawn: &[DrawnJobs],
    ) -> impl Iterator<Item = JobGroup> + use<'_> {
        let reserved = self.belief.quantile(RESERVED);
        let placed = self.placed(view);
        let drawn = drawn.to_vec();
        drawn.into_iter().map(move |(count, level)| {
            let run = self.belief.quantile(level);
            JobGroup {
                count,
                run,
                reserved: reserved.max(run),
                ..placed
            }
        })
    }

    /// Returns the jobs of a group before its `n`th, counted from 0, that one, and those behind it; only it is a
    /// subject.
    fn around(&self, n: u32) -> impl Iterator<Item = Self> {
        let n = n.min(self.count - 1);
        let part = |from: u32, count: u32, is_subject: bool| Self {
            count,
            sequence: self.sequence.wrapping_add(u64::from(from)),
            is_subject,
            ..*self
        };
        let parts = [
            part(0, n, false),
            part(n, 1, true),
            part(n + 1, self.count - n - 1, false),
        ];
        parts.into_iter().filter(|part| part.count > 0)
    }

    /// Takes in the next job in the order of dispatch if both wait, are tasks of one batch, and differ in
    /// nothing that a scenario depends on.
    fn absorb(&mut self, next: &Self) -> bool {
        let batch = |job: &Self| job.kinship.map(|kinship| kinship.batch);
        let is_alike = self.start.is_none()
            && next.start.is_none()
            && batch(self).is_some_and(|batch| batch != u64::MAX)
            && batch(self) == batch(next)
            && self.spec.procs == next.spec.procs
            && self.spec.needs == next.spec.needs
            && self.spec.restarts == next.spec.restarts
            && self.is_promised == next.is_promised
            && self.belief == next.belief
            && self.is_subject == next.is_subject;
        if is_alike {
            self.count += next.count;
        }
        is_alike
    }
}

/// Returns the jobs of a subject that are submitted now, if there are any.
fn new_job(subject: OutlookSubject<'_>) -> Option<ScenarioJob> {
    let ((spec, forecast), count, kinship) = match subject {
        OutlookSubject::New(job, count, kinship) => (job, count, kinship),
        OutlookSubject::Array(array) => array.later?,
        OutlookSubject::Existing(_) | OutlookSubject::InGroup(..) => return None,
    };
    Some(ScenarioJob {
        spec: *spec,
        count,
        belief: belief_of(spec, forecast),
        kinship,
        sequence: u64::MAX,
        start: None,
        progress: None,
        running: None,
        is_subject: true,
        is_promised: false,
    })
}
