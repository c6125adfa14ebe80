//! A queue in the order of keys, for policies with `key`.
//!
//! It does for any order what the family of space-shared policies does for its own, with at most one reservation.
//! A key is known only to Python, so that no block of the queue can be skipped by it.

use std::collections::BTreeSet;
use std::mem;

use tollgate_model::{Credits, Instant, JobId, JobSpec, Market, Reason, Span};
use tollgate_policy::toolkit::{BackfillWindow, HeadReservation, price};
use tollgate_policy::{PolicyContext, PolicySpec, View};

/// The waiting jobs in the order of their keys, and the rules by which they start.
#[derive(Clone, Debug)]
pub(super) struct KeyedQueue {
    market: Market,
    /// Whether jobs behind the head may start beside its reservation.
    backfills: bool,
    /// Whether a candidate may run past the reservation on processors that it leaves over.
    extra: bool,
    drops: DropRule,
    base_price: f64,
    /// In the order in which jobs start.
    jobs: Vec<KeyedJob>,
    /// The deadlines ahead, after which a job gets another key.
    deadlines: BTreeSet<(Instant, u64)>,
}

/// The moment at which a job that cannot finish in time is dropped, as the family's `test` has it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DropRule {
    None,
    Start,
    Select,
    Mixed,
}

#[derive(Clone, Copy, Debug)]
struct KeyedJob {
    key: f64,
    /// Place in the order of submission, which breaks ties.
    sequence: u64,
    id: JobId,
    procs: u32,
    estimate: Span,
    due: Option<Instant>,
}

impl KeyedQueue {
    /// Creates an empty queue with the rules of a policy, besides its order.
    ///
    /// # Errors
    /// If the policy has no queue whose order can be replaced.
    pub(super) fn of(base: &PolicySpec, market: Market) -> Result<Self, String> {
        let parameters = base.parameters();
        let value = |key: &str| {
            let mut all = parameters.iter();
            all.find(|parameter| parameter.key == key)
                .map(|found| found.value.as_str())
        };
        let depth = value("depth").filter(|_| value("order").is_some());
        let is_plain = ["0", "1"].contains(&depth.unwrap_or("none"))
            && value("pass") == Some("instant")
            && value("admission") == Some("none")
            && [None, Some("estimate")].contains(&value("feasibility"));
        let drops = match value("test") {
            Some("none") => DropRule::None,
            Some("start") => DropRule::Start,
            Some("select") => DropRule::Select,
            Some("mixed") => DropRule::Mixed,
            _ => return Err(no_such_queue(base)),
        };
        let base_price = value("base-price").and_then(|price| price.parse().ok());
        match base_price.filter(|_| is_plain) {
            Some(base_price) => Ok(Self {
                market,
                backfills: depth == Some("1"),
                extra: value("extra") != Some("false"),
                drops,
                base_price,
                jobs: Vec::new(),
                deadlines: BTreeSet::new(),
            }),
            None => Err(no_such_queue(base)),
        }
    }

    /// Adds a job.
    pub(super) fn insert(&mut self, view: View<'_>, id: JobId, key: f64) {
        let slot = view.job(id);
        let job = KeyedJob {
            key,
            sequence: slot.sequence,
            id,
            procs: slot.spec.procs,
            estimate: slot.spec.estimate,
            due: slot.spec.due(),
        };
        if let Some(due) = job.due.filter(|&due| due >= view.now) {
            self.deadlines.insert((due, job.sequence));
        }
        let at = self.jobs.partition_point(|other| other.is_before(&job));
        self.jobs.insert(at, job);
    }

    /// Removes a job.
    pub(super) fn remove(&mut self, sequence: u64) {
        self.jobs.retain(|job| job.sequence != sequence);
    }

    /// Removes all jobs.
    pub(super) fn clear(&mut self) {
        self.jobs.clear();
        self.deadlines.clear();
    }

    /// Takes out the jobs whose deadlines have passed since the last call, to be inserted with other keys.
    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<JobId> {
        let mut overdue = Vec::new();
        while let Some(&(due, sequence)) = self.deadlines.first() {
            if due >= now {
                break;
            }
            self.deadlines.pop_first();
            if let Some(at) = self.jobs.iter().position(|job| job.sequence == sequence) {
                overdue.push(self.jobs.remove(at).id);
            }
        }
        overdue
    }

