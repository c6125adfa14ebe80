//! Decisions on submitted jobs: what is promised, what waits or runs without a promise, and at what price.

use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, OtherReason, Otherwise, Reason, Span, UserId,
};
use tollgate_policy::toolkit::price::IncentiveFactors;
use tollgate_policy::toolkit::{fits_machine, price};
use tollgate_policy::{AdmissionDecision, Host, View};

use super::host_future::HostFuture;
use super::host_times::{HostChoice, HostTimes};
use super::planned_job::{PlannedJob, WaitingClass};
use super::promise_test::{Candidate, PromiseTest};
use super::settings::larger;
use super::timetable::JobGroup;
use super::user_share::{LatestWork, is_within};
use super::{NEW, PlanPolicy, belief_of};

/// The promise of a job as it is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedPromise {
    /// The place of the job in the order of deadlines.
    pub(super) place: Instant,
    /// Whether it counts on hosts that are not there yet.
    pub(super) on_expected: bool,
}

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

/// All hosts that could hold the job are such that people work at them, and when they come is not known.
const ONLY_DESKTOPS: Reason = Reason::Other(&OtherReason::new(
    "only_desktops",
    "a promise rests on computers without users, or on desktops with 100 log-ins so far, and none of these can hold it",
));

/// The job may run only on some of the hosts, which have too few processors together.
const SET_ASIDE: Reason = Reason::Other(&OtherReason::new(
    "set_aside",
    "it asks for more processors than there are without those that are set aside for jobs of another kind",
));

/// A day, in seconds.
const DAY_S: f64 = 86_400.0;

impl PlanPolicy {
    /// Returns the decision on `count` equal jobs at the view's instant.
    pub(super) fn decide(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        count: u32,
    ) -> Result<AdmissionDecision, Reason> {
        fits_machine(view, spec)?;
        let belief = belief_of(spec, forecast);
        let job = self.candidate(spec, &belief);
        let group = job.group(view);
        fits_hosts(view, &group)?;
        let Some(due) = spec.due() else {
            let price = self.price(spec, &belief);
            price::within_budget(self.market, spec, price)?;
            return Ok(AdmissionDecision::Queue);
        };
        let promise = self.promise(view, spec, &belief, (&job, count));
        match (promise, self.settings.otherwise_of(spec)) {
            (Ok((price, planned)), _) => Ok(AdmissionDecision::Promise {
                price,
                due: (planned.place != due).then_some(planned.place),
                on_expected: planned.on_expected,
            }),
            (Err(reason), Otherwise::Run) => {
                self.may_run_unpromised(view, spec, &job)?;
                Ok(AdmissionDecision::Unpromised(reason))
            }
            (Err(reason), Otherwise::Wait) if reason.is_lack_of_room() => {
                Ok(AdmissionDecision::Waitlist {
                    until: job.decision_due(),
                })
            }
            (Err(reason), Otherwise::Wait | Otherwise::Reject) => Err(reason),
        }
    }

    /// Returns a job that is submitted now as one that is not promised.
    pub(super) fn candidate(&self, spec: &JobSpec, belief: &Distribution) -> PlannedJob {
        let waiting_class = match spec.sla.deadline {
            Some(_) => WaitingClass::Unpromised,
            None => WaitingClass::Free,
        };
        PlannedJob::new(NEW, spec, waiting_class, belief, &self.settings)
    }

    /// Returns the price and the place of `count` equal jobs with a deadline if they can be promised now.
    fn promise(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        belief: &Distribution,
        (job, count): (&PlannedJob, u32),
    ) -> Result<(Credits, PlannedPromise), Reason> {
        let price = self.price(spec, belief);
        let price = price::within_budget(self.market, spec, price)?;
        if view.now > job.decision_due() {
            return Err(Reason::DeadlineUnreachable);
        }
        if !self.is_within_share(view, spec.user, job, count) {
            return Err(Reason::SHARE_USED_UP);
        }
        let group = job.group(view).promised(view);
        let on_desktops = [HostChoice::Promised, HostChoice::Dedicated].contains(&group.hosts);
        if on_desktops && !has_sure_host(view, &group) && !is_held_by_expected(view, &group) {
            return Err(ONLY_DESKTOPS);
        }
        let planned = self.planned_promise(view, spec, Candidate::array(group, count));
        planned
            .map(|planned| (price, planned))
            .ok_or(Reason::NoRoom)
    }

    /// Returns how a candidate can be promised, if it can. It counts on hosts that are expected if the hosts that are there
    /// could not hold it in time beside the other promises.
    pub(super) fn planned_promise(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        candidate: Candidate,
    ) -> Option<PlannedPromise> {
        let place = |hosts: &HostFuture| {
            let input = self.timetable_input(view, candidate.needs_hosts(), hosts);
            PromiseTest::new(input).place(candidate)
        };
        let level = larger(self.settings.level, self.settings.level_of(spec));
        let hosts = HostFuture::planned(view, level);
        let found = place(&hosts)?;
        let on_expected = !hosts.coming.is_empty() && place(&HostFuture::default()).is_none();
        Some(PlannedPromise {
            place: found,
            on_expected,
        })
    }

    /// Checks that a job whose deadline cannot be promised may run all the same.
    fn may_run_unpromised(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        job: &PlannedJob,
    ) -> Result<(), Reason> {
        if view.now >= job.due {
            return Err(Reason::DeadlinePassed);
        }
        let is_given_up = |&(at, _): &(Instant, Reason)| view.now > at;
        if job.gives_up.as_ref().is_some_and(is_given_up) {
            return Err(Reason::DeadlineUnreachable);
        }
        let price = price::unpromised(self.market, spec);
        price::within_budget(self.market, spec, price).map(|_| ())
    }

