//! The starts of waiting jobs in a future, as the start rule places them.
//!
//! The promised jobs have their latest starts. All are taken in the fair order up to the subjects of the
//! query. A promised one moves to its earliest place, and one without a promise gets the earliest place for
//! its run time at guard that leaves all promises alone. Whatever ends earlier than at guard, and what the
//! rule starts out of turn on idle processors, is not foreseen, so a job may also start earlier.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{HostSlowdown, Instant, JobId, Span};
use tollgate_policy::View;

use super::free_profile::{FreeProfile, PlaceWaves, PlannedPlace, RunningUntil};
use super::host_future::HostFuture;
use super::latest_starts::LatestStarts;
use super::planned_job::PlannedJob;
use super::played_run::PlayedRun;
use super::start_rule::RuleJob;
use super::timetable::JobGroup;
use super::{NEW, PlanPolicy};

/// Maximum number of promised jobs, and of turns, of a future that is played so: a question costs no more than some tens
/// of milliseconds.
const MAX_JOBS: u64 = 1_000;

/// The start of a job in its turn, and how much slower its hosts are.
pub(super) type TurnStart = (Instant, HostSlowdown);

/// A turn in the fair order.
#[derive(Clone, Debug)]
pub(super) enum FairTurn {
    /// A group of promised jobs.
    Planned(PlannedTurn),
    /// A group of jobs without a promise.
    Unplanned(UnplannedTurn),
}

/// The turn of a group of promised jobs.
#[derive(Clone, Debug)]
pub(super) struct PlannedTurn {
    /// The place of the group among the promised ones.
    pub(super) index: usize,
    /// Those of its jobs that are asked about.
    pub(super) subjects: Range<u32>,
}

/// The turn of a group of jobs without a promise, or of some of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnplannedTurn {
    pub(super) job: RuleJob,
    /// Number of jobs of the group that have their turn before.
    pub(super) n_before: u32,
    pub(super) is_subject: bool,
}

impl FairTurn {
    /// Returns the number of jobs without a promise.
    fn n_unplanned(&self) -> u64 {
        match self {
            Self::Planned(_) => 0,
            Self::Unplanned(turn) => turn.job.n_jobs(),
        }
    }

    fn needs_hosts(&self) -> bool {
        match self {
            Self::Planned(_) => false,
            Self::Unplanned(turn) => turn.job.group.needs_hosts(),
        }
    }

    fn is_subject(&self) -> bool {
        match self {
            Self::Planned(turn) => !turn.subjects.is_empty(),
            Self::Unplanned(turn) => turn.is_subject,
        }
    }
}

/// The turns up to the last of the jobs that are asked about.
#[derive(Clone, Debug)]
pub(super) struct FairTurns {
    /// In the order of their deadlines.
    planned: Vec<RuleJob>,
    /// Number of jobs whose promises are hopeless. They start last.
    n_hopeless: u64,
    turns: Vec<FairTurn>,
    by_host: bool,
    /// The first deadline of the promised jobs that are asked about; None without any.
    pub(super) promised_end: Option<Instant>,
}

impl FairTurns {
    /// Creates the turns with the promised jobs in the order of their deadlines; None if there are too many.
    pub(super) fn new(
        view: View<'_>,
        planned: &[PlannedJob],
        hopeless: &[PlannedJob],
        turns: Vec<FairTurn>,
    ) -> Option<Self> {
        let n_jobs =
            |jobs: &[PlannedJob]| -> u64 { jobs.iter().map(|job| u64::from(job.count)).sum() };
        let n_unplanned = turns.iter().map(FairTurn::n_unplanned).sum();
        if n_jobs(planned).max(n_unplanned) > MAX_JOBS {
            return None;
        }
        let by_host = view.has_distinct_hosts()
            || planned.iter().any(PlannedJob::needs_hosts)
            || turns.iter().any(FairTurn::needs_hosts);
        let promised_ends = turns.iter().filter_map(|turn| match turn {
            FairTurn::Planned(turn) if turn.subjects.is_empty() => None,
            FairTurn::Planned(turn) => Some(planned[turn.index].due),
            FairTurn::Unplanned(_) => None,
        });
        Some(Self {
            planned: planned.iter().map(|job| job.rule(view)).collect(),
            n_hopeless: n_jobs(hopeless),
            promised_end: promised_ends.min(),
            turns,
            by_host,
        })
    }

