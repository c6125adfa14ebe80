//! The object of the user, from which each run gets a policy of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tollgate_model::{Market, Probability};
use tollgate_policies::builtin_registry;
use tollgate_policy::{
    DynSettings, ParameterInfo, Policy, PolicyDefinition, PolicyError, PolicyFailure,
    PolicySettings, PolicySpec,
};
use tollgate_replay::choose_policies;

use super::decider::PythonPolicy;
use super::jobs::RecordNames;
use super::keyed_queue::KeyedQueue;
use crate::errors::{ErrorClass, argument, no_replay};

/// The policy under whose rules jobs run if a policy in Python names no other.
const DEFAULT_BASE: &str = "fcfs";

/// A policy that is written in Python, with the failures of its runs.
#[derive(Debug)]
pub(crate) struct PolicyPrototype {
    name: &'static str,
    /// A class, or an object that each run copies.
    object: Py<PyAny>,
    rules: PythonRules,
    /// The record of a replay. Unset in studies, whose runs have different jobs.
    pub(super) names: OnceLock<RecordNames>,
    /// The exceptions of failed runs, by the text that stands for each outside of Python.
    raised: Mutex<BTreeMap<String, PyErr>>,
    /// The threads of its runs, as Python numbers them.
    threads: Mutex<Vec<u64>>,
}

/// The decisions that Python makes.
#[derive(Clone, Debug)]
pub(super) enum PythonRules {
    /// Those of another policy, with changes.
    Changed {
        /// The other policy.
        base: PolicySpec,
        /// Whether Python is asked about each submitted job.
        admits: bool,
        /// The order of the queue if Python gives each job a key; empty.
        keyed: Option<KeyedQueue>,
    },
    /// All decisions.
    Whole,
}

/// Runs work that may ask policies. The interpreter knows the thread from the beginning to the end, so that a policy need
/// not introduce it at each question.
pub(crate) fn run_with<T: Send>(
    prototypes: &[Arc<PolicyPrototype>],
    work: impl FnOnce() -> T + Send,
) -> T {
    match prototypes.is_empty() {
        true => work(),
        false => Python::attach(|py| py.detach(work)),
    }
}

/// Returns whether an object is a policy: an object or a subclass of `tollgate.Policy`.
pub(crate) fn is_policy(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = policy_class(value.py())?;
    match value.cast::<PyType>() {
        Ok(given) => given.is_subclass(&class),
        Err(_) => value.is_instance(&class),
    }
}

fn policy_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("tollgate._policy")?.getattr("Policy")
}

impl PolicyPrototype {
    /// Reads what a policy in Python decides. `market` is that of its runs; None if it may run in several.
    ///
    /// # Errors
    /// If the policy is contradictory, or if its base is unknown or cannot be changed in this way.
    pub(crate) fn of(value: &Bound<'_, PyAny>, market: Option<Market>) -> PyResult<Arc<Self>> {
        let name = name_of(value)?;
        let overrides = |method: &str| -> PyResult<bool> {
            let class = match value.cast::<PyType>() {
                Ok(class) => class.clone(),
                Err(_) => value.get_type(),
            };
            let own = class.getattr(method)?;
            Ok(!own.is(&policy_class(value.py())?.getattr(method)?))
        };
        let [admits, orders, is_whole] =
            [overrides("admit")?, overrides("key")?, overrides("pass_")?];
        let base: Option<String> = value.getattr("base")?.extract().map_err(|_| {
            argument(
                "policies",
                format_args!("{name}.base: expected the name of a policy"),
            )
        })?;
        let rules = if is_whole {
            if base.is_some() || orders {
                let what = if orders { "key" } else { "base" };
                return Err(contradiction(
                    name,
                    format_args!("`pass_` decides alone: expected no `{what}`"),
                ));
            }
            if admits {
                return Err(contradiction(
                    name,
                    "`pass_` decides alone: expected no `admit`",
                ));
            }
            PythonRules::Whole
        } else {
            if !admits && !orders && base.is_none() {
                return Err(contradiction(
                    name,
                    "expected a method `admit`, `key` or `pass_`",
                ));
            }
            changed(
                name,
                base.as_deref().unwrap_or(DEFAULT_BASE),
                market,
                [admits, orders],
            )?
        };
        Ok(Arc::new(Self {
            name,
            object: value.clone().unbind(),
            rules,
            names: OnceLock::new(),
            raised: Mutex::default(),
            threads: Mutex::default(),
        }))
    }

