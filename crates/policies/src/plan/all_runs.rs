//! Possible runs of all jobs at once, from the futures that otherwise answer a question about a few of them.
//!
//! Many jobs are played in fewer futures, so that a look at all takes as long as one at 600.
//!
//! Each future is dispatched by deadline twice, with and without the jobs that have no promise, because these change
//! nothing that a question about a promised job asks. Jobs of one batch are drawn one by one here, and together where
//! they are no subject of a question. So batches may differ a little from an answer about one of their jobs, and nothing
//! else of a promised or running job does.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::{PossibleRuns, SingleJobRuns, View};

use super::PlanPolicy;
use super::draws::{DrawnJobs, FutureDraws};
use super::fair_turns::{FairTurn, FairTurns};
use super::host_future::HostFuture;
use super::machine::{AssumedRun, PlanMachine};
use super::planned_job::PlannedJob;
use super::played_run::PlayedRun;
use super::scenario_jobs::ScenarioJob;
use super::timetable::JobGroup;

/// Maximum number of plays of a job, as far as [`LEAST_SCENARIOS`] lets: they take about 50 ms of a processor.
const MAX_PLAYS: usize = 20_000;
/// Minimum number of scenarios.
const LEAST_SCENARIOS: usize = 8;

/// The running and the waiting jobs.
struct AllJobs {
    jobs: Vec<ScenarioJob>,
    /// Of each the needs, and the run time by which the dispatch rule reserves.
    groups: Vec<JobGroup>,
    /// The slot of each.
    ids: Vec<JobId>,
    /// Number of the first of them that run or are dispatched by deadline.
    n_promised: usize,
    /// The last of them, which wait until they can be promised.
    n_waitlisted: usize,
    turns: Option<AllTurns>,
}

/// The turns of the waiting jobs.
struct AllTurns {
    turns: FairTurns,
    /// By turn: the place of its job among all jobs.
    jobs: Vec<usize>,
    /// By job: its deadline, if it is promised one, and [`Instant::MAX`] otherwise; None of a job without a turn.
    due: Vec<Option<Instant>>,
}

impl PlanPolicy {
    /// Returns the runs of each running or waiting job in each scenario.
    pub(super) fn play_all(&self, view: View<'_>) -> BTreeMap<JobId, PossibleRuns> {
        let all = self.all_jobs(view);
        let affordable = MAX_PLAYS / all.ids.len().max(1);
        let n_scenarios = affordable
            .max(LEAST_SCENARIOS)
            .min(self.settings.scenarios as usize);
        let mut draws = FutureDraws::new(n_scenarios);
        let hosts = HostFuture::drawn(view, &mut draws);
        let drawn: Vec<Vec<Vec<DrawnJobs>>> =
            all.jobs.iter().map(|job| draws.of(&job.block())).collect();
        let singles = all.jobs.iter().map(|job| {
            job.is_single().then(|| SingleJobRuns {
                run_time: job.belief,
                elapsed: job.elapsed(view.now),
                limit: None,
                starts: Vec::with_capacity(n_scenarios),
            })
        });
        let runs = singles.map(|single| PossibleRuns {
            runs: Vec::with_capacity(n_scenarios),
            single,
        });
        let mut runs: Vec<PossibleRuns> = runs.collect();
        let by_host = view.has_distinct_hosts() || all.groups.iter().any(JobGroup::needs_hosts);
        let futures = (0..n_scenarios).map(|scenario| {
            let future = Future {
                runs: all.runs(
                    view,
                    |job: usize| drawn[job][scenario].as_slice(),
                    &hosts[scenario],
                ),
                hosts: &hosts[scenario],
            };
            all.play(view, by_host, &future)
        });
        for of_all in futures {
            for (runs, run) in runs.iter_mut().zip(of_all) {
                runs.runs.push(run.interval);
                if let Some(single) = &mut runs.single {
                    single.starts.push(run.judged);
                }
            }
        }
        all.ids.into_iter().zip(runs).collect()
    }

