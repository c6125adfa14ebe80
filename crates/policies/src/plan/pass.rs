//! A pass: waiting jobs are given up, promised, given a place, and started.

use std::collections::BTreeMap;
use std::ops::Bound;

use tollgate_model::{Credits, Instant, JobId, Span};
use tollgate_policy::toolkit::price;
use tollgate_policy::{HostPart, PolicyContext, View};

use super::deadline_dispatch::DeadlineDispatch;
use super::free_profile::{FreeProfile, PlannedPlace, RunningUntil};
use super::host_future::HostFuture;
use super::machine::PlanMachine;
use super::planned_job::{PlannedJob, WaitingClass};
use super::promise_test::{Candidate, PromiseTest};
use super::start_rule::{self, FairJob, RuleJob, StartDecision};
use super::waiting_jobs::PlanKey;
use super::{PlanPolicy, belief_of};

/// Maximum number of jobs without a promise that are tested in a pass: each test plays the plan.
const MAX_TRIES: usize = 8;
/// The time after which every job without a deadline takes a place among the promises.
const LONGEST_PATIENCE: Span = Span::from_secs(24 * 3600);

impl PlanPolicy {
    pub(super) fn run_pass(&mut self, cx: &mut PolicyContext<'_>) {
        self.give_up_late(cx);
        let may_place = self.has_changed | self.note_long_waits(cx.now());
        if std::mem::take(&mut self.has_changed) {
            self.promise_waiting(cx);
        }
        self.place_very_patient(cx);
        // Until another pass at this instant would change nothing: drivers may run more than one.
        let decision = loop {
            let decision = self.start_jobs(cx);
            let held = decision.held.map(|(held, _)| held.id);
            let is_placed = may_place && !self.waiting.has_placed() && self.place_patient(cx, held);
            if decision.starts.is_empty() && !is_placed {
                break decision;
            }
        };
        if let Some(at) = self.next_wake(cx.view(), &decision) {
            cx.request_pass_at(at);
        }
    }

    /// Returns whether a job has waited for long since the pass before. Only then, and after a change, may a job get a
    /// place for that: a pass for another reason, such as a belief that is stated anew, places none.
    fn note_long_waits(&mut self, now: Instant) -> bool {
        let noted = std::mem::replace(&mut self.waits_noted, now);
        let mut ends = self.long_wait_instants();
        ends.any(|end| noted < end && end <= now)
    }

    /// Returns the instants at which waiting jobs without a promise have waited for long.
    fn long_wait_instants(&self) -> impl Iterator<Item = Instant> {
        let unpromised = self.waiting.unpromised.values();
        let jobs = unpromised.chain(self.waiting.free.values());
        jobs.map(|job| job.submit + self.settings.patience)
    }

    /// Rejects the jobs that wait for a promise that can no longer be made, and those that do not want to
    /// start any more.
    fn give_up_late(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let unpromised = self.waiting.unpromised.values();
        let late = unpromised.filter(|job| job.gives_up.is_some_and(|(at, _)| now > at));
        for job in late.copied().collect::<Vec<_>>() {
            self.waiting.remove(&job);
            if let Some((_, reason)) = job.gives_up {
                cx.reject(job.id, reason);
            }
        }
    }

    /// Promises jobs that fit into idle or expected processors and into the plan.
    fn promise_waiting(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let n_free = cx.n_idle().saturating_add(cx.view().n_expected());
        let may_fit = |job: &PlannedJob| job.procs <= n_free && now <= job.decision_due();
        let mut tried = Bound::Unbounded;
        // If one job cannot be promised, no other one that is alike can.
        let mut refused: Option<PlannedJob> = None;
        for _ in 0..MAX_TRIES {
            let is_tried = |job: &PlannedJob| refused.is_some_and(|other| other.is_like(job));
            let later = self.waiting.unpromised.range((tried, Bound::Unbounded));
            let next = later.map(|(_, job)| *job);
            let Some(next) = { next }.find(|job| may_fit(job) && !is_tried(job)) else {
                return;
            };
            tried = Bound::Excluded(next.key());
            if !self.promise_first(cx, &next) {
                refused = Some(next);
            }
        }
    }

