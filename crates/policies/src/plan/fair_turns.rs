//! The starts of jobs without a promise in a future, as the start rule places them.
//!
//! The promised jobs have their latest starts. The others are taken in the fair order up to the jobs that are asked about:
//! a promised one moves to its earliest place, one without a promise gets the earliest place for its run time at guard that
//! leaves all promises alone. Whatever ends earlier than at guard, and what the rule starts out of turn on idle
//! processors, is not foreseen, so a job may also start earlier.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::View;

use super::free_profile::{FreeProfile, PlannedPlace, RunningUntil};
use super::latest_starts::LatestStarts;
use super::planned_job::PlannedJob;
use super::start_rule::RuleJob;
use super::{NEW, PlanPolicy};

/// Maximum number of promised jobs, and of turns, of a future that is played so: a question costs no more than some tens
/// of milliseconds.
const MAX_JOBS: usize = 1_000;

/// A turn in the fair order.
#[derive(Clone, Copy, Debug)]
pub(super) enum FairTurn {
    /// One of the promised jobs, by its index.
    Planned(usize),
    /// Some jobs without a promise, all alike.
    Unplanned {
        job: RuleJob,
        count: u32,
        is_subject: bool,
    },
}

impl FairTurn {
    /// Returns the job if it has no promise; of several, the one that stands for all.
    pub(super) fn unplanned(&self) -> Option<JobId> {
        match self {
            Self::Planned(_) => None,
            Self::Unplanned { job, .. } => Some(job.id),
        }
    }
}

/// The turns up to the last of the jobs that are asked about, all of which wait without a promise.
#[derive(Clone, Debug)]
pub(super) struct FairTurns {
    /// In the order of their deadlines.
    planned: Vec<RuleJob>,
    /// Number of jobs whose promises are hopeless. They start last.
    n_hopeless: usize,
    turns: Vec<FairTurn>,
    by_host: bool,
}

impl FairTurns {
    /// Creates the turns with the promised jobs in the order of their deadlines; None if there are too many.
    pub(super) fn new(
        view: View<'_>,
        planned: &[PlannedJob],
        n_hopeless: usize,
        turns: Vec<FairTurn>,
    ) -> Option<Self> {
        let n_jobs = |turn: &FairTurn| match turn {
            FairTurn::Planned(_) => 1,
            FairTurn::Unplanned { count, .. } => *count as usize,
        };
        let n_turns: usize = turns.iter().map(n_jobs).sum();
        if planned.len().max(n_turns) > MAX_JOBS {
            return None;
        }
        let needs_hosts = |turn: &FairTurn| match turn {
            FairTurn::Planned(_) => false,
            FairTurn::Unplanned { job, .. } => job.group.needs_hosts(),
        };
        let by_host = view.has_closing_hosts()
            || planned.iter().any(PlannedJob::needs_hosts)
            || turns.iter().any(needs_hosts);
        Some(Self {
            planned: planned.iter().map(|job| job.rule(view)).collect(),
            n_hopeless,
            turns,
            by_host,
        })
    }

    /// Returns the first start and the last end of the jobs that are asked about; None if one never fits. `running` has
    /// the ends of running jobs, `runs` the run times of the promised jobs, of the hopeless ones and then of the others, in order.
    pub(super) fn play(
        &self,
        view: View<'_>,
        running: &[RunningUntil],
        runs: &[Span],
    ) -> Option<RunInterval> {
        let free = FreeProfile::new(view, self.by_host, running);
        let mut plan = LatestStarts::new(&free, &self.planned);
        let (planned_runs, runs) = runs.split_at(self.planned.len());
        let mut runs = runs.iter().skip(self.n_hopeless);
        let mut all = RunInterval {
            start: Instant::MAX,
            finish: view.now,
        };
        for turn in &self.turns {
            let (job, count, is_subject) = match turn {
                FairTurn::Planned(index) => {
                    plan.bring_forward(*index, &self.planned[*index], planned_runs[*index]);
                    continue;
                }
                FairTurn::Unplanned {
                    job,
                    count,
                    is_subject,
                } => (job, *count as usize, *is_subject),
            };
            for &run in runs.by_ref().take(count) {
                let place = plan.profile.earliest(&job.group, job.guard);
                if let Some(place) = &place {
                    plan.profile.book(&job.group, &shortened(place, run));
                }
                if is_subject {
                    let start = place?.at;
                    all.start = all.start.min(start);
                    all.finish = all.finish.max(start + run);
                }
            }
        }
        Some(all)
    }
}

impl PlanPolicy {
    /// Returns the turns up to the last job that is asked about and has no promise. `planned` has the promised jobs in the
    /// order of their deadlines, `new` a job that is submitted now, with the number of such jobs.
    pub(super) fn fair_turns(
        &self,
        view: View<'_>,
        planned: &[PlannedJob],
        asked: &BTreeSet<JobId>,
        new: Option<(PlannedJob, u32)>,
    ) -> Vec<FairTurn> {
        let mut fair = self.waiting.fair.clone();
        if let Some((new, _)) = new {
            fair.insert(new);
        }
        let places = planned.iter().enumerate();
        let places: BTreeMap<JobId, usize> = places.map(|(at, job)| (job.id, at)).collect();
        let turns = fair.in_order(view).filter_map(|job| {
            if job.standing.is_planned() {
                return places.get(&job.id).copied().map(FairTurn::Planned);
            }
            let count = new.filter(|_| job.id == NEW).map_or(1, |(_, count)| count);
            Some(FairTurn::Unplanned {
                job: job.rule(view),
                count,
                is_subject: job.id == NEW || asked.contains(&job.id),
            })
        });
        let mut turns: Vec<FairTurn> = turns.collect();
        let is_asked = |turn: &FairTurn| match turn {
            FairTurn::Planned(_) => false,
            FairTurn::Unplanned { is_subject, .. } => *is_subject,
        };
        let last = turns.iter().rposition(is_asked);
        turns.truncate(last.map_or(0, |last| last + 1));
        turns
    }
}

impl LatestStarts {
    /// Moves a job that is not due to its earliest place, where it runs for `run`.
    fn bring_forward(&mut self, index: usize, job: &RuleJob, run: Span) {
        let Some(own) = self.places[index].clone().filter(|_| !self.is_due[index]) else {
            return;
        };
        self.profile.lift(&job.group, &own);
        let earliest = self.profile.earliest(&job.group, job.guard);
        let place = earliest.filter(|place| place.at < own.at);
        let place = place.map_or(own, |place| shortened(&place, run));
        self.profile.book(&job.group, &place);
    }
}

/// Returns a place for no longer than `run`.
fn shortened(place: &PlannedPlace, run: Span) -> PlannedPlace {
    PlannedPlace {
        length: place.length.min(run),
        ..place.clone()
    }
}