    /// Starts the jobs that can start, and drops the hopeless ones.
    pub(super) fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let mut jobs = mem::take(&mut self.jobs).into_iter();
        let head = jobs.find(|job| !self.start_head(cx, job));
        let Some(head) = head else {
            return;
        };
        let mut rest = Vec::with_capacity(1 + jobs.len());
        rest.push(head);
        if self.backfills {
            self.backfill(cx, &head, jobs, &mut rest);
        } else {
            rest.extend(jobs);
        }
        self.jobs = rest;
    }

    /// Starts or drops the first job; returns false if it has to wait.
    fn start_head(&self, cx: &mut PolicyContext<'_>, job: &KeyedJob) -> bool {
        let fits = job.procs <= cx.n_idle();
        let dropped = self.dropped(job, cx.now(), fits);
        match dropped {
            Some(reason) => cx.reject(job.id, reason),
            None if fits => self.start(cx, job.id),
            None => return false,
        }
        true
    }

    /// Starts, in order, every job that does not delay the head's reservation. The others are appended to `rest`.
    fn backfill(
        &self,
        cx: &mut PolicyContext<'_>,
        head: &KeyedJob,
        jobs: impl Iterator<Item = KeyedJob>,
        rest: &mut Vec<KeyedJob>,
    ) {
        let now = cx.now();
        let mut shadow = HeadReservation::of(cx.view(), head.procs);
        cx.note_reservation(head.id, shadow.at);
        if !self.extra {
            shadow.extra = 0;
        }
        for job in jobs {
            let window: BackfillWindow = shadow.window(now, cx.n_idle());
            let fits = cx.n_idle() > 0 && window.fits(job.procs, job.estimate);
            // A scan ends with the last idle processor, and looks at no job behind it.
            let dropped = match cx.n_idle() {
                0 => None,
                _ => self.dropped(&job, now, fits),
            };
            match dropped {
                Some(reason) => cx.reject(job.id, reason),
                None if fits => {
                    self.start(cx, job.id);
                    shadow.note_start(now, job.procs, job.estimate);
                }
                None => rest.push(job),
            }
        }
    }

    /// Returns why a job is dropped that fits now or is merely looked at, if it is.
    fn dropped(&self, job: &KeyedJob, now: Instant, fits: bool) -> Option<Reason> {
        let hopeless = job.hopeless_reason(now);
        match (self.drops, fits) {
            (DropRule::None, _) | (DropRule::Start, false) => None,
            (DropRule::Select, _) | (DropRule::Start | DropRule::Mixed, true) => hopeless,
            (DropRule::Mixed, false) => hopeless.filter(|&reason| reason == Reason::DeadlinePassed),
        }
    }

    fn start(&self, cx: &mut PolicyContext<'_>, id: JobId) {
        let spec = cx.job(id).spec;
        cx.start(id, self.price(&spec));
    }

    fn price(&self, spec: &JobSpec) -> Credits {
        let price = price::flat(self.market, spec, self.base_price);
        match spec.sla.budget {
            Some(budget) if self.drops == DropRule::None => price.min(budget),
            Some(_) | None => price,
        }
    }
}

fn no_such_queue(base: &PolicySpec) -> String {
    format!(
        "base `{base}` has no queue whose order a key replaces: expected fcfs, easy, edf, fcfs-bf, sjf-bf \
         or edf-bf"
    )
}

impl KeyedJob {
    fn is_before(&self, other: &Self) -> bool {
        let by_key = self.key.total_cmp(&other.key);
        by_key.then(self.sequence.cmp(&other.sequence)).is_lt()
    }

    /// Returns why the job is hopeless at `now`, if it is.
    fn hopeless_reason(&self, now: Instant) -> Option<Reason> {
        let due = self.due? + Span::TICK;
        if now > due {
            return Some(Reason::DeadlinePassed);
        }
        (now + self.estimate > due).then_some(Reason::DeadlineUnreachable)
    }
}
