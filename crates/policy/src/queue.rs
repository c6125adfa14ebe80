//! The family of space-shared policies: a queue in some order, one job a processor.
//!
//! What unites them is the **depth**, how many waiting jobs get a reservation that later ones
//! must not delay: none (strictly in order), one (EASY), a few, all (conservative). The other
//! axes are the order of the queue, whether a candidate may use what a reservation leaves over,
//! when a hopeless job is dropped, and when passes happen.

mod order;
mod profile;
mod settings;
mod shadow;
mod slack;
mod waiting;

use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, Instant, JobId, JobSpec, Market, NodeId, Reason, Span,
};

use crate::blocks::{Blocks, Cursor, Entry};
use crate::cx::{Cx, Violation};
use crate::fit::fits_machine;
use crate::policy::{Discipline, Policy, Scratch, Verdict};
use crate::price;
use crate::state::{Job, Phase, View};
use crate::tail::belief::Belief;
use order::Key;
use profile::Profile;
use shadow::Shadow;
use waiting::Waiting;

pub use order::Order;
pub(crate) use settings::PARAMETERS;
pub use settings::{Admission, Depth, Feasibility, Settings};
pub use slack::{Count, Slack};
pub use waiting::Test;

/// A space-shared policy.
#[derive(Clone, Debug)]
pub struct Queue {
    settings: Settings,
    market: Market,
    waiting: Blocks<Waiting>,
    /// What the last complete scan found, while nothing but arrivals has happened since.
    blocked: Option<Blocked>,
    penalties: Penalties,
}

/// The head did not fit, and nobody else did.
#[derive(Clone, Debug)]
struct Blocked {
    head: Waiting,
    shadow: Shadow,
    /// Who arrived since: only they can be candidates, for time alone makes nobody fit.
    fresh: Vec<Waiting>,
}

/// Sums of the penalty rates of accepted jobs that are not over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Penalties {
    waiting: CreditsPerSecond,
    running: CreditsPerSecond,
}

impl Queue {
    /// A policy with these settings in this market.
    pub fn new(settings: Settings, market: Market) -> Self {
        Self {
            settings,
            market,
            waiting: Blocks::default(),
            blocked: None,
            penalties: Penalties::default(),
        }
    }

    fn admit(&self, view: View<'_>, spec: &JobSpec) -> Result<Verdict, Reason> {
        fits_machine(view, spec)?;
        let price = self.price(spec);
        price::within_budget(self.market, spec, price)?;
        match self.settings.admission {
            Admission::None => Ok(Verdict::Queue),
            Admission::Slack => {
                let others = match self.settings.slack.count {
                    Count::All => self.penalties.waiting + self.penalties.running,
                    Count::Waiting => self.penalties.waiting,
                };
                self.settings.slack.admit(spec, others)?;
                Ok(Verdict::Promise { price })
            }
        }
    }

    /// What a job costs. A policy that keeps nobody out charges nobody more than the budget.
    fn price(&self, spec: &JobSpec) -> Credits {
        let price = price::flat(self.market, spec);
        match spec.sla.budget {
            Some(budget) if self.settings.keeps_nobody_out() => price.min(budget),
            Some(_) | None => price,
        }
    }

    fn entry(&self, view: View<'_>, id: JobId) -> Waiting {
        let job = view.job(id);
        let least = match self.settings.feasibility {
            Feasibility::Estimate => job.spec.estimate,
            Feasibility::Chance(level) => Belief::of(&job.spec, view.forecast(id)).quantile(level),
        };
        Waiting::new(id, job, self.key(job), least)
    }

    fn key(&self, job: &Job) -> Key {
        self.settings.order.key(job, &self.settings.slack)
    }

    fn start(&mut self, cx: &mut Cx<'_>, job: JobId) {
        let entry = cx.job(job);
        let (spec, promised) = (entry.spec, entry.accepted.is_some());
        if promised {
            self.penalties.waiting = self.penalties.waiting - spec.sla.penalty;
        }
        self.penalties.running = self.penalties.running + spec.sla.penalty;
        cx.start(job, self.price(&spec));
    }

    /// Starts or drops jobs from the head on, until one does not fit now.
    fn start_heads(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let test = self.settings.test;
        while let Some(&head) = self.waiting.first() {
            let fits = head.procs <= cx.n_idle();
            let dropped = if fits {
                test.at_start(&head, cx.now())
            } else {
                test.on_sight(&head, cx.now())
            };
            if !fits && dropped.is_none() {
                return Some(head);
            }
            self.waiting.remove(head.key());
            match dropped {
                Some(reason) => cx.reject(head.id, reason),
                None => self.start(cx, head.id),
            }
        }
        None
    }

