//! The policy that promises at submission, from a plan of all promises over time.
//!
//! Jobs are rigid (all processors at once), have their processors to themselves and are never paused.
//! Every promised job stands in the plan with the run time that it exceeds with probability
//! 1 - `level`. A job is promised if by that plan it ends in time and every job that was in time
//! without it still is; its place is that of its deadline or, where it would end too late there, of an
//! earlier date. Promises are never withdrawn or traded. What cannot be promised waits until no room
//! could help any more, and is tried again when others end early.
//!
//! | module | contents |
//! |---|---|
//! | `timetable` | the dispatch rule, and a timetable of assumed run times |
//! | `host_machine` | the same where it matters on which hosts jobs run |
//! | `machine` | the choice between the two |
//! | `promise_test` | the test of a job against the plan |
//! | `scenarios` | possible ends of a job |
//! | `draws` | how long the jobs of each scenario run: those of a batch are long together |
//! | `settings` | parameters |

mod draws;
mod host_machine;
mod machine;
mod promise_test;
mod scenarios;
mod settings;
mod timetable;

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::outcome::RunInterval;
use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, Market, NodeRange, OtherReason, PlacementNeeds,
    Probability, Reason, Span, UserId,
};
use tollgate_policy::toolkit::price::IncentiveFactors;
use tollgate_policy::toolkit::{fits_machine, price};
use tollgate_policy::{
    AdmissionDecision, Host, HostPart, InvariantViolation, JobPhase, JobSlot, OutlookSubject,
    Policy, PolicyContext, ProbeScratch, View,
};

use machine::{PlanMachine, PlanReservation};
use promise_test::{Candidate, PromiseTest};
use timetable::JobGroup;

pub use settings::PlanParams;

/// The probability with which a running job ends by the instant up to which the dispatch rule reserves
/// its processors.
const RESERVED: Probability = Probability::new(0.9).expect("a probability");
/// A promised job is hopeless once its chance to end in time falls below this; it then runs last.
const HOPELESS: Probability = Probability::new(0.1).expect("a probability");
/// Maximum number of jobs from the waitlist that are tested in a pass, and of jobs without a deadline that
/// fail the test: each test plays the plan.
const MAX_TRIES: usize = 8;

/// The user's share of what can be promised is used up.
const SHARE_USED_UP: Reason = Reason::Other(&OtherReason::new(
    "user_share",
    "the promises to its user take all of a user's share already",
));

/// No host has what the job needs on one host.
const HOST_TOO_SMALL: Reason = Reason::Other(&OtherReason::new(
    "host_too_small",
    "it needs more on one host than any host has",
));

/// The host for which the job asks is smaller, or has fewer devices.
const NAMED_HOST_TOO_SMALL: Reason = Reason::Other(&OtherReason::new(
    "host_too_small",
    "it needs more than the host has for which it asks",
));

/// The hosts that could hold the job close before its end.
const CLOSES_TOO_SOON: Reason = Reason::Other(&OtherReason::new(
    "closes_too_soon",
    "it may run longer than any host that could hold it stays, even from the host's beginning",
));

/// A policy that plans.
#[derive(Clone, Debug)]
pub struct PlanPolicy {
    settings: PlanParams,
    market: Market,
    /// The waiting jobs with a promise, in the order of the plan.
    promised: BTreeMap<PlanKey, PlannedJob>,
    /// The jobs that could not be promised yet, by deadline.
    waitlist: BTreeMap<PlanKey, PlannedJob>,
    /// The jobs without a deadline, in order of submission.
    unpromised: BTreeMap<u64, PlannedJob>,
    running: BTreeSet<JobId>,
    /// True if a job has ended, or one has joined the waitlist, since the last pass: the tasks of an array
    /// that could not be promised together may fit one by one.
    tries_waitlist: bool,
}

/// The place of a job: its planned due date, then the order of submission.
type PlanKey = (Instant, u64);

/// A waiting job, with what the plan needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PlannedJob {
    id: JobId,
    procs: u32,
    needs: PlacementNeeds,
    /// The run time at the plan's level.
    run: Span,
    /// The run time by which the dispatch rule reserves.
    reserved: Span,
    /// The deadline; [`Instant::MAX`] without one.
    due: Instant,
    /// The last instant at which the job is not hopeless.
    hope_ends: Instant,
}

