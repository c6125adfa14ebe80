//! Keyword arguments as the settings of a replay.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::str::FromStr;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tollgate_model::{Bytes, Market, Span};
use tollgate_policies::builtin_registry;
use tollgate_policy::{ParameterEnum, PolicySpec};
use tollgate_replay::parallel::n_processors;
use tollgate_replay::{NodeCount, ReplayGrouping, ReplaySettings, TreatmentTrial, choose_policies};
use tollgate_sim::{EstimateOrigin, MAX_PREEMPTION_COST, RecordLevel};
use tollgate_trace::record_filter::RecordTime;
use tollgate_workload::{NeverRanHandling, WorkloadConfig};

use crate::errors::{ErrorClass, argument, no_replay};
use crate::policy::{PolicyPrototype, is_policy};
use crate::record_input::RecordSource;

/// The arguments of a call of `replay`, besides the jobs.
pub(crate) struct ReplayOptions {
    pub(crate) settings: ReplaySettings,
    /// The records that are learned before the first submission.
    pub(crate) learn: Vec<RecordSource>,
    /// The policies that are written in Python.
    pub(crate) prototypes: Vec<Arc<PolicyPrototype>>,
    /// Number of policies that run in parallel.
    pub(crate) threads: NonZeroUsize,
}

impl ReplayOptions {
    /// Takes the arguments that are given. Each has the meaning of the flag of the same name.
    ///
    /// # Errors
    /// An unknown argument, or a value that is not understood.
    pub(crate) fn of(arguments: &Bound<'_, PyDict>) -> PyResult<Self> {
        let market = match arguments.get_item("market")? {
            Some(word) => parsed::<Market>("market", &word)?,
            None => Market::None,
        };
        let (policies, prototypes) = match arguments.get_item("policies")? {
            Some(chosen) => chosen_policies(&chosen, market)?,
            None => (builtin_registry().of_market(market), Vec::new()),
        };
        let mut options = Self {
            settings: ReplaySettings {
                record: RecordLevel::Placements,
                states_promises: true,
                ..ReplaySettings::new(policies, market)
            },
            learn: Vec::new(),
            prototypes,
            threads: n_processors(),
        };
        for (name, value) in arguments {
            let name: String = name.extract()?;
            options.set(&name, &value)?;
        }
        let jobs = options.settings.jobs.validate();
        jobs.map_err(|error| no_replay(&error.into()))?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let settings = &mut self.settings;
        match name {
            "market" | "policies" => {}
            "first" => settings.first = Some(count(name, value)?),
            "last" => settings.last = Some(count(name, value)?),
            "nodes" => settings.nodes = node_counts(value)?,
            "speeds" => settings.speeds = Some(parsed(name, value)?),
            "node_memory" => settings.node_memory = Some(memory(name, value)?),
            "tasks" => settings.tasks = keyword(name, value)?,
            "preemption_cost" => settings.preemption_cost = preemption_cost(name, value)?,
            "overrun" => settings.overrun = keyword(name, value)?,
            "unpredictable" => settings.treatments = treatments(name, value)?,
            "unpredictable_spread" => settings.spread = spread(name, value)?,
            "seeds" => settings.seeds = count_of_32_bits(name, value)?,
            "estimates" => settings.estimates = parsed::<EstimateOrigin>(name, value)?,
            "learn" => self.learn = sources(value)?,
            "learn_before" => settings.learn_before = of_type(name, value, "True or False")?,
            "calibration" => settings.calibration = of_type(name, value, "True or False")?,
            "by" => settings.by = Some(grouping(name, value)?),
            "windows" => settings.windows = Some(count_of_32_bits(name, value)?),
            "check" => {
                if of_type(name, value, "True or False")? {
                    settings.record = RecordLevel::Checked;
                }
            }
            "threads" => self.threads = count(name, value)?,
            "start" => settings.part.start = Some(record_time(name, value)?),
            "end" => settings.part.end = Some(record_time(name, value)?),
            "users" => settings.part.users = one_or_several(name, value)?,
            "queues" => settings.part.queues = one_or_several(name, value)?,
            _ => return set_job_setting(&mut settings.jobs, name, value),
        }
        Ok(())
    }
}

