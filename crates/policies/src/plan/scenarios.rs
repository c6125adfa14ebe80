//! Possible runs of a job: the dispatch rule played with run times drawn from what is believed of
//! each job.

use std::collections::BTreeSet;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Kinship, Otherwise, Probability};
use tollgate_policy::{AdmissionDecision, JobPhase, OutlookSubject, View};

use super::draws::{DrawnJobs, FutureDraws, JobBlock};
use super::fair_turns::{FairTurn, FairTurns};
use super::machine::PlanMachine;
use super::planned_job::{PlannedJob, Standing};
use super::timetable::{self, JobGroup, RunningGroup};
use super::{NEW, PlanPolicy, RESERVED, belief_of, host_needs};

/// Maximum number of scenarios.
const MAX_SCENARIOS: u32 = 512;

/// A job of the scenarios, or several equal ones that are dispatched one after another.
#[derive(Clone, Copy, Debug)]
struct ScenarioJob {
    spec: JobSpec,
    /// Number of such jobs.
    count: u32,
    belief: Distribution,
    kinship: Option<Kinship>,
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
        let (jobs, turns) = self.scenario_jobs(view, subject);
        let max_at_once = match subject {
            OutlookSubject::Array(array) => array.max_at_once,
            OutlookSubject::New(..) | OutlookSubject::Existing(_) | OutlookSubject::InGroup(..) => {
                None
            }
        };
        let n_scenarios = n_scenarios(self.settings.scenarios, tellable) as usize;
        let mut draws = FutureDraws::new(n_scenarios);
        let drawn: Vec<Vec<Vec<DrawnJobs>>> =
            jobs.iter().map(|job| draws.of(&job.block())).collect();
        let runs = (0..n_scenarios).map(|scenario| {
            let drawn = |job: usize| drawn[job][scenario].as_slice();
            let mut run = run_of_subjects(view, &jobs, drawn);
            if let Some(turns) = &turns {
                // By the plan the rule starts jobs out of turn, too, if processors are idle.
                if let Some(fair) = run_in_turns(view, turns, &jobs, drawn) {
                    run.start = run.start.min(fair.start);
                    run.finish = run.finish.min(fair.finish);
                }
            }
            if let Some(max_at_once) = max_at_once {
                run.finish = run
                    .finish
                    .max(end_in_turns(view, max_at_once, &jobs, drawn));
            }
            run
        });
        runs.collect()
    }

    /// Returns the running jobs, then the waiting ones in the order in which they are dispatched, those without a promise
    /// last. If no waiting subject has a promise, also the turns in which they start beside the promised ones.
    fn scenario_jobs(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
    ) -> (Vec<ScenarioJob>, Option<FairTurns>) {
        let (asked, new) = match subject {
            OutlookSubject::Existing(jobs) => (jobs, None),
            OutlookSubject::InGroup(ref job, _) => (std::slice::from_ref(job), None),
            OutlookSubject::New(job, count, kinship) => (&[][..], Some((job, count, kinship))),
            OutlookSubject::Array(array) => (array.tasks, array.later),
        };
        let asked: BTreeSet<JobId> = asked.iter().copied().collect();
        let existing = |id: JobId| {
            let job = view.job(id);
            ScenarioJob {
                spec: job.spec,
                count: job.count,
                belief: belief_of(&job.spec, view.forecast(id)),
                kinship: view.kinship(id),
                sequence: job.sequence,
                start: self.running.contains(&id).then_some(job.start).flatten(),
                running: self.running.contains(&id).then_some(id),
                is_subject: asked.contains(&id),
            }
        };
        let mut jobs: Vec<ScenarioJob> = self.running.iter().map(|&id| existing(id)).collect();
        let n_running = jobs.len();
        let (planned, hopeless) = self.waiting.by_deadline(view.now);
        let order = planned.iter().chain(&hopeless);
        jobs.extend(order.map(|job| existing(job.id)));
        let new = new.map(|((spec, forecast), count, kinship)| ScenarioJob {
            spec: *spec,
            count,
            belief: belief_of(spec, forecast),
            kinship,
            sequence: u64::MAX,
            start: None,
            running: None,
            is_subject: true,
        });
        let promised_place = new.as_ref().and_then(|new| self.promised_place(view, new));
        if let (Some(new), Some(place)) = (new, promised_place) {
            let at = planned.partition_point(|job| job.place <= place);
            jobs.insert(n_running + at, new);
            jobs.dedup_by(|next, block| block.absorb(next));
            return (jobs, None);
        }
        let subjects = self.waiting_standings(view, &asked);
        let is_any = new.is_some() || subjects.iter().any(|(_, of)| !of.is_planned());
        let candidate = new.map(|new| {
            let mut candidate: PlannedJob = self.candidate(&new.spec, &new.belief);
            candidate.count = new.count;
            candidate
        });
        let n_before = match subject {
            OutlookSubject::InGroup(_, n_before) => Some(n_before),
            OutlookSubject::New(..) | OutlookSubject::Existing(_) | OutlookSubject::Array(_) => {
                None
            }
        };
        let turns = match is_any {
            true => self.fair_turns(view, &planned, &asked, candidate, n_before),
            false => Vec::new(),
        };
        if let (Some(n_before), Some(at)) = (n_before, jobs.iter().position(|job| job.is_subject)) {
            jobs.splice(at..=at, jobs[at].around(n_before).collect::<Vec<_>>());
        }
        // What waits without a promise comes behind all that have one.
        jobs.extend(turns.iter().filter_map(|turn| match turn {
            FairTurn::Planned(_) => None,
            FairTurn::Unplanned(turn) if turn.job.id == NEW => new,
            FairTurn::Unplanned(turn) => {
                let job = existing(turn.job.id);
                Some(ScenarioJob {
                    count: turn.job.group.count,
                    sequence: job.sequence + u64::from(turn.n_before),
                    is_subject: turn.is_subject,
                    ..job
                })
            }
        }));
        let waitlisted = subjects
            .iter()
            .filter(|(_, of)| *of == Standing::Waitlisted);
        jobs.extend(waitlisted.map(|&(id, _)| existing(id)));
        jobs.dedup_by(|next, block| block.absorb(next));
        let may_wait = |new: ScenarioJob| {
            let has_deadline = new.spec.sla.deadline.is_some();
            has_deadline && self.settings.otherwise_of(&new.spec) != Otherwise::Run
        };
        let take_turns =
            !new.is_some_and(may_wait) && subjects.iter().all(|(_, of)| of.takes_turns());
        let turns = (take_turns && is_any)
            .then(|| FairTurns::new(view, &planned, &hopeless, turns))
            .flatten();
        (jobs, turns)
    }

    /// Returns those of some jobs that wait, with their standings.
    fn waiting_standings(&self, view: View<'_>, jobs: &BTreeSet<JobId>) -> Vec<(JobId, Standing)> {
        let waiting = jobs
            .iter()
            .filter(|id| view.job(**id).phase == JobPhase::Queued);
        let standings = waiting.map(|&id| (id, self.planned_job(view, id).standing));
        standings.collect()
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
    fn block(&self) -> JobBlock {
        JobBlock {
            user: self.spec.user,
            kinship: self.kinship,
            sequence: self.sequence,
            count: self.count,
        }
    }

    /// Returns the assumed end of a job that runs since `start`, and the end by which the dispatch rule reserves.
    fn ends(&self, now: Instant, start: Instant, drawn: &[DrawnJobs]) -> [Instant; 2] {
        let level = drawn.first().map_or(RESERVED, |&(_, level)| level);
        let levels = [level, RESERVED];
        let runs = self
            .belief
            .quantiles_given_survived(now.since(start), levels);
        let [assumed, reserved] = runs.map(|run| start + run);
        [assumed, assumed.max(reserved)]
    }

    /// Returns the groups of jobs that wait and run equally long.
    fn groups(
        &self,
        view: View<'_>,
        drawn: &[DrawnJobs],
    ) -> impl Iterator<Item = JobGroup> + use<'_> {
        let reserved = self.belief.quantile(RESERVED);
        let needs = host_needs(view, &self.spec.needs);
        let drawn = drawn.to_vec();
        drawn.into_iter().map(move |(count, level)| {
            let run = self.belief.quantile(level);
            JobGroup {
                procs: self.spec.procs,
                count,
                run,
                reserved: reserved.max(run),
                ..needs
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
            && self.belief == next.belief
            && self.is_subject == next.is_subject;
        if is_alike {
            self.count += next.count;
        }
        is_alike
    }
}

/// Returns the number of scenarios that can tell whether something has a probability: 2 / (1 - P), within
/// the usual number and the maximum.
fn n_scenarios(usual: u32, tellable: Option<Probability>) -> u32 {
    let needed = tellable.map_or(0.0, |probability| 2.0 / (1.0 - probability.as_f64()));
    let needed = needed.min(f64::from(MAX_SCENARIOS)).ceil() as u32;
    usual.max(needed)
}

/// Returns the first start and the last end of the subjects if each job runs for the quantiles of the levels
/// that `drawn` gives.
fn run_of_subjects<'a>(
    view: View<'_>,
    jobs: &[ScenarioJob],
    drawn: impl Fn(usize) -> &'a [DrawnJobs],
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
            let [assumed, reserved] = job.ends(view.now, start, drawn(at));
            if job.is_subject {
                include(start, assumed);
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
    let by_host = view.has_closing_hosts() || groups.iter().any(JobGroup::needs_hosts);
    let machine = PlanMachine::new(view, by_host, running.into_iter());
    machine.play(&groups, |start| {
        let left = &mut subjects[start.group];
        if *left > 0 {
            *left = left.saturating_sub(start.n_jobs());
            include(start.start(), start.last_end());
            waiting -= usize::from(*left == 0);
        }
        waiting > 0
    });
    if waiting > 0 {
        include(Instant::MAX, Instant::MAX);
    }
    run
}

/// Returns the same if the start rule places the subjects beside the latest starts of the promised jobs; None if one
/// never fits.
fn run_in_turns<'a>(
    view: View<'_>,
    turns: &FairTurns,
    jobs: &[ScenarioJob],
    drawn: impl Fn(usize) -> &'a [DrawnJobs],
) -> Option<RunInterval> {
    let (mut running, mut runs) = (Vec::new(), Vec::new());
    let mut begun: Vec<RunInterval> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        if let (Some(id), Some(start)) = (job.running, job.start) {
            let [finish, _] = job.ends(view.now, start, drawn(at));
            running.push((id, finish));
            begun.extend(job.is_subject.then_some(RunInterval { start, finish }));
            continue;
        }
        for &(count, level) in drawn(at) {
            let run = job.belief.quantile(level);
            runs.extend(std::iter::repeat_n(run, count as usize));
        }
    }
    let waiting = turns.play(view, &running, &runs)?;
    Some(begun.iter().fold(waiting, |all, run| RunInterval {
        start: all.start.min(run.start),
        finish: all.finish.max(run.finish),
    }))
}

/// Returns the last end of the subjects if at most `max_at_once` of them run at a time and nothing else hinders
/// them: the dispatch rule on a machine with as many places.
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
        match job.start {
            Some(start) => {
                let [end, reserved_end] = job.ends(view.now, start, drawn(at));
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