impl PlannedJob {
    fn new(id: JobId, spec: &JobSpec, belief: &Distribution, settings: &PlanParams) -> Self {
        let run = belief.quantile(settings.level_of(spec));
        let due = spec.due().unwrap_or(Instant::MAX);
        Self {
            id,
            procs: spec.procs,
            needs: spec.needs,
            run,
            reserved: belief.quantile(RESERVED).max(run),
            due,
            hope_ends: due - belief.quantile(HOPELESS),
        }
    }

    /// Returns the last instant at which the job can be promised: if it started then, it would end in
    /// time with the plan's probability.
    fn decision_due(&self) -> Instant {
        self.due - self.run
    }

    fn group(&self, view: View<'_>) -> JobGroup {
        JobGroup {
            procs: self.procs,
            count: 1,
            run: self.run,
            reserved: self.reserved,
            due: self.due,
            ..host_needs(view, &self.needs)
        }
    }
}

impl PlanPolicy {
    /// Creates a policy with these settings in this market.
    pub fn new(settings: PlanParams, market: Market) -> Self {
        Self {
            settings,
            market,
            promised: BTreeMap::new(),
            waitlist: BTreeMap::new(),
            unpromised: BTreeMap::new(),
            running: BTreeSet::new(),
            tries_waitlist: false,
        }
    }

    fn planned_job(&self, view: View<'_>, id: JobId) -> PlannedJob {
        let spec = &view.job(id).spec;
        PlannedJob::new(
            id,
            spec,
            &belief_of(spec, view.forecast(id)),
            &self.settings,
        )
    }

    /// Returns the decision on `count` equal jobs at the view's instant.
    fn decide(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        count: u32,
    ) -> Result<AdmissionDecision, Reason> {
        fits_machine(view, spec)?;
        let belief = belief_of(spec, forecast);
        let job = PlannedJob::new(JobId(u32::MAX), spec, &belief, &self.settings);
        let group = job.group(view);
        fits_hosts(view, &group)?;
        let price = self.price(spec, &belief);
        let price = price::within_budget(self.market, spec, price)?;
        let Some(due) = spec.due() else {
            return Ok(AdmissionDecision::Queue);
        };
        if view.now > job.decision_due() {
            return Err(Reason::DeadlineUnreachable);
        }
        let has_share = self.is_within_share(view, spec.user, &job, count);
        let test = || PromiseTest::new(self.timetable_input(view, group.needs_hosts()));
        let place = (has_share).then(|| test().place(Candidate::array(group, count)));
        match place.flatten() {
            Some(place) => Ok(AdmissionDecision::Promise {
                price,
                due: (place != due).then_some(place),
            }),
            None if self.settings.waitlist => Ok(AdmissionDecision::Waitlist {
                until: job.decision_due(),
            }),
            None if !has_share => Err(SHARE_USED_UP),
            None => Err(Reason::NoRoom),
        }
    }

    /// Returns whether the promises to a user, with `count` such jobs, take no more than the user's share of
    /// the machine's time up to their deadline.
    fn is_within_share(&self, view: View<'_>, user: UserId, job: &PlannedJob, count: u32) -> bool {
        if self.settings.share >= 1.0 {
            return true;
        }
        let time = |procs: u32, span: Span| f64::from(procs) * span.as_secs_f64();
        let promised = self.promised.values().map(|job| (job.id, job.run));
        let running = self.running.iter().map(|&id| {
            let end = self.planned_end(view, id);
            (id, end.since(view.now))
        });
        let own = promised.chain(running).filter(|&(id, _)| {
            let job = view.job(id);
            job.spec.user == user && job.spec.sla.deadline.is_some()
        });
        let own: f64 = own
            .map(|(id, left)| time(view.job(id).spec.procs, left))
            .sum();
        let all = time(view.n_up(), job.due.since(view.now));
        own + f64::from(count) * time(job.procs, job.run) <= self.settings.share * all
    }

    /// Returns the end of a running job at the plan's level.
    fn planned_end(&self, view: View<'_>, id: JobId) -> Instant {
        let job = view.job(id);
        let belief = belief_of(&job.spec, view.forecast(id));
        let start = job.start.unwrap_or(view.now);
        let level = [self.settings.level_of(&job.spec)];
        let [run] = belief.quantiles_given_survived(view.now.since(start), level);
        start + run
    }

    /// Returns the machine with the running jobs at the plan's level. `by_host` says whether it matters on
    /// which hosts jobs run, beside hosts that close.
    fn machine(&self, view: View<'_>, by_host: bool) -> PlanMachine {
        let running = self.running.iter().map(|&id| {
            let job = view.job(id);
            let belief = belief_of(&job.spec, view.forecast(id));
            let start = job.start.unwrap_or(view.now);
            let elapsed = view.now.since(start);
            let levels = [self.settings.level_of(&job.spec), RESERVED];
            let [run, reserved] = belief.quantiles_given_survived(elapsed, levels);
            (id, start + run, start + reserved.max(run))
        });
        PlanMachine::new(view, by_host || view.has_closing_hosts(), running)
    }