    fn all_jobs(&self, view: View<'_>) -> AllJobs {
        let (planned, hopeless) = self.waiting.by_deadline(view.now);
        let of_fair: BTreeSet<JobId> = self.waiting.fair.in_order(view).map(|job| job.id).collect();
        let turns = self.fair_turns(view, &planned, &of_fair, None, None);
        let in_turn = turns.iter().filter_map(|turn| match turn {
            FairTurn::Planned(_) => None,
            FairTurn::Unplanned(turn) => Some(turn.job.id),
        });
        let by_deadline = planned.iter().chain(&hopeless).map(|job| job.id);
        let running = self.running.iter().copied();
        let mut ids: Vec<JobId> = running.chain(by_deadline).collect();
        let n_promised = ids.len();
        ids.extend(in_turn);
        let known: BTreeSet<JobId> = ids.iter().copied().collect();
        let n_before = ids.len();
        let unpromised = self.waiting.unpromised.values().map(|job| job.id);
        ids.extend(unpromised.filter(|id| !known.contains(id)));
        let n_waitlisted = ids.len() - n_before;
        let jobs = ids.iter().map(|&id| self.existing_job(view, id, true));
        let jobs: Vec<ScenarioJob> = jobs.collect();
        AllJobs {
            groups: jobs.iter().map(|job| job.group(view)).collect(),
            jobs,
            n_promised,
            n_waitlisted,
            turns: self.all_turns(view, (&planned, &hopeless), &ids, turns),
            ids,
        }
    }

    fn all_turns(
        &self,
        view: View<'_>,
        (planned, hopeless): (&[PlannedJob], &[PlannedJob]),
        ids: &[JobId],
        turns: Vec<FairTurn>,
    ) -> Option<AllTurns> {
        let places: BTreeMap<JobId, usize> =
            ids.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let mut due = vec![None; ids.len()];
        let mut jobs = Vec::with_capacity(turns.len());
        let turns = FairTurns::foreseen(turns);
        for turn in &turns {
            let (id, until) = match turn {
                FairTurn::Planned(turn) => (planned[turn.index].id, planned[turn.index].due),
                FairTurn::Unplanned(turn) => (turn.job.id, Instant::MAX),
            };
            let &at = places.get(&id)?;
            due[at] = Some(until);
            jobs.push(at);
        }
        let turns = (!turns.is_empty())
            .then(|| FairTurns::new(view, planned, hopeless, turns))
            .flatten()?;
        Some(AllTurns { turns, jobs, due })
    }
}

/// How long each job runs in a future.
enum FutureRun {
    /// It runs now, until the first instant; the dispatch rule reserves its processors until the second. Where a user
    /// comes before, it ends at the third.
    Until(AssumedRun, Instant),
    /// It waits: numbers of jobs with their run times.
    For(Vec<(u32, Span)>),
}

/// How long all jobs run in a future, and when users come to desktops.
struct Future<'a> {
    runs: Vec<FutureRun>,
    hosts: &'a HostFuture,
}

