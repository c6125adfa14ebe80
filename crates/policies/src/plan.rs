//! The policy that promises at submission, from a plan of all promises over time.
//!
//! Jobs are rigid (all processors at once), have their processors to themselves and are never paused. Every
//! promised job stands in the plan with the run time that it exceeds with probability 1 - `level`. A job is
//! promised if by that plan it ends in time and every job that was in time without it still is. Its place is
//! that of its deadline or, where it would end too late there, of an earlier date. Promises are never
//! withdrawn or traded. A job that cannot be promised runs where no promise suffers, and the test for a
//! promise is repeated when others end early.
//!
//! | module | contents |
//! |---|---|
//! | `admission` | the decision on a submitted job, and its price |
//! | `pass` | the steps of a pass |
//! | `planned_job` | a waiting job as the plan sees it |
//! | `waiting_jobs` | the waiting jobs, in several orders |
//! | `fair_order` | the order in which they start while no promise suffers |
//! | `fair_turns` | when jobs start in that order in a future |
//! | `start_rule` | which of them start now |
//! | `deadline_dispatch` | which promised ones start by deadline, and whether their plan holds if others start |
//! | `latest_starts` | how late the promised ones can start |
//! | `free_profile` | free resources over time, on each host |
//! | `proc_pool` | processors that are all alike, and the jobs that run on them |
//! | `timetable` | the dispatch rule by deadline, and a timetable of assumed run times |
//! | `host_machine` | the same where it matters on which hosts jobs run |
//! | `host_times` | until when jobs may run on a host, by its closing and by its users |
//! | `host_future` | when users come to hosts, and when hosts come that are expected |
//! | `machine` | the choice between the two |
//! | `promise_test` | the test of a job against the plan |
//! | `scenarios` | possible ends of a job |
//! | `all_runs` | those of all jobs at once |
//! | `scenario_jobs` | the jobs that run in them |
//! | `draws` | how long the jobs of each scenario run: those of a batch are long together |
//! | `settings` | parameters |
//! | `user_share` | how much of the machine the promises to one user may take |

mod admission;
mod all_runs;
mod deadline_dispatch;
mod draws;
mod fair_order;
mod fair_turns;
mod free_profile;
mod host_future;
mod host_machine;
mod host_times;
mod latest_starts;
mod machine;
mod pass;
mod planned_job;
mod played_run;
mod proc_pool;
mod promise_test;
mod scenario_jobs;
mod scenarios;
mod settings;
mod start_rule;
mod timetable;
mod user_share;
mod waiting_jobs;

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{
    Distribution, Instant, JobId, JobSpec, Market, NodeRange, PlacementNeeds, Probability, Span,
};
use tollgate_policy::{
    AdmissionDecision, InvariantViolation, JobPhase, OutlookSubject, Policy, PolicyContext,
    PossibleRuns, ProbeScratch, View, WaitOrder,
};

use host_future::HostFuture;
use host_times::HostChoice;
use machine::PlanMachine;
use planned_job::PlannedJob;
use timetable::JobGroup;
use waiting_jobs::WaitingJobs;

pub use settings::PlanParams;
pub use user_share::UserShare;

/// The probability with which a running job ends by the instant up to which the dispatch rule reserves
/// its processors.
const RESERVED: Probability = Probability::new(0.9).expect("a probability");

/// The id of a job that is submitted now.
const NEW: JobId = JobId(u32::MAX);

/// A policy that plans.
#[derive(Clone, Debug)]
pub struct PlanPolicy {
    settings: PlanParams,
    market: Market,
    waiting: WaitingJobs,
    running: BTreeSet<JobId>,
    /// True if a job has ended, or one without a promise has been queued, since the last pass. The tasks of
    /// an array that could not be promised together may fit one by one.
    has_changed: bool,
    /// The instant up to which jobs that have waited for long were noticed.
    waits_noted: Instant,
}

impl PlanPolicy {
    /// Creates a policy with these settings in this market.
    pub fn new(settings: PlanParams, market: Market) -> Self {
        Self {
            settings,
            market,
            waiting: WaitingJobs::default(),
            running: BTreeSet::new(),
            has_changed: false,
            waits_noted: Instant::ZERO,
        }
    }

    fn planned_job(&self, view: View<'_>, id: JobId) -> PlannedJob {
        let spec = &view.job(id).spec;
        let belief = belief_of(spec, view.forecast(id));
        PlannedJob::of(view, id, &belief, &self.settings)
    }

    /// Returns the machine with the running jobs at guard, and the hosts of a future. `by_host` says whether it matters on
    /// which hosts jobs run, beside hosts that close or are expected.
    fn machine(&self, view: View<'_>, by_host: bool, hosts: &HostFuture) -> PlanMachine {
        let by_host = by_host || view.has_distinct_hosts();
        PlanMachine::until(view, by_host, &self.running_until(view), hosts)
    }