    /// Returns the promised jobs in the order in which they are dispatched: hopeless ones last, in the
    /// order in which they became hopeless.
    fn dispatch_order(&self, now: Instant) -> Vec<(PlanKey, PlannedJob)> {
        let all = self.promised.iter().map(|(&key, &job)| (key, job));
        let (mut order, mut hopeless): (Vec<_>, Vec<_>) =
            all.partition(|(_, job)| now <= job.hope_ends);
        hopeless.sort_unstable_by_key(|&((_, sequence), job)| (job.hope_ends, sequence));
        // A job that would go by its place may not come between them.
        order.extend(hopeless.into_iter().map(|((_, sequence), job)| {
            let key = (Instant::MAX, sequence);
            (key, job)
        }));
        order
    }

    /// Returns the plan of all promises, to test candidates against it. `by_host` says whether it matters to
    /// them on which hosts they run.
    fn timetable_input(&self, view: View<'_>, by_host: bool) -> promise_test::PlanInput {
        let order = self.dispatch_order(view.now);
        let groups: Vec<(Instant, JobGroup)> = (order.iter())
            .map(|&((place, _), job)| (place, job.group(view)))
            .collect();
        let by_host = by_host || groups.iter().any(|(_, group)| group.needs_hosts());
        let machine = self.machine(view, by_host);
        promise_test::PlanInput::new(view.now, machine, groups.into_iter())
    }

    /// Returns Libra's price of a job. Whoever wants more confidence than the plan's level pays for the
    /// time that the plan then keeps for the job, in proportion.
    fn price(&self, spec: &JobSpec, belief: &Distribution) -> Credits {
        let usual = belief.quantile(self.settings.level).as_secs_f64();
        let kept = belief.quantile(self.settings.level_of(spec)).as_secs_f64();
        let priced = JobSpec {
            estimate: Span::from_secs_f64(spec.estimate.as_secs_f64() * kept / usual),
            ..*spec
        };
        let spec = if kept > usual { &priced } else { spec };
        price::with_incentive(self.market, spec, IncentiveFactors::DEFAULT)
    }

    fn price_of(&self, cx: &PolicyContext<'_>, id: JobId) -> Credits {
        let spec = &cx.job(id).spec;
        self.price(spec, &belief_of(spec, cx.view().forecast(id)))
    }

    /// Starts a job, on these hosts if it matters on which.
    fn start(&mut self, cx: &mut PolicyContext<'_>, id: JobId, hosts: Option<&[HostPart]>) {
        let price = self.price_of(cx, id);
        self.running.insert(id);
        match hosts {
            Some(hosts) => cx.start_on_hosts(id, price, hosts),
            None => cx.start(id, price),
        }
    }

    /// Rejects the jobs of the waitlist that room could no longer help.
    fn reject_overdue(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let overdue = |job: &PlannedJob| now > job.decision_due();
        let late: Vec<(PlanKey, JobId)> = (self.waitlist.iter())
            .filter(|(_, job)| overdue(job))
            .map(|(&key, job)| (key, job.id))
            .collect();
        for (key, id) in late {
            self.waitlist.remove(&key);
            cx.reject(id, Reason::NoRoom);
        }
    }

    /// Promises jobs of the waitlist that fit into idle processors and into the plan.
    fn promise_waitlisted(&mut self, cx: &mut PolicyContext<'_>) {
        let fitting = |job: &PlannedJob| job.procs <= cx.n_idle();
        let tries: Vec<(PlanKey, PlannedJob)> = (self.waitlist.iter())
            .map(|(&key, &job)| (key, job))
            .filter(|(_, job)| fitting(job))
            .take(MAX_TRIES)
            .collect();
        for (key, job) in tries {
            let slot = cx.job(job.id);
            let (user, granted) = (slot.spec.user, slot.granted);
            if !granted && !self.is_within_share(cx.view(), user, &job, 1) {
                continue;
            }
            let group = job.group(cx.view());
            let test = PromiseTest::new(self.timetable_input(cx.view(), group.needs_hosts()));
            if let Some(place) = test.place(Candidate::new(group)) {
                self.waitlist.remove(&key);
                self.promised.insert((place, key.1), job);
                let price = self.price_of(cx, job.id);
                cx.accept(job.id, price, (place != job.due).then_some(place));
            }
        }
    }

