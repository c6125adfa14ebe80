//! The policy of a run, which asks Python and checks the answers.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tollgate_model::{
    Credits, Distribution, Instant, JobId, JobSpec, Market, NodeId, NodeRange, Probability, Reason,
    Sla, Span,
};
use tollgate_policy::toolkit::{fits_machine, price};
use tollgate_policy::{
    AdmissionDecision, ClonePolicy, InvariantViolation, NodeSharing, OutlookSubject, PassTrigger,
    Policy, PolicyContext, PolicyFailure, PossibleRuns, ProbeScratch, View, WaitOrder,
};

use super::answers::{self, PassAction};
use super::jobs::{Job, RecordNames};
use super::keyed_queue::KeyedQueue;
use super::prototype::{PolicyPrototype, PythonRules};
use super::view::PolicyView;
use crate::errors::ErrorClass;

/// The policy of a run. Its decisions are those of an object of Python, or of another policy with its changes.
#[derive(Debug)]
pub(super) struct PythonPolicy {
    prototype: Arc<PolicyPrototype>,
    market: Market,
    /// None if it could not be created.
    object: Option<Py<PyAny>>,
    decider: Decider,
    failure: OnceCell<PolicyFailure>,
    /// The thread of the run, as Python numbers it; None if the object could not be created.
    thread: Option<u64>,
}

#[derive(Debug)]
enum Decider {
    /// Another policy; True if Python is asked about each submitted job.
    Base(Box<dyn Policy>, bool),
    /// The admission of another policy, and a queue in an order of Python.
    Keyed(Box<dyn Policy>, bool, KeyedQueue),
    /// Python, with the waiting jobs by their place in the order of submission.
    Whole(BTreeMap<u64, JobId>),
}

impl PythonPolicy {
    pub(super) fn new(prototype: Arc<PolicyPrototype>, rules: PythonRules, market: Market) -> Self {
        let decider = match rules {
            PythonRules::Changed {
                base,
                admits,
                keyed: None,
            } => Decider::Base(base.build(market), admits),
            PythonRules::Changed {
                base,
                admits,
                keyed: Some(queue),
            } => Decider::Keyed(base.build(market), admits, queue),
            PythonRules::Whole => Decider::Whole(BTreeMap::new()),
        };
        let failure = OnceCell::new();
        let begun = Python::attach(|py| {
            let object = prototype.instance(py);
            match object.and_then(|object| Ok((object, prototype.begin_run(py)?))) {
                Ok(begun) => Some(begun),
                Err(error) => {
                    let place = format!("{} cannot be created", prototype.name());
                    note(py, &error, &place);
                    // Nothing was set before.
                    let _ = failure.set(prototype.keep(py, place, error));
                    None
                }
            }
        });
        let (object, thread) = begun.unzip();
        Self {
            prototype,
            market,
            object,
            thread,
            decider,
            failure,
        }
    }

    fn names(&self) -> Option<&RecordNames> {
        self.prototype.names.get()
    }

