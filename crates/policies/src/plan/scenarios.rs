//! Possible runs of a job: the dispatch rule played with run times drawn from what is believed of
//! each job.
//!
//! Jobs of one user that were submitted shortly after each other are long or short together: they
//! share their draws. A draw depends on the burst of submissions and on the scenario alone, so a
//! further job changes nobody's draws.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Probability, UserId};
use tollgate_policy::{AdmissionDecision, OutlookSubject, View};

use super::machine::PlanMachine;
use super::timetable::JobGroup;
use super::{PlanPolicy, RESERVED, WaitingList, belief_of, host_needs};

/// Maximum number of scenarios.
const MAX_SCENARIOS: u32 = 512;

/// Draws of all policies; any number serves.
const SEED: u64 = 0x746f_6c6c_6761_7465;

/// A job of the scenarios.
#[derive(Clone, Copy, Debug)]
struct ScenarioJob {
    spec: JobSpec,
    /// Number of such jobs.
    count: u32,
    belief: Distribution,
    /// The order of submission.
    sequence: u64,
    /// The start, if the job runs.
    start: Option<Instant>,
    /// The job, if it runs.
    running: Option<JobId>,
    is_subject: bool,
}

impl PlanPolicy {
    /// Returns from when until when some jobs run in each scenario; [`Instant::MAX`] stands for never.
    pub(super) fn play_scenarios(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
        tellable: Option<Probability>,
    ) -> Vec<RunInterval> {
        let jobs = self.scenario_jobs(view, subject);
        let bursts = self.bursts(&jobs);
        let n_scenarios = n_scenarios(self.settings.scenarios, tellable) as usize;
        let draws: BTreeMap<u64, Vec<Probability>> = bursts
            .iter()
            .map(|&burst| (burst, draws_of(burst, n_scenarios)))
            .collect();
        let draws: Vec<&Vec<Probability>> = bursts.iter().map(|burst| &draws[burst]).collect();
        let runs = (0..n_scenarios).map(|scenario| {
            let level = |job: usize| draws[job][scenario];
            run_of_subjects(view, &jobs, &bursts, level)
        });
        runs.collect()
    }

    /// Returns the running jobs, then the waiting ones in the order in which they are dispatched.
    fn scenario_jobs(&self, view: View<'_>, subject: OutlookSubject<'_>) -> Vec<ScenarioJob> {
        let asked: BTreeSet<JobId> = match subject {
            OutlookSubject::Existing(jobs) => jobs.iter().copied().collect(),
            OutlookSubject::New(..) => BTreeSet::new(),
        };
        let existing = |id: JobId| {
            let job = view.job(id);
            ScenarioJob {
                spec: job.spec,
                count: 1,
                belief: belief_of(&job.spec, view.forecast(id)),
                sequence: job.sequence,
                start: self.running.contains(&id).then_some(job.start).flatten(),
                running: self.running.contains(&id).then_some(id),
                is_subject: asked.contains(&id),
            }
        };
        let order = self.dispatch_order(view.now);
        let mut jobs: Vec<ScenarioJob> = self.running.iter().map(|&id| existing(id)).collect();
        let n_running = jobs.len();
        jobs.extend(order.iter().map(|(_, job)| existing(job.id)));
        // What waits without a promise comes behind all that have one.
        let unpromised = asked
            .iter()
            .filter(|id| WaitingList::of(view.job(**id)) != WaitingList::Promised)
            .filter(|id| !self.running.contains(id));
        jobs.extend(unpromised.map(|&id| existing(id)));
        if let OutlookSubject::New((spec, forecast), count) = subject {
            let place = match self.decide(view, spec, forecast, count) {
                Ok(AdmissionDecision::Promise { due, .. }) => due.or(spec.due()),
                Ok(
                    AdmissionDecision::Queue
                    | AdmissionDecision::Waitlist { .. }
                    | AdmissionDecision::Run { .. }
                    | AdmissionDecision::Reject(_),
                )
                | Err(_) => None,
            };
            let place = place.unwrap_or(Instant::MAX);
            let at = order.partition_point(|((other, _), _)| *other <= place);
            let new = ScenarioJob {
                spec: *spec,
                count,
                belief: belief_of(spec, forecast),
                sequence: u64::MAX,
                start: None,
                running: None,
                is_subject: true,
            };
            jobs.insert(n_running + at, new);
        }
        jobs
    }