    /// Returns when the jobs that are asked about run in a future in which they would run `in_turns`, and `by_deadline`
    /// if all promised jobs started before all others.
    ///
    /// Whether a promise is kept is seen by deadline. The rule starts a job out of turn only if by that plan
    /// every promise is kept all the same. That others run longer than at guard is seen there alone. When a
    /// promised job runs is seen in its turn, as long as both agree about that. Without a promise the job
    /// starts as soon as either lets it: out of turn, too, where processors are idle.
    /// So whether a promised job keeps its deadline is judged from its start by deadline, and of another from its start.
    /// `promised_end` is the first deadline of the promised ones of these jobs; None without any.
    pub(super) fn combine(
        promised_end: Option<Instant>,
        by_deadline: PlayedRun,
        in_turns: PlayedRun,
    ) -> PlayedRun {
        let (deadline_run, turn_run) = (by_deadline.interval, in_turns.interval);
        let agree = |due: Instant| (turn_run.finish <= due) == (deadline_run.finish <= due);
        match promised_end {
            Some(due) if agree(due) => PlayedRun {
                interval: turn_run,
                ..by_deadline
            },
            Some(_) => by_deadline,
            None => PlayedRun {
                interval: RunInterval {
                    start: deadline_run.start.min(turn_run.start),
                    finish: deadline_run.finish.min(turn_run.finish),
                },
                judged: match turn_run.start < deadline_run.start {
                    true => in_turns.judged,
                    false => by_deadline.judged,
                },
            },
        }
    }

    /// Returns the turns that can be foreseen: the first ones, without those behind too many jobs.
    pub(super) fn foreseen(mut turns: Vec<FairTurn>) -> Vec<FairTurn> {
        let mut n_jobs = 0;
        let is_late = |turn: &FairTurn| {
            n_jobs += turn.n_unplanned();
            n_jobs > MAX_JOBS
        };
        let first_late = turns.iter().position(is_late);
        turns.truncate(first_late.unwrap_or(turns.len()));
        turns
    }

    /// Reports when each of the jobs that are asked about starts, by the place of its turn, and its work; no start if it never
    /// fits. `running` has the ends of running jobs, and `hosts` the hosts that come. `runs` has the run times of the promised
    /// jobs, of the hopeless ones and then of the others, in order. Goes on as long as `report` returns true.
    pub(super) fn play(
        &self,
        view: View<'_>,
        (running, hosts): (&[RunningUntil], &HostFuture),
        runs: &[Span],
        mut report: impl FnMut(usize, Option<TurnStart>, Span) -> bool,
    ) {
        let free = FreeProfile::new(view, self.by_host, running, hosts);
        let mut plan = LatestStarts::new(&free, &self.planned);
        let mut runs = runs;
        let mut take = |n: u64| {
            let (taken, left) = runs.split_at(n as usize);
            runs = left;
            taken
        };
        let planned_runs: Vec<&[Span]> =
            self.planned.iter().map(|job| take(job.n_jobs())).collect();
        take(self.n_hopeless);
        for (at, turn) in self.turns.iter().enumerate() {
            match turn {
                FairTurn::Planned(PlannedTurn { index, subjects }) => {
                    let runs = planned_runs[*index];
                    let starts = plan.bring_forward(*index, &self.planned[*index], runs);
                    for subject in subjects.clone().map(|nth| nth as usize) {
                        if !report(at, starts.get(subject).copied(), runs[subject]) {
                            return;
                        }
                    }
                }
                FairTurn::Unplanned(UnplannedTurn {
                    job, is_subject, ..
                }) => {
                    for &run in take(job.n_jobs()) {
                        let place = plan.profile.earliest(&job.group, job.guard);
                        if let Some(place) = &place {
                            plan.profile.book(&job.group, &shortened(place, run));
                        }
                        let start = place.map(|place| (place.at, place.slowdown));
                        if *is_subject && !report(at, start, run) {
                            return;
                        }
                    }
                }
            }
        }
    }
}