    /// Returns the plan of all promises on the hosts of a future, to test candidates against it. `by_host` says whether it
    /// matters to them on which hosts they run.
    fn timetable_input(
        &self,
        view: View<'_>,
        by_host: bool,
        hosts: &HostFuture,
    ) -> promise_test::PlanInput {
        let (planned, hopeless) = self.waiting.groups_by_deadline(view);
        let planned = planned.iter().map(|job| (job.place, job.group(view)));
        // A job that would go by its place may not come between the hopeless ones.
        let hopeless = hopeless.iter().map(|job| (Instant::MAX, job.group(view)));
        let groups: Vec<(Instant, JobGroup)> = planned.chain(hopeless).collect();
        let by_host = by_host || groups.iter().any(|(_, group)| group.needs_hosts());
        let machine = self.machine(view, by_host, hosts);
        promise_test::PlanInput::new(view.now, machine, groups.into_iter())
    }
}

/// Returns an empty group of jobs with these needs of their hosts.
fn host_needs(view: View<'_>, needs: &PlacementNeeds) -> JobGroup {
    let devices = view.devices_of(needs);
    JobGroup {
        procs: 1,
        count: 0,
        run: Span::ZERO,
        reserved: Span::ZERO,
        due: Instant::MAX,
        one_host: needs.one_host || needs.host.is_some() || !devices.is_none(),
        host: needs.host,
        devices,
        licences: view.licences_of(needs),
        hosts: match (needs.set_aside, needs.dedicated) {
            (true, _) => HostChoice::SetAside,
            (false, true) => HostChoice::Dedicated,
            (false, false) => HostChoice::Any,
        },
        restarts: 0,
    }
}

/// Returns what is believed of a job's run time; without a forecast, what is known of jobs with this
/// request anywhere.
fn belief_of(spec: &JobSpec, forecast: Option<&Distribution>) -> Distribution {
    forecast
        .copied()
        .unwrap_or_else(|| Distribution::of_request(spec.estimate))
}

impl Policy for PlanPolicy {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        _: &mut ProbeScratch,
    ) -> AdmissionDecision {
        self.decide(view, spec, forecast, 1)
            .unwrap_or_else(AdmissionDecision::Reject)
    }

    fn probe_array(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        count: u32,
    ) -> Option<AdmissionDecision> {
        let decision = self.decide(view, spec, forecast, count);
        Some(decision.unwrap_or_else(AdmissionDecision::Reject))
    }

    fn clear(&mut self) {
        *self = Self::new(self.settings, self.market);
    }

    fn queued(&mut self, view: View<'_>, id: JobId) {
        let job = self.planned_job(view, id);
        self.has_changed |= !job.waiting_class.is_planned();
        self.waiting.insert(job);
    }

    fn dequeued(&mut self, view: View<'_>, id: JobId) {
        let job = self.planned_job(view, id);
        self.waiting.remove(&job);
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        self.run_pass(cx);
    }

    fn ended(&mut self, _: View<'_>, id: JobId) {
        self.running.remove(&id);
        self.has_changed = true;
    }

    fn start_follower(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: JobId,
        nodes: &[NodeRange],
    ) -> bool {
        let starts = cx.start_held(job, nodes);
        if starts {
            self.running.insert(job);
        }
        starts
    }

    fn nodes_changed(&mut self, _: View<'_>) {
        self.has_changed = true;
    }

    fn rebuild(&mut self, view: View<'_>) {
        self.clear();
        for (id, job) in view.jobs() {
            match job.phase {
                JobPhase::Queued => self.queued(view, id),
                JobPhase::Running => {
                    self.running.insert(id);
                }
                JobPhase::Vacant | JobPhase::Held | JobPhase::Closed => {}
            }
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation> {
        let mut rebuilt = self.clone();
        rebuilt.rebuild(view);
        let same = rebuilt.waiting == self.waiting && rebuilt.running == self.running;
        match same {
            true => Ok(()),
            false => Err(InvariantViolation(format!(
                "at {} the plan's index is not that of its jobs",
                view.now
            ))),
        }
    }

    fn pass_cost(&self, view: View<'_>) -> usize {
        self.waiting.len() + self.running.len() + view.n_nodes() as usize
    }

    fn follows_uses(&self) -> bool {
        true
    }

    fn wait_order(&self, view: View<'_>, job: JobId) -> Option<WaitOrder> {
        (view.job(job).phase == JobPhase::Queued).then(|| self.waiting.order_before(view, job))?
    }

    fn planned_run(&self, view: View<'_>, job: JobId) -> Span {
        let spec = &view.job(job).spec;
        let belief = belief_of(spec, view.forecast(job));
        belief.quantile(self.settings.level_of(spec))
    }

    fn possible_runs(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
        least_probability: Option<Probability>,
    ) -> Option<PossibleRuns> {
        Some(self.play_scenarios(view, subject, least_probability))
    }

    fn possible_runs_of_all(&self, view: View<'_>) -> Option<BTreeMap<JobId, PossibleRuns>> {
        Some(self.play_all(view))
    }
}