    /// Promises the first job of a group if it fits into the plan; returns whether it does.
    fn promise_first(&mut self, cx: &mut PolicyContext<'_>, group: &PlannedJob) -> bool {
        let view = cx.view();
        let granted = view.job(group.id).granted;
        if !granted && !self.is_within_share(view, group.user, group, 1) {
            return false;
        }
        let one = group.single(view).promised(view);
        let Some(planned) =
            self.planned_promise(view, &view.job(group.id).spec, Candidate::new(one))
        else {
            return false;
        };
        let id = self.part_first(cx, group.id);
        let price = self.promised_price(cx.view(), id);
        cx.accept(
            id,
            price,
            (planned.place != group.due).then_some(planned.place),
        );
        if planned.on_expected {
            cx.note_expected(id);
        }
        self.waiting.insert(self.planned_job(cx.view(), id));
        true
    }

    /// Takes a waiting job out of the queue: the first of its group, which stays there without it.
    fn part_first(&mut self, cx: &mut PolicyContext<'_>, group: JobId) -> JobId {
        let entry = self.planned_job(cx.view(), group);
        self.waiting.remove(&entry);
        let first = cx.split_first(group);
        if first != group {
            self.waiting.insert(self.planned_job(cx.view(), group));
        }
        first
    }

    /// Gives jobs without a deadline that have waited very long a place among the promises.
    fn place_very_patient(&mut self, cx: &mut PolicyContext<'_>) {
        while let Some(&job) = self.waiting.free.values().next()
            && cx.now().since(job.submit) >= LONGEST_PATIENCE
        {
            if !self.place_unpromised(cx, &job) {
                return;
            }
        }
    }

    /// Gives the first job without a promise that cannot start a place if it has waited for long. One with a
    /// deadline gets none that would be late. Returns whether it has got a place.
    fn place_patient(&mut self, cx: &mut PolicyContext<'_>, held: Option<JobId>) -> bool {
        let now = cx.now();
        let held = held.map(|held| self.planned_job(cx.view(), held));
        let held = held.filter(|job| now.since(job.submit) >= self.settings.patience);
        held.is_some_and(|job| self.place_unpromised(cx, &job))
    }

    /// Gives a job a place among the promises: the first of ever later dates that the plan admits. Returns
    /// whether there is one.
    fn place_unpromised(&mut self, cx: &mut PolicyContext<'_>, job: &PlannedJob) -> bool {
        let one = job.single(cx.view());
        let test = PromiseTest::new(self.timetable_input(
            cx.view(),
            one.needs_hosts(),
            &HostFuture::planned(cx.view(), self.settings.level),
        ));
        let Some(place) = test.first_place(Candidate::new(one)) else {
            return false;
        };
        let id = self.part_first(cx, job.id);
        match job.waiting_class {
            WaitingClass::Free => {
                let price = self.promised_price(cx.view(), id);
                cx.accept(id, price, Some(place));
            }
            WaitingClass::Unpromised
            | WaitingClass::Waitlisted
            | WaitingClass::Promised
            | WaitingClass::Placed => {
                let price = self.unpromised_price(cx.view(), id);
                cx.admit_unpromised(id, price, Some(place));
            }
        }
        self.waiting.insert(self.planned_job(cx.view(), id));
        true
    }

    /// Starts jobs by the start rule, and then the promised ones by deadline.
    fn start_jobs(&mut self, cx: &mut PolicyContext<'_>) -> StartDecision {
        let view = cx.view();
        if cx.n_idle() == 0 || self.waiting.fair.is_empty() {
            let mut fair = self.waiting.fair.in_order(view);
            let first =
                fair.find(|job| !job.waiting_class.is_planned() && !job.is_hopeless(view.now));
            return StartDecision {
                held: first.map(|job| (job.rule(view), None)),
                ..StartDecision::default()
            };
        }
        let (planned, hopeless) = self.waiting.groups_by_deadline(view);
        let rules = |jobs: &[PlannedJob]| -> Vec<RuleJob> {
            jobs.iter().map(|job| job.rule(view)).collect()
        };
        let by_host = view.has_distinct_hosts() || self.waiting.needs_hosts();
        let running = self.running_until(view);
        let hosts = HostFuture::planned(view, self.settings.level);
        let rules_of_planned = rules(&planned);
        let fair = self.waiting.fair.in_order(view);
        let fair = fair.filter_map(|job| fair_job(view, &planned, job));
        let mut order = rules_of_planned.clone();
        order.extend(rules(&hopeless));
        let mut dispatch = DeadlineDispatch {
            machine: PlanMachine::until(view, by_host, &running, &hosts),
            waiting: order,
        };
        let free = FreeProfile::new(view, by_host, &running, &hosts);
        let mut may_start = |job: &RuleJob, place: &PlannedPlace| dispatch.start(job, place);
        let mut decision = start_rule::decide(&free, &rules_of_planned, fair, &mut may_start);
        decision.starts.extend(dispatch.into_starts(&decision));
        let keys: BTreeMap<JobId, PlanKey> = planned
            .iter()
            .map(|group| (group.id, group.key()))
            .collect();
        for (id, hosts) in &decision.starts {
            // The jobs of a group start in order, so the first one that is left is next.
            let next = keys
                .get(id)
                .and_then(|&key| self.waiting.planned.range(key..).next());
            let next = next.map_or(*id, |(_, job)| job.id);
            self.start(cx, next, hosts.as_deref());
        }
        decision
    }