/// Takes one or several policies: names with parameters, and policies that are written in Python.
fn chosen_policies(
    chosen: &Bound<'_, PyAny>,
    market: Market,
) -> PyResult<(Vec<PolicySpec>, Vec<Arc<PolicyPrototype>>)> {
    let is_one = chosen.is_instance_of::<PyString>() || is_policy(chosen)?;
    let items = match is_one {
        true => vec![chosen.clone()],
        false => match chosen.try_iter() {
            Ok(items) => items.collect::<PyResult<_>>()?,
            Err(_) => vec![chosen.clone()],
        },
    };
    let mut policies = Vec::new();
    let mut prototypes: Vec<Arc<PolicyPrototype>> = Vec::new();
    for item in &items {
        if is_policy(item)? {
            let prototype = PolicyPrototype::of(item, Some(market))?;
            add_prototype(&mut prototypes, prototype.clone())?;
            policies.push(prototype.spec());
        } else {
            let list: String = of_type("policies", item, "text, or a tollgate.Policy")?;
            let named = choose_policies(&builtin_registry(), &[list], market);
            policies.extend(named.map_err(|error| no_replay(&error))?);
        }
    }
    match policies.is_empty() {
        true => Ok((builtin_registry().of_market(market), prototypes)),
        false => Ok((policies, prototypes)),
    }
}

/// Adds a policy in Python.
///
/// # Errors
/// If there is another one of its name.
pub(crate) fn add_prototype(
    known: &mut Vec<Arc<PolicyPrototype>>,
    prototype: Arc<PolicyPrototype>,
) -> PyResult<()> {
    let name = prototype.name();
    if known.iter().any(|other| other.name() == name) {
        let message = format_args!("policies: there is another policy `{name}`");
        let hint = "give each an attribute `name` of its own";
        return Err(ErrorClass::Argument.raise(message, Some(hint)));
    }
    known.push(prototype);
    Ok(())
}

/// Sets an assumption about the jobs.
fn set_job_setting(
    jobs: &mut WorkloadConfig,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let number = || of_type::<f64>(name, value, "a number");
    match name {
        "seed" => jobs.seed = of_type(name, value, "a whole number from 0 on")?,
        "never_ran" => jobs.never_ran = never_ran(name, value)?,
        "deadlines" => jobs.deadlines = parsed(name, value)?,
        "arrival_factor" => jobs.arrival_factor = number()?,
        "inaccuracy" => jobs.inaccuracy = number()?,
        "high_urgency" => jobs.high_urgency = number()?,
        "without_deadline" => jobs.without_deadline = number()?,
        "deadline_low" => jobs.deadline.low = number()?,
        "deadline_ratio" => jobs.deadline.ratio = number()?,
        "deadline_bias" => jobs.deadline.bias = number()?,
        "budget_low" => jobs.budget.low = number()?,
        "budget_ratio" => jobs.budget.ratio = number()?,
        "budget_bias" => jobs.budget.bias = number()?,
        "penalty_low" => jobs.penalty.low = number()?,
        "penalty_ratio" => jobs.penalty.ratio = number()?,
        "penalty_bias" => jobs.penalty.bias = number()?,
        "penalty_limit" => jobs.penalty_limit = number()?,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "replay() has no argument `{name}`"
            )));
        }
    }
    Ok(())
}

fn of_type<'py, T: for<'a> FromPyObject<'a, 'py>>(
    name: &str,
    value: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<T> {
    value.extract::<T>().map_err(|_| {
        let got = value
            .repr()
            .map_or_else(|_| String::new(), |text| format!(", got {text}"));
        argument(name, format_args!("expected {expected}{got}"))
    })
}

fn parsed<T: FromStr<Err: Display>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let word: String = of_type(name, value, "text")?;
    word.parse().map_err(|error| argument(name, error))
}

fn keyword<T: ParameterEnum>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let word: String = of_type(name, value, "text")?;
    T::from_keyword(&word).ok_or_else(|| {
        let words: Vec<&str> = T::KEYWORDS.iter().map(|(word, _)| *word).collect();
        argument(
            name,
            format_args!("expected one of {}, got `{word}`", words.join(", ")),
        )
    })
}

fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<NonZeroUsize> {
    of_type(name, value, "a whole number from 1 on")
}

pub(crate) fn count_of_32_bits(name: &str, value: &Bound<'_, PyAny>) -> PyResult<NonZeroU32> {
    of_type(name, value, "a whole number from 1 on")
}

/// Takes a list, or a single value in its place.
pub(crate) fn one_or_several(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?]);
    }
    of_type(name, value, "text, or a list of texts")
}

fn node_counts(value: &Bound<'_, PyAny>) -> PyResult<Vec<NodeCount>> {
    let is_list = value.try_iter().is_ok() && !value.is_instance_of::<PyString>();
    match is_list {
        true => value.try_iter()?.map(|size| node_count(&size?)).collect(),
        false => Ok(vec![node_count(value)?]),
    }
}

