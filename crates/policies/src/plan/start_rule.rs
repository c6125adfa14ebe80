//! The start rule: which waiting jobs start now.
//!
//! First start the promised jobs that are due, where they are at their places. Then all others, promised or
//! not, are taken in the fair order. A job starts if, its own place given back, its processors are free from
//! now on for its run time at guard, beside the places of all promised jobs. The first job without a promise
//! that cannot start gets its earliest place, which no later one takes, unless it is hopeless. No job starts
//! out of turn if the plan by which promises were made would then no longer keep them.
//!
//! So a promise is a constraint and not a priority. As long as run times are as believed at guard, no start
//! costs a promise that was safe. Until a promised job is due it stands in the fair order like any other.

#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod tests;

use tollgate_model::{Instant, JobId, Span, UserId};
use tollgate_policy::HostPart;

use super::free_profile::{FreeProfile, PlaceWaves, PlannedPlace};
use super::latest_starts::{LatePlace, LatestStarts};
use super::timetable::JobGroup;

/// A waiting job as the rule sees it, or several that are alike and neighbours in every order.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleJob {
    pub(super) id: JobId,
    pub(super) user: UserId,
    /// Their number, and the size and the run times at its own level and as reserved.
    pub(super) group: JobGroup,
    /// The run time of each at guard.
    pub(super) guard: Span,
    /// The instant by which each ends at its latest place.
    pub(super) latest_end: Instant,
}

impl RuleJob {
    /// Returns the number of jobs.
    pub(super) fn n_jobs(&self) -> u64 {
        u64::from(self.group.count)
    }

    /// Returns the jobs of the group behind the first `n` of them.
    fn without_first(&self, n: u32) -> Self {
        let count = self.group.count - n;
        let group = JobGroup {
            count,
            ..self.group
        };
        Self { group, ..*self }
    }

    /// Returns whether the plan treats both jobs alike, of one user or not.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.guard == other.guard
            && self.latest_end == other.latest_end
            && self.group.is_like(&other.group)
    }
}

/// The jobs that start now, and what waits.
#[derive(Clone, Debug, Default)]
pub(super) struct StartDecision {
    /// In the order in which they start, with their hosts where these matter: a group as often as jobs of it start.
    pub(super) starts: Vec<(JobId, Option<Vec<HostPart>>)>,
    /// The first job without a promise that cannot start, and the start of its place if it has one.
    pub(super) held: Option<(RuleJob, Option<Instant>)>,
    /// The next instant at which a place begins while processors are idle.
    pub(super) next_place: Option<Instant>,
}

/// A job in the fair order.
#[derive(Clone, Copy, Debug)]
pub(super) enum FairJob {
    /// One of the jobs with a place in the plan, by its index.
    Planned(usize),
    /// A job without one.
    Unplanned(RuleJob),
    /// A job that hardly ends in time any more.
    Hopeless(RuleJob),
}

/// The state of the rule at an instant.
struct StartRule<'a> {
    planned: &'a [RuleJob],
    plan: LatestStarts,
    /// Returns whether no promise suffers if a job starts at a place, and notes that it does.
    may_start: &'a mut dyn FnMut(&RuleJob, &PlannedPlace) -> bool,
    n_idle: u32,
    decision: StartDecision,
}

/// Returns what starts now, before the dispatch by deadline. `free` is what running jobs leave; `planned` has the
/// promised jobs in the order of their deadlines, and `fair` all waiting jobs in the fair order. `may_start`
/// returns whether no promise suffers if a job starts at a place; then it does.
pub(super) fn decide(
    free: &FreeProfile,
    planned: &[RuleJob],
    fair: impl Iterator<Item = FairJob>,
    may_start: &mut dyn FnMut(&RuleJob, &PlannedPlace) -> bool,
) -> StartDecision {
    let mut rule = StartRule {
        planned,
        plan: LatestStarts::new(free, planned),
        may_start,
        n_idle: free.n_idle(),
        decision: StartDecision::default(),
    };
    rule.start_due();
    rule.start_fairly(fair);
    rule.into_decision()
}