impl PlanPolicy {
    /// Returns the turns up to the last job that is asked about. `planned` has the promised jobs in the order
    /// of their deadlines, and `new` jobs that are submitted now, promised or not. Of a group that is a
    /// subject, only the job with `n_before` of it before is meant.
    pub(super) fn fair_turns(
        &self,
        view: View<'_>,
        planned: &[PlannedJob],
        fair_users: &BTreeSet<JobId>,
        new: Option<PlannedJob>,
        n_before: Option<u32>,
    ) -> Vec<FairTurn> {
        let mut fair = Cow::Borrowed(&self.waiting.fair);
        if let Some(new) = new {
            fair.to_mut().insert(new);
        }
        let places = planned.iter().enumerate();
        let places: BTreeMap<JobId, usize> = places.map(|(at, job)| (job.id, at)).collect();
        let turns = fair.in_order(view).filter_map(|job| {
            let is_subject = job.id == NEW || fair_users.contains(&job.id);
            if job.waiting_class.is_planned() {
                let &index = places.get(&job.id)?;
                let subjects = match (is_subject, n_before) {
                    (false, _) => 0..0,
                    (true, None) => 0..job.count,
                    (true, Some(nth)) => nth.min(job.count - 1)..(nth + 1).min(job.count),
                };
                return Some(FairTurn::Planned(PlannedTurn { index, subjects }));
            }
            Some(FairTurn::Unplanned(UnplannedTurn {
                job: job.rule(view),
                n_before: 0,
                is_subject,
            }))
        });
        let mut turns: Vec<FairTurn> = turns.collect();
        let last = turns.iter().rposition(FairTurn::is_subject);
        turns.truncate(last.map_or(0, |last| last + 1));
        if let Some(n_before) = n_before
            && let Some(&FairTurn::Unplanned(turn)) = turns.last()
        {
            turns.pop();
            turns.extend(turn.up_to(n_before).map(FairTurn::Unplanned));
        }
        turns
    }
}

impl UnplannedTurn {
    /// Returns the turn of the first `n_before` jobs of the group, and that of the next one, the subject.
    fn up_to(&self, n_before: u32) -> impl Iterator<Item = Self> {
        let n_before = n_before.min(self.job.group.count - 1);
        let part = |count: u32, n_before: u32, is_subject: bool| Self {
            job: RuleJob {
                group: JobGroup {
                    count,
                    ..self.job.group
                },
                ..self.job
            },
            n_before,
            is_subject,
        };
        let parts = [part(n_before, 0, false), part(1, n_before, true)];
        parts.into_iter().filter(|turn| turn.job.group.count > 0)
    }
}

impl LatestStarts {
    /// Moves those of a group of promised jobs that are not due to their earliest places, where each runs for its time.
    /// Returns the starts of the jobs of the group, in order: fewer if some never fit.
    fn bring_forward(&mut self, index: usize, job: &RuleJob, runs: &[Span]) -> Vec<TurnStart> {
        let due = self.places[index].due.iter();
        let mut starts: Vec<TurnStart> = due.flat_map(PlaceWaves::starts).collect();
        let n_due = self.n_due[index] as usize;
        for &run in runs.iter().skip(n_due) {
            let places = &mut self.places[index];
            let Some(&first) = places.first_late(Instant::ZERO).first() else {
                return starts;
            };
            let own = places.late_place(first);
            places.remove_late(first);
            self.profile.lift(&job.group, &own);
            let earliest = self.profile.earliest(&job.group, job.guard);
            let place = earliest.filter(|place| place.at < own.at);
            let place = place.map_or(own, |place| shortened(&place, run));
            self.profile.book(&job.group, &place);
            starts.push((place.at, place.slowdown));
        }
        starts
    }
}

/// Returns a place for no more work than `run`.
fn shortened(place: &PlannedPlace, run: Span) -> PlannedPlace {
    PlannedPlace {
        work: place.work.min(run),
        ..place.clone()
    }
}