    /// Gives jobs without a deadline that have waited too long a place among the promises: the first of
    /// ever later dates that the plan admits.
    fn promise_patient(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let waited = |cx: &PolicyContext<'_>, id| now.since(cx.job(id).spec.submit);
        while let Some((&sequence, &job)) = self.unpromised.first_key_value()
            && waited(cx, job.id) >= self.settings.patience
        {
            let group = job.group(cx.view());
            let test = PromiseTest::new(self.timetable_input(cx.view(), group.needs_hosts()));
            let Some(place) = test.first_place(Candidate::new(group)) else {
                return;
            };
            self.unpromised.remove(&sequence);
            self.promised
                .insert((place, sequence), PlannedJob { due: place, ..job });
            let price = self.price_of(cx, job.id);
            cx.accept(job.id, price, Some(place));
        }
    }

    /// Starts promised jobs by the dispatch rule.
    fn start_promised(&mut self, cx: &mut PolicyContext<'_>) {
        if self.promised.is_empty() || cx.n_idle() == 0 {
            return;
        }
        let order = self.dispatch_order(cx.now());
        let view = cx.view();
        let groups: Vec<JobGroup> = order.iter().map(|(_, job)| job.group(view)).collect();
        let by_host = groups.iter().any(JobGroup::needs_hosts);
        let mut starts = Vec::new();
        self.machine(view, by_host)
            .dispatch(groups, |group, hosts| {
                starts.push((order[group].1.id, hosts));
            });
        for (id, hosts) in starts {
            let key = self.promised_key(cx.job(id));
            self.promised.remove(&key);
            self.start(cx, id, hosts.as_deref());
        }
    }

    /// Starts jobs without a deadline where, by the plan, no promise suffers. They start in order of
    /// submission; the first that does not fit keeps the place that it will have, as under EASY.
    fn start_unpromised(&mut self, cx: &mut PolicyContext<'_>) {
        let mut head: Option<PlanReservation> = None;
        let mut failures = 0;
        let waiting: Vec<(u64, PlannedJob)> = self
            .unpromised
            .iter()
            .map(|(&key, &job)| (key, job))
            .collect();
        let by_host = waiting
            .iter()
            .any(|(_, job)| job.group(cx.view()).needs_hosts());
        let mut machine = None;
        let mut test = None;
        for (sequence, job) in waiting {
            if cx.n_idle() == 0 || failures == MAX_TRIES {
                return;
            }
            let now = machine.get_or_insert_with(|| self.machine(cx.view(), by_host));
            let group = job.group(cx.view());
            let place = match &head {
                None => now.place(&group),
                Some(head) => now.place_beside(&group, head),
            };
            if let Some(place) = place {
                let promises = test.get_or_insert_with(|| {
                    PromiseTest::new(self.timetable_input(cx.view(), by_host))
                });
                if promises.may_run(Candidate::new(group)) {
                    let hosts = now.host_parts(&place);
                    self.unpromised.remove(&sequence);
                    self.start(cx, job.id, hosts.as_deref());
                    if let Some(PlanReservation::Pool(head)) = &mut head {
                        head.note_start(cx.now(), job.procs, job.reserved);
                    }
                    (machine, test) = (None, None);
                    continue;
                }
                failures += 1;
            }
            if head.is_none() {
                head = Some(now.reservation(&group));
            }
        }
    }

    /// Returns the key of a waiting job that is promised.
    fn promised_key(&self, job: &JobSlot) -> PlanKey {
        let place = job.accepted.and_then(|accepted| accepted.due);
        let place = place.or_else(|| job.spec.due());
        (place.unwrap_or(Instant::MAX), job.sequence)
    }

    /// Returns the instant at which the next pass is due even if nothing happens: a job of the waitlist is
    /// decided about, or a maintenance window ends.
    fn next_wake(&self, view: View<'_>) -> Option<Instant> {
        let now = view.now;
        let decision = self
            .waitlist
            .values()
            .map(|job| job.decision_due() + Span::TICK);
        let waits = !(self.promised.is_empty() && self.unpromised.is_empty());
        let reopening = view.maintenance().next(now).filter(|_| waits);
        let reopening = reopening.map(|window| window.until);
        decision.chain(reopening).filter(|&at| at > now).min()
    }
}