    /// Returns the burst of each job: the order of submission of the first job of it.
    fn bursts(&self, jobs: &[ScenarioJob]) -> Vec<u64> {
        let mut by_user: Vec<(UserId, u64, Instant, usize)> = jobs
            .iter()
            .enumerate()
            .map(|(at, job)| (job.spec.user, job.sequence, job.spec.submit, at))
            .collect();
        by_user.sort_unstable();
        let mut bursts = vec![0; jobs.len()];
        let mut last: Option<(UserId, Instant, u64)> = None;
        for (user, sequence, submit, at) in by_user {
            let burst = match last {
                Some((of, before, burst))
                    if of == user && submit.since(before) <= self.settings.dependence =>
                {
                    burst
                }
                Some(_) | None => sequence,
            };
            bursts[at] = burst;
            last = Some((user, submit, burst));
        }
        bursts
    }
}

/// Returns the number of scenarios that can tell whether something has a probability: 2 / (1 - P), within
/// the usual number and the maximum.
fn n_scenarios(usual: u32, tellable: Option<Probability>) -> u32 {
    let needed = tellable.map_or(0.0, |probability| 2.0 / (1.0 - probability.as_f64()));
    let needed = needed.min(f64::from(MAX_SCENARIOS)).ceil() as u32;
    usual.max(needed)
}

/// Returns the first start and the last end of the subjects if each job runs for the quantile that
/// `level` gives.
fn run_of_subjects(
    view: View<'_>,
    jobs: &[ScenarioJob],
    bursts: &[u64],
    level: impl Fn(usize) -> Probability,
) -> RunInterval {
    let mut running = Vec::new();
    let mut groups: Vec<JobGroup> = Vec::new();
    // By group: the number of its jobs up to its last subject, 0 without one.
    let mut subjects: Vec<u32> = Vec::new();
    let mut run = RunInterval {
        start: Instant::MAX,
        finish: view.now,
    };
    let mut include = |start: Instant, end: Instant| {
        run.start = run.start.min(start);
        run.finish = run.finish.max(end);
    };
    for (at, job) in jobs.iter().enumerate() {
        if let (Some(id), Some(start)) = (job.running, job.start) {
            let elapsed = view.now.since(start);
            let levels = [level(at), RESERVED];
            let [assumed, reserved] = job.belief.quantiles_given_survived(elapsed, levels);
            let assumed = start + assumed;
            if job.is_subject {
                include(start, assumed);
            }
            running.push((id, assumed, assumed.max(start + reserved)));
            continue;
        }
        let is_alike = at > 0 && {
            let before = &jobs[at - 1];
            before.start.is_none()
                && before.spec.procs == job.spec.procs
                && before.spec.needs == job.spec.needs
                && bursts[at - 1] == bursts[at]
                && before.belief == job.belief
        };
        if !is_alike {
            let run = job.belief.quantile(level(at));
            let reserved = job.belief.quantile(RESERVED).max(run);
            groups.push(JobGroup {
                procs: job.spec.procs,
                run,
                reserved,
                ..host_needs(view, &job.spec.needs)
            });
            subjects.push(0);
        }
        let group = groups.len() - 1;
        groups[group].count += job.count;
        if job.is_subject {
            subjects[group] = groups[group].count;
        }
    }
    let mut waiting = subjects.iter().filter(|&&jobs| jobs > 0).count();
    if waiting == 0 {
        return run;
    }
    let by_host = view.has_closing_hosts() || groups.iter().any(JobGroup::needs_hosts);
    let machine = PlanMachine::new(view, by_host, running.into_iter());
    machine.play(&groups, |start| {
        let left = &mut subjects[start.group];
        if *left > 0 {
            *left = left.saturating_sub(start.count);
            include(start.end - groups[start.group].run, start.end);
            waiting -= usize::from(*left == 0);
        }
        waiting > 0
    });
    if waiting > 0 {
        include(Instant::MAX, Instant::MAX);
    }
    run
}

/// Returns the levels of a burst in each scenario: (i + 1/2) / K for i < K, in an order that the burst
/// determines.
fn draws_of(burst: u64, n_scenarios: usize) -> Vec<Probability> {
    let level = |i: usize| (i as f64 + 0.5) / n_scenarios as f64;
    let mut levels: Vec<Probability> = (0..n_scenarios)
        .map(|i| Probability::new(level(i)).expect("between 0 and 1"))
        .collect();
    let mut state = SEED ^ burst;
    for last in (1..n_scenarios).rev() {
        let at = split_mix(&mut state) % (last as u64 + 1);
        levels.swap(last, at as usize);
    }
    levels
}

/// Returns the next number of SplitMix64 (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