    /// Returns the policy as a registry and a replay take it.
    pub(crate) fn spec(self: &Arc<Self>) -> PolicySpec {
        let definition = PolicyDefinition {
            name: self.name,
            summary: "a policy in Python",
            limits: "",
            source: "",
            markets: &[],
            settings: &PythonSettings { prototype: None },
        };
        let settings = PythonSettings {
            prototype: Some(self.clone()),
        };
        PolicySpec::with_settings(definition, Box::new(settings))
    }

    /// Returns the name under which results stand.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Sets the record whose jobs a replay has.
    pub(crate) fn set_names(&self, names: RecordNames) {
        // A prototype belongs to one call, which reads one record.
        let _ = self.names.set(names);
    }

    /// Notes that a run has begun on the calling thread, and returns the number of the thread.
    pub(super) fn begin_run(&self, py: Python<'_>) -> PyResult<u64> {
        let thread = py
            .import("threading")?
            .call_method0("get_ident")?
            .extract()?;
        self.running().push(thread);
        Ok(thread)
    }

    /// Notes that a run has ended.
    pub(super) fn end_run(&self, thread: u64) {
        let mut running = self.running();
        if let Some(place) = running.iter().position(|&other| other == thread) {
            running.swap_remove(place);
        }
    }

    /// Raises `KeyboardInterrupt` in the questions that runs are asking. A question that waits outside of Python gets it
    /// at its return.
    pub(crate) fn interrupt(&self, py: Python<'_>) {
        let running = self.running().clone();
        let raise = || -> PyResult<()> {
            let ctypes = py.import("ctypes")?;
            let raise = ctypes
                .getattr("pythonapi")?
                .getattr("PyThreadState_SetAsyncExc")?;
            let class = py.get_type::<PyKeyboardInterrupt>();
            for thread in running {
                let thread = ctypes.getattr("c_ulong")?.call1((thread,))?;
                raise.call1((thread, ctypes.getattr("py_object")?.call1((&class,))?))?;
            }
            Ok(())
        };
        // An interpreter without ctypes waits for the answers.
        let _ = raise();
    }

    fn running(&self) -> MutexGuard<'_, Vec<u64>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an object that no other run has: a new one of a class, or a copy.
    pub(super) fn instance(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let object = self.object.bind(py);
        let own = match object.cast::<PyType>() {
            Ok(class) => class.call0(),
            Err(_) => py.import("copy")?.call_method1("deepcopy", (object,)),
        };
        own.map(Bound::unbind)
    }

    /// Keeps an exception, and returns what stands for it outside of Python.
    pub(super) fn keep(&self, py: Python<'_>, place: impl Display, error: PyErr) -> PolicyFailure {
        let text = format!("{place}: {}", error.value(py));
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.entry(text.clone()).or_insert(error);
        PolicyFailure(text)
    }

    /// Returns the exception that a failure stands for, if it is of this policy.
    pub(crate) fn exception(&self, failure: &PolicyFailure) -> Option<PyErr> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.remove(&failure.0)
    }
}

/// Returns the rules of a policy that changes another one.
fn changed(
    name: &str,
    base: &str,
    market: Option<Market>,
    [admits, orders]: [bool; 2],
) -> PyResult<PythonRules> {
    let market = market.unwrap_or(Market::Bid);
    let mut chosen =
        choose_policies(&builtin_registry(), &[base], market).map_err(|error| no_replay(&error))?;
    let base = match (chosen.pop(), chosen.is_empty()) {
        (Some(base), true) => base,
        _ => {
            return Err(contradiction(
                name,
                format_args!("base: expected one policy, got `{base}`"),
            ));
        }
    };
    let keyed = match orders {
        true => {
            let queue = KeyedQueue::of(&base, market);
            Some(queue.map_err(|problem| contradiction(name, format_args!("key: {problem}")))?)
        }
        false => None,
    };
    Ok(PythonRules::Changed {
        base,
        admits,
        keyed,
    })
}