    /// Returns the running jobs with their ends at guard.
    pub(super) fn running_until(&self, view: View<'_>) -> Vec<RunningUntil> {
        let until = self.running.iter().map(|&id| {
            let job = view.job(id);
            let belief = belief_of(&job.spec, view.forecast(id));
            let progress = job.progress();
            let level = [self.settings.guard_of(&job.spec)];
            let [work] = belief.quantiles_given_survived(progress.work_by(view.now), level);
            (id, progress.end_of(work))
        });
        until.collect()
    }

    /// Starts a job, or the first of a group, on these hosts if it matters on which.
    fn start(&mut self, cx: &mut PolicyContext<'_>, group: JobId, hosts: Option<&[HostPart]>) {
        let waiting_class = self.planned_job(cx.view(), group).waiting_class;
        let id = self.part_first(cx, group);
        self.running.insert(id);
        let price = match waiting_class {
            WaitingClass::Unpromised => {
                let price = self.unpromised_price(cx.view(), id);
                cx.admit_unpromised(id, price, None);
                price
            }
            WaitingClass::Promised
            | WaitingClass::Placed
            | WaitingClass::Free
            | WaitingClass::Waitlisted => self.promised_price(cx.view(), id),
        };
        match hosts {
            Some(hosts) => cx.start_on_hosts(id, price, hosts),
            None => cx.start(id, price),
        }
    }

    fn promised_price(&self, view: View<'_>, id: JobId) -> Credits {
        let spec = &view.job(id).spec;
        self.price(spec, &belief_of(spec, view.forecast(id)))
    }

    fn unpromised_price(&self, view: View<'_>, id: JobId) -> Credits {
        price::unpromised(self.market, &view.job(id).spec)
    }

    /// Returns the instant at which the next pass is due even if nothing happens. The cause is that a job is
    /// given up, the place of a job begins, a job has waited for long, or a maintenance window ends.
    fn next_wake(&self, view: View<'_>, decision: &StartDecision) -> Option<Instant> {
        let now = view.now;
        let gives_up = self
            .waiting
            .unpromised
            .values()
            .filter_map(|job| job.gives_up);
        let gives_up = gives_up.map(|(at, _)| at + Span::TICK);
        let reopening = view.maintenance().next(now);
        let reopening = reopening.filter(|_| !self.waiting.fair.is_empty());
        let reopening = reopening.map(|window| window.until);
        let wait_end = self.long_wait_instants();
        let free = self.waiting.free.values().next();
        let free = free.map(|job| job.submit + LONGEST_PATIENCE);
        let all = gives_up.chain(reopening).chain(decision.next_place);
        let all = all.chain(wait_end).chain(free);
        all.filter(|&at| at > now).min()
    }
}

/// Returns a waiting job as it stands in the fair order. Of a group of planned jobs, which are neighbours there, too, only the
/// first one does.
fn fair_job(view: View<'_>, planned: &[PlannedJob], job: &PlannedJob) -> Option<FairJob> {
    if job.is_hopeless(view.now) {
        return Some(FairJob::Hopeless(job.rule(view)));
    }
    if !job.waiting_class.is_planned() {
        return Some(FairJob::Unplanned(job.rule(view)));
    }
    let group = planned.binary_search_by_key(&job.key(), PlannedJob::key);
    group.ok().map(FairJob::Planned)
}