impl StartRule<'_> {
    fn start_due(&mut self) {
        let now = self.plan.profile.instant();
        for (index, job) in self.planned.iter().enumerate() {
            let places = self.plan.places[index].due.clone();
            for place in places.iter().flat_map(|places| places.first_at(now)) {
                self.start(job, &place);
            }
        }
    }

    fn start_fairly(&mut self, fair: impl Iterator<Item = FairJob>) {
        let mut failed = FailedShapes::default();
        for job in fair {
            if self.n_idle == 0 {
                return;
            }
            match job {
                FairJob::Planned(index) => {
                    while self.start_planned(index) {
                        // A later place has become free.
                        failed = FailedShapes::default();
                    }
                }
                FairJob::Unplanned(job) => {
                    let n_started = self.start_unplanned(&job, &mut failed);
                    if n_started < job.group.count && self.n_idle > 0 && self.hold(&job) {
                        // The place that is held may leave those behind it another one now.
                        let behind = job.without_first(n_started + 1);
                        self.start_unplanned(&behind, &mut failed);
                    }
                }
                FairJob::Hopeless(job) => {
                    self.start_unplanned(&job, &mut failed);
                }
            }
        }
    }

    /// Starts a planned job of a group, of those that are not due, before its place if all others keep theirs; returns
    /// whether one does.
    fn start_planned(&mut self, index: usize) -> bool {
        let job = &self.planned[index];
        if job.group.procs > self.n_idle {
            return false;
        }
        let by = self.plan.profile.instant() + self.plan.profile.longest(job.guard);
        let mut failed = FailedPlaces::default();
        let mut late = self.plan.places[index].first_late(by).into_iter();
        late.any(|late| self.start_for_place(index, late, &mut failed))
    }

    /// Starts a planned job of a group before one of its places if all others keep theirs; returns whether it does.
    fn start_for_place(
        &mut self,
        index: usize,
        late: LatePlace,
        failed: &mut FailedPlaces,
    ) -> bool {
        let job = &self.planned[index];
        let own = self.plan.places[index].late_place(late);
        if failed.given_back.contains(&own.parts) {
            return false;
        }
        self.plan.profile.lift(&job.group, &own);
        let place = self.plan.profile.now(&job.group, job.guard);
        let starts = match &place {
            Some(place) if failed.refused.contains(place) => false,
            Some(place) => self.start(job, place),
            None => false,
        };
        let booked = place.as_ref().filter(|_| starts).unwrap_or(&own);
        self.plan.profile.book(&job.group, booked);
        if starts {
            self.plan.places[index].remove_late(late);
            return true;
        }
        match place {
            Some(place) => failed.refused.push(place),
            None => failed.given_back.push(own.parts),
        }
        false
    }

    /// Starts jobs without a place, one after another, as long as all planned ones keep theirs; returns how many.
    fn start_unplanned(&mut self, job: &RuleJob, failed: &mut FailedShapes) -> u32 {
        let all = 0..job.group.count;
        let started = all.take_while(|_| self.start_one_unplanned(job, failed));
        started.count() as u32
    }

    fn start_one_unplanned(&mut self, job: &RuleJob, failed: &mut FailedShapes) -> bool {
        let is_wide = job.group.procs > self.n_idle;
        let place = (!is_wide && !failed.cover(job))
            .then(|| self.plan.profile.now(&job.group, job.guard))
            .flatten();
        let Some(place) = place else {
            failed.note(job);
            return false;
        };
        let starts = self.start(job, &place);
        if starts {
            self.plan.profile.book(&job.group, &place);
        }
        starts
    }

    /// Gives the first job without a promise that cannot start its earliest place; returns whether this is that job.
    fn hold(&mut self, job: &RuleJob) -> bool {
        if self.decision.held.is_some() {
            return false;
        }
        let place = self.plan.profile.earliest(&job.group, job.guard);
        if let Some(place) = &place {
            self.plan.profile.book(&job.group, place);
        }
        self.decision.held = Some((*job, place.map(|place| place.at)));
        true
    }

    /// Starts a job at a place if no promise suffers; returns whether it does.
    fn start(&mut self, job: &RuleJob, place: &PlannedPlace) -> bool {
        let starts = (self.may_start)(job, place);
        if starts {
            self.n_idle -= job.group.procs;
            let hosts = self.plan.profile.host_parts(place);
            self.decision.starts.push((job.id, hosts));
        }
        starts
    }

    fn into_decision(self) -> StartDecision {
        let places = self.plan.places.iter();
        let places = places.flat_map(|of| of.due.iter().chain(&of.late));
        // Of the waves of a group, the second one is next if all jobs of the first one begin now.
        let places = places.flat_map(PlaceWaves::first_starts);
        let held = self.decision.held.and_then(|(_, at)| at);
        let now = self.plan.profile.instant();
        let next = places.chain(held).filter(|&at| at > now).min();
        StartDecision {
            next_place: next.filter(|_| self.n_idle > 0),
            ..self.decision
        }
    }
}

/// The failed tries to start a job of a group that is not due.
#[derive(Debug, Default)]
struct FailedPlaces {
    /// The hosts of a place that was given back for nothing: a later place there helps no more.
    given_back: Vec<Vec<(usize, u32)>>,
    /// The places at which a job cannot start, for a promise would suffer.
    refused: Vec<PlannedPlace>,
}

/// The sizes of jobs that could not start in this pass: none that is as wide and as long can.
#[derive(Debug, Default)]
struct FailedShapes(Vec<(u32, Span)>);

impl FailedShapes {
    /// Returns whether a job is at least as wide and as long as one that could not start.
    fn cover(&self, job: &RuleJob) -> bool {
        let is_larger =
            |&(procs, guard): &(u32, Span)| procs <= job.group.procs && guard <= job.guard;
        self.0.iter().any(is_larger)
    }

    /// Notes a job that could not start, if only its size can have been the cause.
    fn note(&mut self, job: &RuleJob) {
        let shape = (job.group.procs, job.guard);
        if !job.group.needs_hosts() && !self.cover(job) {
            self.0
                .retain(|&(procs, guard)| procs < shape.0 || guard < shape.1);
            self.0.push(shape);
        }
    }
}
