//! Possible runs of a job: the dispatch rule played with run times drawn from what is believed of
//! each job.

use std::collections::BTreeSet;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Kinship, Probability};
use tollgate_policy::{AdmissionDecision, JobPhase, OutlookSubject, View};

use super::draws::{DrawnJobs, FutureDraws, JobBlock};
use super::machine::PlanMachine;
use super::planned_job::Standing;
use super::timetable::JobGroup;
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
        let jobs = self.scenario_jobs(view, subject);
        let n_scenarios = n_scenarios(self.settings.scenarios, tellable) as usize;
        let mut draws = FutureDraws::new(n_scenarios);
        let drawn: Vec<Vec<Vec<DrawnJobs>>> =
            jobs.iter().map(|job| draws.of(&job.block())).collect();
        let runs = (0..n_scenarios).map(|scenario| {
            let drawn = |job: usize| drawn[job][scenario].as_slice();
            run_of_subjects(view, &jobs, drawn)
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
        let new = match subject {
            OutlookSubject::New((spec, forecast), count, kinship) => Some(ScenarioJob {
                spec: *spec,
                count,
                belief: belief_of(spec, forecast),
                kinship,
                sequence: u64::MAX,
                start: None,
                running: None,
                is_subject: true,
            }),
            OutlookSubject::Existing(_) => None,
        };
        let promised_place = new.as_ref().and_then(|new| self.promised_place(view, new));
        if let (Some(new), Some(place)) = (new, promised_place) {
            let at = planned.partition_point(|job| job.place <= place);
            jobs.insert(n_running + at, new);
        } else {
            // What waits without a promise comes behind all that have one.
            let waiting = self.unpromised_until(view, &asked, new.as_ref());
            let waiting = waiting.into_iter();
            jobs.extend(waiting.filter_map(|id| match id {
                NEW => new,
                id => Some(existing(id)),
            }));
        }
        jobs.dedup_by(|next, block| block.absorb(next));
        jobs
    }
}

impl PlanPolicy {
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

    /// Returns the waiting jobs without a promise in the fair order, up to the last of those asked for.
    fn unpromised_until(
        &self,
        view: View<'_>,
        asked: &BTreeSet<JobId>,
        new: Option<&ScenarioJob>,
    ) -> Vec<JobId> {
        let waits = |id: &&JobId| view.job(**id).phase == JobPhase::Queued;
        let standings = asked.iter().filter(waits);
        let standings = standings.map(|&id| (id, self.planned_job(view, id).standing));
        let others: Vec<_> = standings.filter(|(_, of)| !of.is_planned()).collect();
        if others.is_empty() && new.is_none() {
            return Vec::new();
        }
        let mut fair = self.waiting.fair.clone();
        if let Some(new) = new {
            fair.insert(self.candidate(&new.spec, &new.belief));
        }
        let order = fair.in_order(view).filter(|job| !job.standing.is_planned());
        let mut order: Vec<JobId> = order.map(|job| job.id).collect();
        let last = order
            .iter()
            .rposition(|id| *id == NEW || asked.contains(id));
        order.truncate(last.map_or(0, |last| last + 1));
        let waitlisted = others.iter().filter(|(_, of)| *of == Standing::Waitlisted);
        order.extend(waitlisted.map(|&(id, _)| id));
        order
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
            let elapsed = view.now.since(start);
            let level = drawn(at).first().map_or(RESERVED, |&(_, level)| level);
            let levels = [level, RESERVED];
            let [assumed, reserved] = job.belief.quantiles_given_survived(elapsed, levels);
            let assumed = start + assumed;
            if job.is_subject {
                include(start, assumed);
            }
            running.push((id, assumed, assumed.max(start + reserved)));
            continue;
        }
        let reserved = job.belief.quantile(RESERVED);
        for &(count, level) in drawn(at) {
            let run = job.belief.quantile(level);
            groups.push(JobGroup {
                procs: job.spec.procs,
                count,
                run,
                reserved: reserved.max(run),
                ..host_needs(view, &job.spec.needs)
            });
            subjects.push(if job.is_subject { count } else { 0 });
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