fn contradiction(policy: &str, problem: impl Display) -> PyErr {
    let hint = "`help(tollgate.Policy)` shows what a policy decides";
    ErrorClass::Argument.raise(format_args!("policies: {policy}: {problem}"), Some(hint))
}

/// Returns the name of a policy: its attribute `name`, or that of its class.
fn name_of(value: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let class = match value.cast::<PyType>() {
        Ok(class) => class.clone(),
        Err(_) => value.get_type(),
    };
    let given = value.getattr("name")?;
    let text: String = match given.is_none() {
        true => class.name()?.extract()?,
        false => given
            .extract()
            .map_err(|_| argument("policies", "a policy's `name`: expected text"))?,
    };
    // As in a trace of calls, so that `__main__.MyPolicy` and `My_Policy` are names, too.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let text = text.replace('_', "-");
    if text.is_empty() || !text.chars().all(is_word) {
        let problem =
            format_args!("`{text}` is no name of a policy: expected letters, digits and `-`");
        return Err(argument("policies", problem));
    }
    if builtin_registry().named(&text).is_ok() {
        let hint = "give the class another attribute `name`";
        return Err(ErrorClass::Argument.raise(
            format_args!("policies: `{text}` is the name of a built-in policy"),
            Some(hint),
        ));
    }
    Ok(interned(text))
}

/// Returns a text that is kept to the end of the process. The registry has names that are constants of the program.
fn interned(text: String) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = known.get(text.as_str()) {
        return text;
    }
    let kept: &'static str = text.leak();
    known.insert(kept);
    kept
}

/// The settings of a policy in Python. It has no parameters: those of its object are Python's.
#[derive(Clone, Debug)]
struct PythonSettings {
    /// None in the defaults of the definition, from which no policy is created.
    prototype: Option<Arc<PolicyPrototype>>,
}

impl PythonSettings {
    fn base(&self) -> Option<&PolicySpec> {
        match &self.prototype.as_ref()?.rules {
            PythonRules::Changed { base, .. } => Some(base),
            PythonRules::Whole => None,
        }
    }
}

impl PolicySettings for PythonSettings {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        let prototype = self.prototype.clone();
        let prototype =
            prototype.expect("only `PolicyPrototype::spec` gives such settings to a replay");
        let rules = prototype.rules.clone();
        Box::new(PythonPolicy::new(prototype, rules, market))
    }

    fn uses_beliefs(&self) -> bool {
        self.base().is_some_and(PolicySpec::uses_beliefs)
    }

    fn uses_bids(&self) -> bool {
        self.base().is_some_and(|base| !base.runs_in(Market::None))
    }

    fn shares_nodes(&self) -> bool {
        self.base().is_some_and(PolicySpec::shares_nodes)
    }

    fn plans_maintenance(&self) -> bool {
        self.base().is_some_and(PolicySpec::plans_maintenance)
    }

    fn chooses_hosts(&self) -> bool {
        self.base().is_some_and(PolicySpec::chooses_hosts)
    }

    fn takes_over_promises(&self) -> bool {
        self.base().is_some_and(PolicySpec::takes_over_promises)
    }

    fn runs_unpromised(&self) -> bool {
        self.base().is_some_and(PolicySpec::runs_unpromised)
    }

    fn promise_level(&self) -> Option<Probability> {
        self.base().and_then(PolicySpec::promise_level)
    }

    fn is_external(&self) -> bool {
        true
    }
}

impl DynSettings for PythonSettings {
    fn set(&mut self, policy: &str, word: &str) -> Result<(), PolicyError> {
        Err(PolicyError::UnknownParameter {
            policy: policy.to_owned(),
            key: word.split('=').next().unwrap_or(word).to_owned(),
            known: Vec::new(),
        })
    }

    fn list(&self) -> Vec<ParameterInfo> {
        Vec::new()
    }

    fn value(&self, _: &str) -> Option<String> {
        None
    }

    fn clone_box(&self) -> Box<dyn PolicySettings> {
        Box::new(self.clone())
    }
}