    /// The pass with at most one reservation.
    fn shadow_pass(&mut self, cx: &mut Cx<'_>) {
        if self.only_arrivals(cx.now()) {
            return self.backfill_fresh(cx);
        }
        self.blocked = None;
        let Some(head) = self.start_heads(cx) else {
            return;
        };
        let mut shadow = Shadow {
            at: Instant::MAX,
            extra: 0,
        };
        if self.settings.depth != Depth::AtMost(0) {
            shadow = Shadow::of(cx.view(), head.procs);
            cx.plan(head.id, shadow.at);
            self.limit_extra(&mut shadow);
            self.backfill(cx, &head, &mut shadow);
        }
        self.blocked = Some(Blocked {
            head,
            shadow,
            fresh: Vec::new(),
        });
    }

    /// Without the rule of the extra processors a reservation leaves nothing over.
    fn limit_extra(&self, shadow: &mut Shadow) {
        if !self.settings.extra {
            shadow.extra = 0;
        }
    }

    /// Whether all that happened since the last complete scan is that jobs arrived behind its
    /// head. A policy that drops on sight must look at everybody; and a shadow time in the past
    /// moves on with the clock.
    fn only_arrivals(&self, now: Instant) -> bool {
        let drops_on_sight = match self.settings.test {
            Test::None | Test::Start => false,
            Test::Select | Test::Mixed => true,
        };
        let blocked = self.blocked.as_ref();
        blocked.is_some_and(|blocked| !drops_on_sight && blocked.shadow.at >= now)
    }

    fn backfill_fresh(&mut self, cx: &mut Cx<'_>) {
        let Some(mut blocked) = self.blocked.take() else {
            return;
        };
        if self.settings.depth != Depth::AtMost(0) {
            blocked.fresh.sort_unstable_by_key(Entry::key);
            for job in &blocked.fresh {
                if blocked.shadow.room(cx.now(), cx.n_idle()).fits(job) {
                    self.waiting.remove(job.key());
                    self.start_candidate(cx, job, &mut blocked.shadow);
                    let (head, at) = (blocked.head, blocked.shadow.at);
                    cx.verify(|view| shadow_stays(view, head.procs, at));
                }
            }
        }
        blocked.fresh.clear();
        self.blocked = Some(blocked);
    }

    /// Starts, in order, every job behind the head that leaves its reservation where it is.
    fn backfill(&mut self, cx: &mut Cx<'_>, head: &Waiting, shadow: &mut Shadow) {
        let (test, now) = (self.settings.test, cx.now());
        let mut cursor = Cursor::default().next();
        while cx.n_idle() > 0 {
            let room = shadow.room(now, cx.n_idle());
            let found = self.waiting.find(
                cursor,
                |least| room.may_fit(least) || test.may_drop_on_sight(least, now),
                |job| room.fits(job) || test.on_sight(job, now).is_some(),
            );
            let Some((at, job)) = found else {
                return;
            };
            self.waiting.remove_at(at);
            cursor = at;
            match test.on_sight(&job, now) {
                Some(reason) => cx.reject(job.id, reason),
                None => self.start_candidate(cx, &job, shadow),
            }
            cx.verify(|view| shadow_stays(view, head.procs, shadow.at));
        }
    }

    /// Starts a job that fits beside the reservation, or drops it if it is hopeless.
    fn start_candidate(&mut self, cx: &mut Cx<'_>, job: &Waiting, shadow: &mut Shadow) {
        match self.settings.test.at_start(job, cx.now()) {
            Some(reason) => cx.reject(job.id, reason),
            None => {
                self.start(cx, job.id);
                shadow.note_start(cx.now(), job);
            }
        }
    }

    /// The pass with several reservations: each job in order gets the earliest hole, and starts
    /// if that is now.
    fn profile_pass(&mut self, cx: &mut Cx<'_>) {
        let (test, now) = (self.settings.test, cx.now());
        let mut profile = Profile::of(cx.view());
        let mut reserved = 0;
        let mut first_reserved = Instant::MAX;
        let jobs: Vec<Waiting> = self.waiting.iter().copied().collect();
        for job in jobs {
            let at = self.hole(cx, &profile, &job);
            let starts =
                at == Some(now) && (self.settings.extra || now + job.estimate <= first_reserved);
            let dropped = if starts {
                test.at_start(&job, now)
            } else {
                test.on_sight(&job, now)
            };
            if let Some(reason) = dropped {
                self.waiting.remove(job.key());
                cx.reject(job.id, reason);
            } else if starts {
                self.waiting.remove(job.key());
                profile.reserve(now, job.procs, job.estimate);
                self.start(cx, job.id);
            } else if self.settings.depth.covers(reserved)
                && let Some(at) = at
            {
                reserved += 1;
                first_reserved = first_reserved.min(at);
                profile.reserve(at, job.procs, job.estimate);
                self.plan(cx, job.id, at);
            }
        }
    }