impl AllJobs {
    /// Returns how long each job runs if it does so for the quantiles of the levels that `drawn` gives.
    fn runs<'a>(
        &self,
        view: View<'_>,
        drawn: impl Fn(usize) -> &'a [DrawnJobs],
        hosts: &HostFuture,
    ) -> Vec<FutureRun> {
        let runs = self.jobs.iter().enumerate().map(|(at, job)| {
            if let (Some(id), Some(progress)) = (job.running, job.progress) {
                let [assumed, reserved] = job.ends(view.now, &progress, drawn(at));
                let end = job.end_with_users(view, assumed, (drawn(at), hosts));
                return FutureRun::Until((id, assumed, reserved), end);
            }
            let runs = drawn(at).iter();
            let runs = runs.map(|&(count, level)| (count, job.belief.quantile(level)));
            FutureRun::For(runs.collect())
        });
        runs.collect()
    }

    /// Returns from when until when each job runs in a future.
    fn play(&self, view: View<'_>, by_host: bool, future: &Future<'_>) -> Vec<PlayedRun> {
        let n_jobs = self.jobs.len();
        let n_free = n_jobs - self.n_waitlisted;
        let promised = 0..self.n_promised;
        let mut runs = self.by_deadline(view, by_host, future, promised.clone());
        let behind = [self.n_promised..n_free, n_free..n_jobs];
        for behind in behind.into_iter().filter(|behind| !behind.is_empty()) {
            let with_promised = promised.clone().chain(behind);
            let all = self.by_deadline(view, by_host, future, with_promised);
            runs.extend_from_slice(&all[self.n_promised..]);
        }
        if let Some(turns) = &self.turns {
            let in_turns = turns.play(view, future);
            for ((run, in_turn), due) in runs.iter_mut().zip(in_turns).zip(&turns.due) {
                if let (Some(in_turn), Some(due)) = (in_turn, due) {
                    let promised = Some(*due).filter(|due| *due < Instant::MAX);
                    *run = FairTurns::combine(promised, *run, in_turn);
                }
            }
        }
        runs
    }

    /// Returns the runs of some of the jobs, in their order, if these are dispatched by deadline.
    fn by_deadline(
        &self,
        view: View<'_>,
        by_host: bool,
        future: &Future<'_>,
        some: impl Iterator<Item = usize>,
    ) -> Vec<PlayedRun> {
        let mut runs = Vec::with_capacity(self.jobs.len());
        let mut running = Vec::new();
        let mut groups: Vec<JobGroup> = Vec::with_capacity(self.jobs.len());
        // By group: the place of its job, and the number of its jobs that have not started.
        let mut waiting: Vec<(usize, u32)> = Vec::with_capacity(self.jobs.len());
        for (at, index) in some.enumerate() {
            runs.push(PlayedRun::none(view.now));
            match &future.runs[index] {
                FutureRun::Until((id, assumed, reserved), end) => {
                    let job = &self.jobs[index];
                    if let (Some(start), Some(progress)) = (job.start, job.progress) {
                        runs[at].include_running(start, *end, progress);
                    }
                    running.push((*id, *assumed, *reserved));
                }
                FutureRun::For(parts) => {
                    for &(count, run) in parts {
                        let group = self.groups[index];
                        let reserved = group.reserved.max(run);
                        waiting.push((at, count));
                        groups.push(JobGroup {
                            count,
                            run,
                            reserved,
                            ..group
                        });
                    }
                }
            }
        }
        if waiting.is_empty() {
            return runs;
        }
        let machine = PlanMachine::new(view, by_host, running.into_iter(), future.hosts);
        machine.play(&groups, |start| {
            let (at, left) = &mut waiting[start.group];
            *left = left.saturating_sub(start.n_jobs());
            runs[*at].include(start.start(), start.last_end(), start.slowdown);
            true
        });
        for (at, _) in waiting.into_iter().filter(|(_, left)| *left > 0) {
            runs[at].include_none();
        }
        runs
    }
}

impl AllTurns {
    /// Returns the runs of the jobs if the start rule places them in their turns; None of a job that has no turn, or
    /// never fits.
    fn play(&self, view: View<'_>, future: &Future<'_>) -> Vec<Option<PlayedRun>> {
        let (mut running, mut run_times) = (Vec::new(), Vec::with_capacity(future.runs.len()));
        for run in &future.runs {
            match run {
                FutureRun::Until((id, end, _), _) => running.push((*id, *end)),
                FutureRun::For(parts) => {
                    for &(count, run) in parts {
                        run_times.extend(std::iter::repeat_n(run, count as usize));
                    }
                }
            }
        }
        let mut runs = vec![None; future.runs.len()];
        let mut misfits = BTreeSet::new();
        self.turns.play(
            view,
            (&running, future.hosts),
            &run_times,
            |turn, start, run| {
                let at = self.jobs[turn];
                match start {
                    Some((start, slowdown)) => {
                        let own: &mut PlayedRun = runs[at].get_or_insert(PlayedRun::none(view.now));
                        own.include(start, start + slowdown.time_for(run), slowdown);
                    }
                    None => drop(misfits.insert(at)),
                }
                true
            },
        );
        for at in misfits {
            runs[at] = None;
        }
        runs
    }
}