/// Checks that the hosts that are there could hold a job if nothing else ran, from the first instant of
/// those that close.
fn fits_hosts(view: View<'_>, group: &JobGroup) -> Result<(), Reason> {
    let is_there = |host: &&Host| host.terms.closes.is_none() || view.n_up_in(host.nodes) > 0;
    let lasts = |host: &&Host| {
        let closes = host.terms.closes;
        closes.is_none_or(|closes| host.opened + group.reserved <= closes)
    };
    let suits =
        |host: &&Host| host.nodes.len >= group.procs && host.terms.devices.covers(&group.devices);
    let holds = |hosts: &[&Host]| match group.one_host {
        true => hosts.iter().any(suits),
        false => hosts.iter().map(|host| host.nodes.len).sum::<u32>() >= group.procs,
    };
    let is_asked_for = |host: &&Host| group.accepts_host(host.terms.name);
    let there = view.hosts().iter().filter(is_there);
    let there: Vec<&Host> = there.filter(is_asked_for).collect();
    if there.is_empty() || !group.one_host && !holds(&there) {
        // Whatever comes may hold it.
        return Ok(());
    }
    let lasting: Vec<&Host> = there.iter().copied().filter(lasts).collect();
    match (holds(&there), holds(&lasting)) {
        (false, _) if group.host.is_some() => Err(NAMED_HOST_TOO_SMALL),
        (false, _) => Err(HOST_TOO_SMALL),
        (true, false) => Err(CLOSES_TOO_SOON),
        (true, true) => Ok(()),
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
    }
}

/// Returns what is believed of a job's run time; without a forecast, what is known of jobs with this
/// request anywhere.
fn belief_of(spec: &JobSpec, forecast: Option<&Distribution>) -> Distribution {
    forecast
        .copied()
        .unwrap_or_else(|| Distribution::of_request(spec.estimate))
}

/// The list in which a waiting job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitingList {
    Promised,
    Waitlist,
    Unpromised,
}

impl WaitingList {
    fn of(job: &JobSlot) -> Self {
        let has_place = job.accepted.is_some_and(|accepted| accepted.due.is_some());
        match (job.spec.sla.deadline, job.accepted) {
            (None, _) if !has_place => Self::Unpromised,
            (Some(_), None) => Self::Waitlist,
            (None | Some(_), _) => Self::Promised,
        }
    }
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
        let job = view.job(id);
        let entry = self.planned_job(view, id);
        match WaitingList::of(job) {
            WaitingList::Promised => {
                let key = self.promised_key(job);
                let due = if job.spec.sla.deadline.is_some() {
                    entry.due
                } else {
                    key.0
                };
                self.promised.insert(key, PlannedJob { due, ..entry });
            }
            WaitingList::Waitlist => {
                self.waitlist.insert((entry.due, job.sequence), entry);
                self.tries_waitlist = true;
            }
            WaitingList::Unpromised => {
                self.unpromised.insert(job.sequence, entry);
            }
        }
    }

    fn dequeued(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        match WaitingList::of(job) {
            WaitingList::Promised => self.promised.remove(&self.promised_key(job)),
            WaitingList::Waitlist => {
                let due = job.spec.due().unwrap_or(Instant::MAX);
                self.waitlist.remove(&(due, job.sequence))
            }
            WaitingList::Unpromised => self.unpromised.remove(&job.sequence),
        };
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        self.reject_overdue(cx);
        if std::mem::take(&mut self.tries_waitlist) {
            self.promise_waitlisted(cx);
        }
        self.promise_patient(cx);
        self.start_promised(cx);
        self.start_unpromised(cx);
        if let Some(at) = self.next_wake(cx.view()) {
            cx.request_pass_at(at);
        }
    }

    fn ended(&mut self, _: View<'_>, id: JobId) {
        self.running.remove(&id);
        self.tries_waitlist = true;
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
        self.tries_waitlist = true;
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
        let same = rebuilt.promised == self.promised
            && rebuilt.waitlist == self.waitlist
            && rebuilt.unpromised == self.unpromised
            && rebuilt.running == self.running;
        match same {
            true => Ok(()),
            false => Err(InvariantViolation(format!(
                "at {} the plan's index is not that of its jobs",
                view.now
            ))),
        }
    }

    fn pass_cost(&self, view: View<'_>) -> usize {
        let waiting = self.promised.len() + self.waitlist.len() + self.unpromised.len();
        waiting + self.running.len() + view.n_nodes() as usize
    }

    fn possible_runs(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
        tellable: Option<Probability>,
    ) -> Option<Vec<RunInterval>> {
        Some(self.play_scenarios(view, subject, tellable))
    }
}