fn node_count(value: &Bound<'_, PyAny>) -> PyResult<NodeCount> {
    let expected = "a whole number from 1 on, or text as \"+16\"";
    if let Ok(text) = value.extract::<String>() {
        let more = text.strip_prefix('+').and_then(|more| more.parse().ok());
        let total = text.parse().ok().filter(|_| more.is_none());
        let size = more.map(NodeCount::More).or(total.map(NodeCount::Total));
        return size
            .ok_or_else(|| argument("nodes", format_args!("expected {expected}, got \"{text}\"")));
    }
    of_type("nodes", value, expected).map(NodeCount::Total)
}

/// Takes a span above zero: a `timedelta`, or seconds.
pub(crate) fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    let span = Span::from_secs_f64(seconds(name, value)?);
    match Span::ZERO < span && span < Span::MAX {
        true => Ok(span),
        false => Err(argument(name, "expected a time above zero")),
    }
}

fn seconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.call_method0("total_seconds") {
        Ok(seconds) => seconds.extract(),
        Err(_) => of_type(name, value, "a timedelta, or seconds"),
    }
}

/// Takes the work that a resumption costs: a `timedelta`, or seconds.
fn preemption_cost(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Span> {
    let seconds = seconds(name, value)?;
    let range = 0.0..=MAX_PREEMPTION_COST.as_secs_f64();
    match range.contains(&seconds) {
        true => Ok(Span::from_secs_f64(seconds)),
        false => Err(argument(name, "expected 0 to 1000000 seconds")),
    }
}

/// Takes an amount of memory: text as `4G`, or a number of bytes.
fn memory(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    match value.is_instance_of::<PyString>() {
        true => parsed(name, value),
        false => {
            let bytes = of_type::<NonZeroU64>(name, value, "text as 4G, or a number of bytes");
            bytes.map(|bytes| Bytes::new(bytes.get()))
        }
    }
}

/// Takes one or several treatments of jobs whose run time cannot be predicted.
fn treatments(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<TreatmentTrial>> {
    let words = one_or_several(name, value)?.into_iter();
    words
        .map(|word| word.parse().map_err(|error| argument(name, error)))
        .collect()
}

fn spread(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let expected = "a number above 1";
    let spread: f64 = of_type(name, value, expected)?;
    match spread.is_finite() && spread > 1.0 {
        true => Ok(spread),
        false => Err(argument(name, format_args!("expected {expected}"))),
    }
}

/// Takes a point of time of a record: a date in UTC as text, a `datetime`, or seconds of the record's clock.
fn record_time(name: &str, value: &Bound<'_, PyAny>) -> PyResult<RecordTime> {
    if let Ok(seconds) = value.extract::<u64>() {
        return seconds
            .to_string()
            .parse()
            .map_err(|error| argument(name, error));
    }
    if value.hasattr("astimezone")? {
        let utc = value
            .py()
            .import("datetime")?
            .getattr("timezone")?
            .getattr("utc")?;
        let in_utc = value.call_method1("astimezone", (utc,))?;
        let text: String = in_utc
            .call_method1("strftime", ("%Y-%m-%dT%H:%M:%S",))?
            .extract()?;
        return text.parse().map_err(|error| argument(name, error));
    }
    parsed(name, value)
}

fn grouping(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ReplayGrouping> {
    let word: String = of_type(name, value, "text")?;
    match word.as_str() {
        "queue" => Ok(ReplayGrouping::Queue),
        "user" => Ok(ReplayGrouping::User),
        "size" => Ok(ReplayGrouping::Size),
        _ => Err(argument(
            name,
            format_args!("expected queue, user or size, got `{word}`"),
        )),
    }
}

fn never_ran(name: &str, value: &Bound<'_, PyAny>) -> PyResult<NeverRanHandling> {
    let word: String = of_type(name, value, "text")?;
    let known = [NeverRanHandling::Drop, NeverRanHandling::One];
    let meant = known.into_iter().find(|handling| handling.name() == word);
    meant.ok_or_else(|| argument(name, format_args!("expected drop or one, got `{word}`")))
}

/// Takes a record, or a list of records.
pub(crate) fn sources(value: &Bound<'_, PyAny>) -> PyResult<Vec<RecordSource>> {
    let is_one = value.is_instance_of::<PyString>()
        || value.hasattr("__fspath__")?
        || value.hasattr("__arrow_c_stream__")?;
    match is_one {
        true => Ok(vec![RecordSource::of(Some(value))?]),
        false => value
            .try_iter()?
            .map(|source| RecordSource::of(Some(&source?)))
            .collect(),
    }
}
