//! What Python may answer.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use tollgate_exec_policy::reasons::reason_of;
use tollgate_model::Reason;

use super::jobs::Job;
use crate::errors::ErrorClass;

/// The reason of a job that `admit` answers False to.
const NOT_ADMITTED: &str = "not admitted";

/// An item of the answer of `pass_`: the place of the job in the order of submission, and its fate.
#[derive(Clone, Copy, Debug)]
pub(super) enum PassAction {
    Start(u64),
    Reject(u64, Reason),
}

/// Reads the answer of `admit`: None for a job that is admitted.
///
/// # Errors
/// If the answer is neither a truth value nor a `Reject`.
pub(super) fn admission(answer: &Bound<'_, PyAny>) -> PyResult<Option<Reason>> {
    if let Ok(admitted) = answer.cast::<PyBool>() {
        return match admitted.is_true() {
            true => Ok(None),
            false => reason(NOT_ADMITTED).map(Some),
        };
    }
    match rejection(answer)? {
        Some((reason, _)) => Ok(Some(reason)),
        None => Err(unexpected("True, False or a tollgate.Reject", answer)),
    }
}

/// Reads the answer of `key`.
///
/// # Errors
/// If the answer is no number, or NaN.
pub(super) fn key(answer: &Bound<'_, PyAny>) -> PyResult<f64> {
    match answer.extract::<f64>() {
        // Both zeros are one key.
        Ok(key) if !key.is_nan() => Ok(key + 0.0),
        Ok(_) | Err(_) => Err(unexpected("a number", answer)),
    }
}

/// Reads the answer of `pass_`.
///
/// # Errors
/// If the answer is not a list of jobs, of their numbers and of rejections with a job.
pub(super) fn pass_actions(answer: &Bound<'_, PyAny>) -> PyResult<Vec<PassAction>> {
    let expected = "a list of jobs to start, and of tollgate.Reject with a job";
    let items = match answer.is_instance_of::<PyString>() {
        true => None,
        false => answer.try_iter().ok(),
    };
    let items = items.ok_or_else(|| unexpected(expected, answer))?;
    items
        .map(|item| {
            let item = item?;
            if let Some((reason, job)) = rejection(&item)? {
                let job = job.ok_or_else(|| unexpected("a tollgate.Reject with a job", &item))?;
                return Ok(PassAction::Reject(job, reason));
            }
            let job = number(&item).ok_or_else(|| unexpected(expected, &item))?;
            Ok(PassAction::Start(job))
        })
        .collect()
}

/// Returns the reason and the job of a `Reject`; None if the answer is none.
fn rejection(answer: &Bound<'_, PyAny>) -> PyResult<Option<(Reason, Option<u64>)>> {
    let class = answer.py().import("tollgate._policy")?.getattr("Reject")?;
    if !answer.is_instance(&class)? {
        return Ok(None);
    }
    let text = answer.getattr("reason")?;
    let text: String = text
        .extract()
        .map_err(|_| unexpected("a reason as text", &text))?;
    let job = answer.getattr("job")?;
    let job = match job.is_none() {
        true => None,
        false => Some(number(&job).ok_or_else(|| unexpected("a job", &job))?),
    };
    Ok(Some((reason(&text)?, job)))
}

/// Returns the number of a job, or a number itself.
fn number(item: &Bound<'_, PyAny>) -> Option<u64> {
    match item.cast::<Job>() {
        Ok(job) => Some(job.get().sequence()),
        Err(_) if item.is_instance_of::<PyBool>() => None,
        Err(_) => item.extract().ok(),
    }
}

fn reason(text: &str) -> PyResult<Reason> {
    reason_of(text).map_err(|error| ErrorClass::Policy.raise(error, None))
}

fn unexpected(expected: &str, got: &Bound<'_, PyAny>) -> PyErr {
    let got = got
        .repr()
        .map_or_else(|_| String::new(), |text| format!(", got {text}"));
    ErrorClass::Policy.raise(format_args!("expected {expected}{got}"), None)
}