    /// Notes a reservation. One that is made anew at every pass begins when some job ends, so a
    /// pass comes by itself; one that is kept may begin when nothing else happens. The end of a
    /// job past its estimate cannot be waited for.
    fn plan(&self, cx: &mut Cx<'_>, job: JobId, at: Instant) {
        cx.plan(job, at);
        if !self.settings.compress && at > cx.now() + Span::TICK {
            cx.wake_at(at);
        }
    }

    /// Where a job is placed: where it was planned if reservations are kept and it still fits
    /// there, else in the earliest hole.
    fn hole(&self, cx: &Cx<'_>, profile: &Profile, job: &Waiting) -> Option<Instant> {
        let planned = cx.job(job.id).planned;
        planned
            .filter(|_| !self.settings.compress)
            .map(|at| at.max(cx.now()))
            .filter(|&at| profile.fits(at, job.procs, job.estimate))
            .or_else(|| profile.earliest(cx.now(), job.procs, job.estimate))
    }
}

/// No backfill of a pass may move the shadow time that was computed in it.
fn shadow_stays(view: View<'_>, head_procs: u32, at: Instant) -> Result<(), Violation> {
    let moved = Shadow::of(view, head_procs).at;
    if moved <= at {
        return Ok(());
    }
    Err(Violation(format!(
        "at {} a backfilled job moved the shadow time from {at} to {moved}",
        view.now
    )))
}

impl Policy for Queue {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        _: Option<&Distribution>,
        _: &mut Scratch,
    ) -> Verdict {
        self.admit(view, spec).unwrap_or_else(Verdict::Reject)
    }

    fn queued(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        let entry = self.entry(view, id);
        self.waiting.insert(entry);
        if job.accepted.is_some() {
            self.penalties.waiting = self.penalties.waiting + job.spec.sla.penalty;
        }
        match &mut self.blocked {
            Some(blocked) if blocked.head.key() < entry.key() => blocked.fresh.push(entry),
            Some(_) | None => self.blocked = None,
        }
    }

    fn withdrawn(&mut self, view: View<'_>, id: JobId) {
        let job = view.job(id);
        let key = self.key(job);
        self.waiting.remove(key);
        if job.accepted.is_some() {
            self.penalties.waiting = self.penalties.waiting - job.spec.sla.penalty;
        }
        self.blocked = None;
    }

    fn ended(&mut self, view: View<'_>, id: JobId) {
        let penalty = view.job(id).spec.sla.penalty;
        self.penalties.running = self.penalties.running - penalty;
        self.blocked = None;
    }

    fn resized(&mut self, _: View<'_>) {
        self.blocked = None;
    }

    fn refresh(&mut self, _: &mut Cx<'_>, _: NodeId) {}

    fn pass(&mut self, cx: &mut Cx<'_>) {
        match self.settings.depth {
            Depth::AtMost(0 | 1) => self.shadow_pass(cx),
            Depth::AtMost(_) | Depth::All => self.profile_pass(cx),
        }
    }

    fn rebuild(&mut self, view: View<'_>) {
        let mut fresh = Self::new(self.settings, self.market);
        for (id, job) in view.jobs() {
            let penalty = if job.accepted.is_some() {
                job.spec.sla.penalty
            } else {
                CreditsPerSecond::ZERO
            };
            match job.phase {
                Phase::Queued => {
                    fresh.waiting.insert(fresh.entry(view, id));
                    fresh.penalties.waiting = fresh.penalties.waiting + penalty;
                }
                Phase::Running => fresh.penalties.running = fresh.penalties.running + penalty,
                Phase::Vacant | Phase::Held | Phase::Over => {}
            }
        }
        *self = fresh;
    }

    fn duplicate(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }

    fn pass_looks(&self) -> usize {
        let waiting = self.waiting.len();
        match self.settings.depth {
            // One a block, and some in it.
            Depth::AtMost(0 | 1) => waiting.div_ceil(8),
            // Each is placed among the reservations of all before it.
            Depth::AtMost(_) | Depth::All => waiting * waiting,
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), Violation> {
        let mut rebuilt = self.clone();
        rebuilt.rebuild(view);
        if !self.waiting.iter().eq(rebuilt.waiting.iter()) {
            return Err(Violation("the queue's index has drifted".to_owned()));
        }
        if self.penalties != rebuilt.penalties {
            return Err(Violation(
                "the queue's penalty sums have drifted".to_owned(),
            ));
        }
        Ok(())
    }

    fn discipline(&self) -> Discipline {
        self.settings.pass
    }
}