    /// Returns whether the promises to a user, with `count` such jobs, take no more than the user's share of
    /// the machine's time up to each of their deadlines.
    pub(super) fn is_within_share(
        &self,
        view: View<'_>,
        user: UserId,
        job: &PlannedJob,
        count: u32,
    ) -> bool {
        let share = self.settings.share;
        if share.is_everything() {
            return true;
        }
        let is_own = |id: JobId| {
            let job = view.job(id);
            job.spec.user == user && job.spec.sla.deadline.is_some() && job.is_promised()
        };
        let is_own_waiting =
            |job: &&PlannedJob| job.user == user && job.waiting_class == WaitingClass::Promised;
        let until = |at: Instant| at.since(view.now);
        let waiting = self.waiting.planned.values().filter(is_own_waiting);
        let waiting =
            waiting.map(|job| LatestWork::new(job.procs, job.count, job.run, until(job.due)));
        let running = self.running.iter().filter(|&&id| is_own(id)).map(|&id| {
            let left = until(self.planned_end(view, id));
            LatestWork::new(view.job(id).spec.procs, 1, left, left)
        });
        let others = view.recent_requests(view.now).filter(|(of, _)| *of != user);
        let others: Vec<f64> = others.map(|(_, occupied)| occupied / DAY_S).collect();
        let processors = share.processors(f64::from(view.n_up()), &others);
        let added = LatestWork::new(job.procs, count, job.run, until(job.due));
        is_within(processors, waiting.chain(running), added)
    }

    /// Returns the end of a running job at the plan's level.
    fn planned_end(&self, view: View<'_>, id: JobId) -> Instant {
        let job = view.job(id);
        let belief = belief_of(&job.spec, view.forecast(id));
        let progress = job.progress();
        let level = [self.settings.level_of(&job.spec)];
        let [work] = belief.quantiles_given_survived(progress.work_by(view.now), level);
        progress.end_of(work)
    }

    /// Returns Libra's price of a promised job. A user with more or less confidence than the plan's level
    /// pays for the time that the plan then keeps for the job, in proportion.
    pub(super) fn price(&self, spec: &JobSpec, belief: &Distribution) -> Credits {
        let usual = belief.quantile(self.settings.level).as_secs_f64();
        let kept = belief.quantile(self.settings.level_of(spec)).as_secs_f64();
        let priced = JobSpec {
            estimate: Span::from_secs_f64(spec.estimate.as_secs_f64() * kept / usual),
            ..*spec
        };
        let spec = if kept == usual { spec } else { &priced };
        price::with_incentive(self.market, spec, IncentiveFactors::DEFAULT)
    }
}

/// Checks that the hosts that are there could hold a job if nothing else ran, from the first instant of
/// those that close.
fn fits_hosts(view: View<'_>, group: &JobGroup) -> Result<(), Reason> {
    let is_set_aside = group.hosts == HostChoice::SetAside;
    let is_open = |host: &&Host| host.terms.is_set_aside == is_set_aside;
    let (open, others): (Vec<&Host>, Vec<&Host>) = view.hosts().iter().partition(is_open);
    let n_procs = |hosts: &[&Host]| hosts.iter().map(|host| host.nodes.len).sum::<u32>();
    if !others.is_empty() && n_procs(&open) < group.procs {
        return Err(SET_ASIDE);
    }
    let is_there = |host: &&Host| host.terms.closes.is_none() || view.n_up_in(host.nodes) > 0;
    let lasts = |host: &&Host| {
        let closes = host.terms.closes;
        closes.is_none_or(|closes| host.opened + group.reserved <= closes)
    };
    let suits =
        |host: &&Host| host.nodes.len >= group.procs && host.terms.devices.covers(&group.devices);
    let holds = |hosts: &[&Host]| match group.one_host {
        true => hosts.iter().any(suits),
        false => n_procs(hosts) >= group.procs,
    };
    let is_requested = |host: &&Host| group.accepts_host(host.terms.name);
    let there = open.into_iter().filter(is_there);
    let there: Vec<&Host> = there.filter(is_requested).collect();
    if there.is_empty() || !group.one_host && !holds(&there) || is_held_by_expected(view, group) {
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

/// Returns whether hosts that are expected could hold a job.
fn is_held_by_expected(view: View<'_>, group: &JobGroup) -> bool {
    let is_bound = group.host.is_some() || !group.devices.is_none();
    if is_bound || group.hosts == HostChoice::SetAside {
        return false;
    }
    let expected = view.expected_hosts();
    let lasting = expected.filter(|host| host.stays >= group.reserved);
    let mut sizes = lasting.map(|host| host.nodes);
    match group.one_host {
        true => sizes.any(|size| size >= group.procs),
        false => sizes.fold(0, u32::saturating_add) >= group.procs,
    }
}

/// Returns whether hosts are there on which the promise of a job can rest, and which could hold it.
fn has_sure_host(view: View<'_>, group: &JobGroup) -> bool {
    let hosts = view.hosts().iter();
    let sure = hosts.filter(|host| {
        let is_sure = HostTimes::of(view, host).last_end(group.hosts) > view.now;
        is_sure && view.n_up_in(host.nodes) > 0
    });
    let mut sizes = sure.map(|host| host.nodes.len);
    match group.one_host {
        true => sizes.any(|size| size >= group.procs),
        false => sizes.sum::<u32>() >= group.procs,
    }
}
