//! Possible runs of a job: the dispatch rule played with run times drawn from what is believed of
//! each job.

use tollgate_model::{Instant, Probability, Span};
use tollgate_policy::{OutlookSubject, PossibleRuns, SingleJobRuns, View};

use super::PlanPolicy;
use super::draws::{DrawnJobs, FutureDraws};
use super::fair_turns::FairTurns;
use super::free_profile::RunningUntil;
use super::host_future::HostFuture;
use super::machine::PlanMachine;
use super::played_run::PlayedRun;
use super::proc_pool::RunningGroup;
use super::scenario_jobs::{ScenarioJob, ScenarioJobs};
use super::timetable::{self, JobGroup};

/// Maximum number of scenarios.
const MAX_SCENARIOS: u32 = 512;

impl PlanPolicy {
    /// Returns the runs of some jobs in each scenario.
    pub(super) fn play_scenarios(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
        least_probability: Option<Probability>,
    ) -> PossibleRuns {
        let ScenarioJobs {
            jobs,
            n_by_deadline,
            turns,
        } = self.scenario_jobs(view, subject);
        let max_at_once = match subject {
            OutlookSubject::Array(array) => array.max_at_once,
            OutlookSubject::New(..) | OutlookSubject::Existing(_) | OutlookSubject::InGroup(..) => {
                None
            }
        };
        let n_scenarios = n_scenarios(self.settings.scenarios, least_probability) as usize;
        let mut draws = FutureDraws::new(n_scenarios);
        let hosts = HostFuture::drawn(view, &mut draws);
        let drawn: Vec<Vec<Vec<DrawnJobs>>> =
            jobs.iter().map(|job| draws.of(&job.block())).collect();
        let subjects = jobs.iter().filter(|job| job.is_subject);
        let single = ScenarioJob::single(subjects).filter(|_| max_at_once.is_none());
        let mut starts = Vec::with_capacity(n_scenarios);
        let runs = (0..n_scenarios).map(|scenario| {
            let drawn = |job: usize| drawn[job][scenario].as_slice();
            let hosts = &hosts[scenario];
            let mut run = run_of_subjects(view, &jobs[..n_by_deadline], (drawn, hosts));
            if let Some(turns) = &turns {
                let in_turns = run_in_turns(view, turns, &jobs, (drawn, hosts));
                run = in_turns.map_or(run, |in_turns| {
                    FairTurns::combine(turns.promised_end, run, in_turns)
                });
            }
            starts.push(run.judged);
            let mut run = run.interval;
            if let Some(max_at_once) = max_at_once {
                run.finish = run
                    .finish
                    .max(end_in_turns(view, max_at_once, &jobs, drawn));
            }
            run
        });
        PossibleRuns {
            runs: runs.collect(),
            single: single.map(|job| SingleJobRuns {
                elapsed: job.elapsed(view.now),
                run_time: job.belief,
                limit: None,
                starts,
            }),
        }
    }
}

/// Returns the number of scenarios that can tell whether something has a probability: 2 / (1 - P), within
/// the usual number and the maximum.
fn n_scenarios(usual: u32, least_probability: Option<Probability>) -> u32 {
    let needed = least_probability.map_or(0.0, |probability| 2.0 / (1.0 - probability.as_f64()));
    let needed = needed.min(f64::from(MAX_SCENARIOS)).ceil() as u32;
    usual.max(needed)
}

/// Returns the first start and the last end of the subjects. Each job runs for the quantiles of the levels
/// that `drawn` gives, and hosts are as in a future.
fn run_of_subjects<'a>(
    view: View<'_>,
    jobs: &[ScenarioJob],
    (drawn, hosts): (impl Fn(usize) -> &'a [DrawnJobs], &HostFuture),
) -> PlayedRun {
    let mut running = Vec::new();
    let mut groups: Vec<JobGroup> = Vec::new();
    // By group: the number of its jobs up to its last subject, 0 without one.
    let mut subjects: Vec<u32> = Vec::new();
    let mut run = PlayedRun::none(view.now);
    for (at, job) in jobs.iter().enumerate() {
        if let (Some(id), Some(start), Some(progress)) = (job.running, job.start, job.progress) {
            let [assumed, reserved] = job.ends(view.now, &progress, drawn(at));
            if job.is_subject {
                let users = (drawn(at), hosts);
                let end = job.end_with_users(view, assumed, users);
                run.include_running(start, end, progress);
            }
            running.push((id, assumed, reserved));
            continue;
        }
        for group in job.groups(view, drawn(at)) {
            subjects.push(if job.is_subject { group.count } else { 0 });
            groups.push(group);
        }
    }
    let mut waiting = subjects.iter().filter(|&&jobs| jobs > 0).count();
    if waiting == 0 {
        return run;
    }
    let by_host = view.has_distinct_hosts() || groups.iter().any(JobGroup::needs_hosts);
    let machine = PlanMachine::new(view, by_host, running.into_iter(), hosts);
    machine.play(&groups, |start| {
        let left = &mut subjects[start.group];
        if *left > 0 {
            *left = left.saturating_sub(start.n_jobs());
            run.include(start.start(), start.last_end(), start.slowdown);
            waiting -= usize::from(*left == 0);
        }
        waiting > 0
    });
    if waiting > 0 {
        run.include_none();
    }
    run
}

