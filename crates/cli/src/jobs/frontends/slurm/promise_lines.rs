//! The `#TOLLGATE` lines of a script for `sbatch`: what Slurm has no word for.

use jiff::Zoned;
use tollgate_client::types::JobRequest;
use tollgate_frontends::slurm::SlurmError;

use crate::jobs::job_args::JobArgs;
use crate::jobs::script::JobScript;
use crate::parse;

/// Adds the options in the `#TOLLGATE` lines of a script to its request. Options of the command line stand above them.
///
/// # Errors
/// The first line that is not understood, or an option for which Slurm has a word.
pub(super) fn add(
    request: &mut JobRequest,
    file: &str,
    text: &str,
    now: &Zoned,
) -> Result<(), SlurmError> {
    let failed = |message: String| SlurmError::of("sbatch", message);
    let script = JobScript::of_text(file, text);
    let lines = script
        .directives()
        .map_err(|error| failed(error.to_string()))?;
    if lines == JobArgs::default() {
        return Ok(());
    }
    let JobArgs {
        estimate,
        deadline,
        budget,
        penalty,
        confidence,
        at_least,
        otherwise,
        drop_late,
        partial,
        retries,
        notify,
        ..
    } = lines.clone();
    let rest = JobArgs {
        estimate: None,
        deadline: None,
        budget: None,
        penalty: None,
        confidence: None,
        at_least: None,
        otherwise: None,
        drop_late: false,
        partial: false,
        retries: None,
        notify: Vec::new(),
        ..lines
    };
    if rest != JobArgs::default() {
        let message = format!(
            "{file}: #TOLLGATE: only what Slurm has no word for, such as --deadline and --confidence: use #SBATCH for the rest"
        );
        return Err(failed(message));
    }
    let has_deadline = request.deadline_s.is_some() || request.deadline_at.is_some();
    if let Some(words) = deadline.filter(|_| !has_deadline) {
        let parsed = parse::parse_deadline(&words, now);
        let parsed = parsed.map_err(|error| failed(format!("{file}: #TOLLGATE: {error}")))?;
        (request.deadline_s, request.deadline_at) = parsed;
    }
    request.estimate_s = request.estimate_s.or(estimate.map(|span| span.secs));
    request.budget = request.budget.or(budget);
    if request.penalty_per_s == 0.0 {
        request.penalty_per_s = penalty.unwrap_or(0.0);
    }
    if request.confidence.is_none() {
        request.confidence = confidence;
        request.at_least = at_least;
    }
    request.otherwise = request.otherwise.or(otherwise);
    request.drop_late |= drop_late;
    request.partial |= partial;
    request.retries = retries.as_ref().map(ToString::to_string);
    if !notify.is_empty() {
        request.notify = notify;
    }
    Ok(())
}