    /// Asks the object; None after a failure. `job` is the job in question, by its place in the order of submission.
    fn ask<T>(
        &self,
        method: &str,
        now: Instant,
        job: Option<u64>,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let object = self
            .object
            .as_ref()
            .filter(|_| self.failure.get().is_none())?;
        Python::attach(|py| match call(object.bind(py)) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.fail(py, method, now, job, error);
                None
            }
        })
    }

    /// Ends the run with an exception.
    fn fail(&self, py: Python<'_>, method: &str, now: Instant, job: Option<u64>, error: PyErr) {
        let number = job.map(|job| {
            let id = self.names().and_then(|names| names.number(job));
            id.map_or_else(
                || format!(" for the job with number {job}"),
                |id| format!(" for job {id}"),
            )
        });
        let place = format!(
            "{}.{method}{}, at {} s",
            self.prototype.name(),
            number.unwrap_or_default(),
            now.as_secs_f64()
        );
        note(py, &error, &place);
        // The first failure stays.
        let _ = self.failure.set(self.prototype.keep(py, place, error));
    }

    /// Returns why Python rejects a submitted job, if it does.
    fn admission(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
    ) -> Option<Reason> {
        let number = view.n_submitted();
        let job = Job::new(number, spec, forecast, self.names());
        let answer = self.ask("admit", view.now, Some(number), |object| {
            PolicyView::lend(&view, view.now, self.names(), |seen| {
                let answer = object.call_method1(intern!(object.py(), "admit"), (job, seen))?;
                answers::admission(&answer)
            })
        });
        answer.flatten()
    }

    /// Returns the key of a waiting job, or any after a failure.
    fn key(&self, view: View<'_>, id: JobId) -> f64 {
        let slot = view.job(id);
        let job = Job::of_slot(slot, view.forecast(id), self.names());
        let key = self.ask("key", view.now, Some(slot.sequence), |object| {
            let now = view.now.as_secs_f64();
            let answer = object.call_method1(intern!(object.py(), "key"), (job, now))?;
            answers::key(&answer)
        });
        key.unwrap_or_default()
    }

    /// Starts and rejects what Python says, up to the first thing that cannot be done.
    fn whole_pass(&mut self, cx: &mut PolicyContext<'_>) {
        let now = cx.now();
        let actions = self.ask("pass_", now, None, |object| {
            PolicyView::lend(cx, now, self.names(), |seen| {
                let method: &Bound<'_, PyString> = intern!(object.py(), "pass_");
                answers::pass_actions(&object.call_method1(method, (seen,))?)
            })
        });
        for action in actions.into_iter().flatten() {
            if let Err((job, problem)) = self.act(cx, action) {
                let error = ErrorClass::Policy.raise(problem, None);
                Python::attach(|py| self.fail(py, "pass_", now, Some(job), error));
                return;
            }
        }
    }

    fn act(&mut self, cx: &mut PolicyContext<'_>, action: PassAction) -> Result<(), (u64, String)> {
        let Decider::Whole(waiting) = &mut self.decider else {
            return Ok(());
        };
        let (PassAction::Start(job) | PassAction::Reject(job, _)) = action;
        let Some(&id) = waiting.get(&job) else {
            let problem =
                "the job does not wait: it was started or rejected before, or never queued";
            return Err((job, problem.to_owned()));
        };
        match action {
            PassAction::Reject(_, reason) => cx.reject(id, reason),
            PassAction::Start(_) => {
                let spec = cx.job(id).spec;
                let (needed, idle) = (spec.procs, cx.n_idle());
                if needed > idle {
                    return Err((
                        job,
                        format!("the job needs {needed} nodes, and {idle} are idle"),
                    ));
                }
                cx.start(id, flat_price(self.market, &spec));
            }
        }
        waiting.remove(&job);
        Ok(())
    }

    fn base(&self) -> Option<&dyn Policy> {
        match &self.decider {
            Decider::Base(base, _) | Decider::Keyed(base, ..) => Some(base.as_ref()),
            Decider::Whole(_) => None,
        }
    }
}

impl Drop for PythonPolicy {
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            self.prototype.end_run(thread);
        }
    }
}

/// Returns the price of a job in the commodity market, or what the user bids; never more than the budget.
fn flat_price(market: Market, spec: &JobSpec) -> Credits {
    let price = price::flat(market, spec, price::BASE_PRICE);
    spec.sla.budget.map_or(price, |budget| price.min(budget))
}

/// Notes on an exception where it was raised.
fn note(py: Python<'_>, error: &PyErr, place: &str) {
    let note = format!("in the policy {place}");
    let error = error.value(py);
    if error.call_method1("add_note", (&note,)).is_err() {
        // Python 3.10 has no notes, but keeps the attribute.
        let _ = error.setattr("__notes__", vec![note]);
    }
}