/// Returns the same if the start rule places the jobs in their turns, beside the latest starts of the promised ones; None if a
/// subject never fits.
fn run_in_turns<'a>(
    view: View<'_>,
    turns: &FairTurns,
    jobs: &[ScenarioJob],
    (drawn, hosts): (impl Fn(usize) -> &'a [DrawnJobs] + Copy, &HostFuture),
) -> Option<PlayedRun> {
    let mut all = PlayedRun::none(view.now);
    for (at, job) in jobs.iter().enumerate().filter(|(_, job)| job.is_subject) {
        if let (Some(start), Some(progress)) = (job.start, job.progress) {
            let [end, _] = job.ends(view.now, &progress, drawn(at));
            let end = job.end_with_users(view, end, (drawn(at), hosts));
            all.include_running(start, end, progress);
        }
    }
    let (running, runs) = run_times(view, jobs, drawn);
    let mut fit = true;
    turns.play(view, (&running, hosts), &runs, |_, start, run| {
        match start {
            Some((start, slowdown)) => {
                all.include(start, start + slowdown.time_for(run), slowdown);
            }
            None => fit = false,
        }
        fit
    });
    fit.then_some(all)
}

/// Returns the ends of the running jobs, and the run times of the waiting ones in their order.
fn run_times<'a>(
    view: View<'_>,
    jobs: &[ScenarioJob],
    drawn: impl Fn(usize) -> &'a [DrawnJobs],
) -> (Vec<RunningUntil>, Vec<Span>) {
    let (mut running, mut runs) = (Vec::new(), Vec::new());
    for (at, job) in jobs.iter().enumerate() {
        if let (Some(id), Some(progress)) = (job.running, job.progress) {
            let [end, _] = job.ends(view.now, &progress, drawn(at));
            running.push((id, end));
            continue;
        }
        for &(count, level) in drawn(at) {
            let run = job.belief.quantile(level);
            runs.extend(std::iter::repeat_n(run, count as usize));
        }
    }
    (running, runs)
}

/// Returns the last end of the subjects if at most `max_at_once` of them run at a time and nothing else
/// hinders them. It is the dispatch rule on a machine with as many places.
fn end_in_turns<'a>(
    view: View<'_>,
    max_at_once: u32,
    jobs: &[ScenarioJob],
    drawn: impl Fn(usize) -> &'a [DrawnJobs],
) -> Instant {
    let mut running = Vec::new();
    let mut groups = Vec::new();
    let subjects = jobs.iter().enumerate().filter(|(_, job)| job.is_subject);
    for (at, job) in subjects {
        match &job.progress {
            Some(progress) => {
                let [end, reserved_end] = job.ends(view.now, progress, drawn(at));
                running.push(RunningGroup {
                    end,
                    reserved_end,
                    procs: 1,
                });
            }
            None => groups.extend(
                job.groups(view, drawn(at))
                    .map(|group| JobGroup { procs: 1, ..group }),
            ),
        }
    }
    let mut last = view.now;
    let n_waiting: u32 = groups.iter().map(|group| group.count).sum();
    let mut left = n_waiting;
    let idle = max_at_once.saturating_sub(running.len() as u32);
    timetable::play(
        view.now,
        idle,
        view.maintenance(),
        &running,
        &groups,
        |start| {
            last = last.max(start.last_end());
            left -= start.n_jobs();
            left > 0
        },
    );
    match left {
        0 => last,
        _ => Instant::MAX,
    }
}