impl Policy for PythonPolicy {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        scratch: &mut ProbeScratch,
    ) -> AdmissionDecision {
        let (decision, admits) = match &self.decider {
            Decider::Base(base, admits) | Decider::Keyed(base, admits, _) => {
                (base.probe(view, spec, forecast, scratch), *admits)
            }
            Decider::Whole(_) => {
                let fits = fits_machine(view, spec).map(|()| AdmissionDecision::Queue);
                (fits.unwrap_or_else(AdmissionDecision::Reject), false)
            }
        };
        if !admits || matches!(decision, AdmissionDecision::Reject(_)) {
            return decision;
        }
        match self.admission(view, spec, forecast) {
            Some(reason) => AdmissionDecision::Reject(reason),
            None => decision,
        }
    }

    fn clear(&mut self) {
        match &mut self.decider {
            Decider::Base(base, _) => base.clear(),
            Decider::Keyed(base, _, queue) => {
                base.clear();
                queue.clear();
            }
            Decider::Whole(waiting) => waiting.clear(),
        }
    }

    fn queued(&mut self, view: View<'_>, job: JobId) {
        let key = match &self.decider {
            Decider::Keyed(..) => self.key(view, job),
            Decider::Base(..) | Decider::Whole(_) => 0.0,
        };
        match &mut self.decider {
            Decider::Base(base, _) => base.queued(view, job),
            Decider::Keyed(_, _, queue) => queue.insert(view, job, key),
            Decider::Whole(waiting) => {
                waiting.insert(view.job(job).sequence, job);
            }
        }
    }

    fn dequeued(&mut self, view: View<'_>, job: JobId) {
        let sequence = view.job(job).sequence;
        match &mut self.decider {
            Decider::Base(base, _) => base.dequeued(view, job),
            Decider::Keyed(_, _, queue) => queue.remove(sequence),
            Decider::Whole(waiting) => {
                waiting.remove(&sequence);
            }
        }
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let overdue = match &mut self.decider {
            Decider::Base(base, _) => return base.pass(cx),
            Decider::Whole(waiting) if waiting.is_empty() => return,
            Decider::Whole(_) => return self.whole_pass(cx),
            Decider::Keyed(_, _, queue) => queue.take_overdue(cx.now()),
        };
        let keys = overdue
            .into_iter()
            .map(|job| (job, self.key(cx.view(), job)));
        let keys: Vec<(JobId, f64)> = keys.collect();
        if let Decider::Keyed(_, _, queue) = &mut self.decider {
            for (job, key) in keys {
                queue.insert(cx.view(), job, key);
            }
            queue.pass(cx);
        }
    }

    fn ended(&mut self, view: View<'_>, job: JobId) {
        if let Decider::Base(base, _) = &mut self.decider {
            base.ended(view, job);
        }
    }

    fn start_follower(
        &mut self,
        cx: &mut PolicyContext<'_>,
        job: JobId,
        nodes: &[NodeRange],
    ) -> bool {
        match &mut self.decider {
            Decider::Base(base, _) => base.start_follower(cx, job, nodes),
            Decider::Keyed(..) | Decider::Whole(_) => cx.start_held(job, nodes),
        }
    }

    fn nodes_changed(&mut self, view: View<'_>) {
        if let Decider::Base(base, _) = &mut self.decider {
            base.nodes_changed(view);
        }
    }

    fn update_shares(&mut self, cx: &mut PolicyContext<'_>, node: NodeId) {
        if let Decider::Base(base, _) = &mut self.decider {
            base.update_shares(cx, node);
        }
    }

    fn group_parted(&mut self, view: View<'_>, node: NodeId) {
        if let Decider::Base(base, _) = &mut self.decider {
            base.group_parted(view, node);
        }
    }

    fn check(&self, view: View<'_>) -> Result<(), InvariantViolation> {
        match &self.decider {
            Decider::Base(base, _) => base.check(view),
            Decider::Keyed(..) | Decider::Whole(_) => Ok(()),
        }
    }

    fn node_sharing(&self, sla: &Sla) -> Option<&dyn NodeSharing> {
        self.base()?.node_sharing(sla)
    }

    fn possible_runs(
        &self,
        view: View<'_>,
        subject: OutlookSubject<'_>,
        least_probability: Option<Probability>,
    ) -> Option<PossibleRuns> {
        self.base()?.possible_runs(view, subject, least_probability)
    }

    fn possible_runs_of_all(&self, view: View<'_>) -> Option<BTreeMap<JobId, PossibleRuns>> {
        self.base()?.possible_runs_of_all(view)
    }

    fn wait_order(&self, view: View<'_>, job: JobId) -> Option<WaitOrder> {
        self.base()?.wait_order(view, job)
    }

    fn planned_run(&self, view: View<'_>, job: JobId) -> Span {
        match self.base() {
            Some(base) => base.planned_run(view, job),
            None => view.job(job).spec.estimate,
        }
    }

    fn failure(&self) -> Option<&PolicyFailure> {
        let own = self.failure.get();
        own.or_else(|| self.base()?.failure())
    }

    fn follows_uses(&self) -> bool {
        self.base().is_some_and(Policy::follows_uses)
    }

    fn pass_trigger(&self) -> PassTrigger {
        self.base()
            .map_or(PassTrigger::Instant, Policy::pass_trigger)
    }
}

/// # Panics
/// Always: nothing copies the policy of a replay, and an object of Python may hold what cannot be copied.
impl ClonePolicy for PythonPolicy {
    fn clone_box(&self) -> Box<dyn Policy> {
        panic!(
            "the policy `{}` is in Python, which cannot be copied",
            self.prototype.name()
        )
    }
}
