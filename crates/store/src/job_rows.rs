//! Rows of jobs: submissions, and the decisions about them.

use rusqlite::{Transaction, params};
use tollgate_model::{Instant, Span};
use tollgate_service::{AdmissionState, RejectReason, Submission, SubmitOutcome};

use crate::content::ProgramTexts;
use crate::job_program::JobProgram;
use crate::row_values::program_of;
use crate::statement::run;
use crate::{books, expected_hosts};

/// Inserts a job that was submitted or reserved.
pub(crate) fn insert_job(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    submission: &Submission,
    answer: &SubmitOutcome,
    program: Option<&JobProgram>,
) -> rusqlite::Result<()> {
    let DecisionColumns {
        state,
        decided,
        price,
        reasons,
        probability,
        forecast,
    } = DecisionColumns::of(answer, at);
    let auto_memory = answer.usage.and_then(|usage| usage.auto);
    let is_treated = answer.unpredictable.is_some() || auto_memory.is_some();
    let treated = program.filter(|_| is_treated).map(|program| JobProgram {
        unpredictable: answer.unpredictable,
        auto_memory,
        ..program.clone()
    });
    let program = treated.as_ref().or(program);
    let texts = ProgramTexts::of(program).map_err(unwritable)?;
    let program = texts.rest(program).map_err(unwritable)?;
    let state = match (answer.reserved_until, state) {
        (Some(_), _) => "reserved",
        (None, "dependent") => deferred_state(submission.options.held),
        (None, state) => state,
    };
    let is_rejected = state == "rejected";
    let after = submission.options.dependencies.iter();
    let after: Vec<String> = after.map(|earlier| earlier.job.to_string()).collect();
    let after = Some(after.join(",")).filter(|after| !after.is_empty());
    run(
        to,
        "INSERT INTO job (id, user, name, state, program, procs, submit, estimate, source, due,
             budget, penalty, decided, price, reasons, probability, finish, after,
             account, queue, forecast, script, environment, command, batches)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
             ?20, ?21, ?22, ?23, ?24, ?25)",
        params![
            job,
            submission.user,
            submission.name,
            state,
            program,
            submission.procs,
            answer.spec.submit.as_micros(),
            answer.spec.estimate.as_micros(),
            answer.source.key(),
            answer.spec.due().map(Instant::as_micros),
            submission.budget.map(|budget| budget.as_micros()),
            submission.penalty.as_f64(),
            decided,
            price,
            reasons,
            probability,
            decided.filter(|_| state == "rejected"),
            after,
            submission.account,
            submission.queue,
            forecast,
            texts.script.as_ref().filter(|_| !is_rejected),
            texts.environment().filter(|_| !is_rejected),
            texts.command(),
            Some(answer.basis.n_batches),
        ],
    )?;
    expected_hosts::decide(to, job, &answer.admission)?;
    // The texts of a job that will never run are not needed.
    if is_rejected {
        books::enter_rejected(to, job, at)
    } else {
        texts.insert(to)
    }
}

/// Changes the time limit and the remark that are shown of a job. None leaves one as it is.
pub(crate) fn alter_program(
    to: &Transaction<'_>,
    job: u64,
    time_limit: Option<Option<Span>>,
    comment: Option<&String>,
) -> rusqlite::Result<()> {
    change_program(to, job, |program| {
        program.time_limit = time_limit.unwrap_or(program.time_limit);
        if let Some(comment) = comment {
            program.comment = Some(comment.clone()).filter(|comment| !comment.is_empty());
        }
    })
}

fn change_program(
    to: &Transaction<'_>,
    job: u64,
    change: impl FnOnce(&mut JobProgram),
) -> rusqlite::Result<()> {
    let mut program = to
        .prepare_cached("SELECT program FROM job WHERE id = ?1")?
        .query_row([job], |row| program_of(row, 0))?;
    if let Some(program) = &mut program {
        change(program);
    }
    let text = serde_json::to_string(&program)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    run(
        to,
        "UPDATE job SET program = ?2 WHERE id = ?1",
        params![job, text],
    )
}

/// Updates a job whose decision was deferred.
pub(crate) fn decide(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    answer: &SubmitOutcome,
) -> rusqlite::Result<()> {
    let verdict = DecisionColumns::of(answer, at);
    // A promise that was broken before its job was changed keeps the probability at which it is in the books. Of an array,
    // whose tasks may be in the books, one that is promised no more keeps its own.
    run(
        to,
        "UPDATE job SET state = ?2, decided = ?3, price = ?4, reasons = ?5,
             probability = CASE WHEN promise IS NOT NULL THEN probability
                 WHEN id IN (SELECT job FROM array) THEN coalesce(?6, probability) ELSE ?6 END,
             estimate = ?7, source = ?8, finish = ?9, forecast = ?10,
             batches = CASE WHEN promise IS NOT NULL THEN batches
                 WHEN id IN (SELECT job FROM array) THEN coalesce(?11, batches) ELSE ?11 END
         WHERE id = ?1",
        params![
            job,
            verdict.state,
            verdict.decided,
            verdict.price,
            verdict.reasons,
            verdict.probability,
            answer.spec.estimate.as_micros(),
            answer.source.key(),
            verdict.decided.filter(|_| verdict.state == "rejected"),
            verdict.forecast,
            Some(answer.basis.n_batches),
        ],
    )?;
    expected_hosts::decide(to, job, &answer.admission)?;
    if let Some(found) = answer.unpredictable {
        change_program(to, job, |program| program.unpredictable = Some(found))?;
    }
    if let Some(auto) = answer.usage.and_then(|usage| usage.auto) {
        change_program(to, job, |program| program.auto_memory = Some(auto))?;
    }
    match verdict.state {
        "rejected" => books::enter_rejected(to, job, at),
        _ => Ok(()),
    }
}

/// The decision about a job, as columns.
struct DecisionColumns {
    state: &'static str,
    decided: Option<i64>,
    price: Option<i64>,
    reasons: Option<String>,
    probability: Option<f64>,
    /// The forecast end of a job that is not an array.
    forecast: Option<i64>,
}

impl DecisionColumns {
    fn of(answer: &SubmitOutcome, at: i64) -> Self {
        let (state, decided, price, reasons) = match &answer.admission {
            AdmissionState::Accepted { price, .. } => {
                ("queued", Some(at), Some(price.as_micros()), None)
            }
            AdmissionState::Queued | AdmissionState::Waitlisted { .. } => {
                ("queued", None, None, None)
            }
            AdmissionState::Unpromised(reasons) => ("queued", None, None, Some(keys(reasons))),
            AdmissionState::Deferred => ("dependent", None, None, None),
            AdmissionState::Rejected(refusals) => {
                ("rejected", Some(at), None, Some(keys(refusals)))
            }
        };
        let probability = answer.prediction.and_then(|prospect| prospect.probability);
        Self {
            state,
            decided,
            price,
            reasons,
            probability: probability.map(|probability| probability.as_f64()),
            forecast: answer
                .prediction
                .filter(|_| answer.groups.is_empty() && state != "rejected")
                .map(|prospect| prospect.finish.as_micros()),
        }
    }
}

/// Returns the state of a job whose decision is deferred.
pub(crate) fn deferred_state(held: bool) -> &'static str {
    if held { "held" } else { "dependent" }
}

/// Updates a reserved quote that became a job.
pub(crate) fn claim(
    to: &Transaction<'_>,
    job: u64,
    program: Option<&JobProgram>,
) -> rusqlite::Result<()> {
    let texts = ProgramTexts::of(program).map_err(unwritable)?;
    texts.insert(to)?;
    run(
        to,
        "UPDATE job SET state = 'queued', program = ?2, script = ?3, environment = ?4, command = ?5
         WHERE id = ?1",
        params![
            job,
            texts.rest(program).map_err(unwritable)?,
            texts.script,
            texts.environment(),
            texts.command(),
        ],
    )
}

fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// Returns the keys of reasons for a rejection, as a column.
pub(crate) fn keys(refusals: &[RejectReason]) -> String {
    let keys: Vec<&str> = refusals.iter().map(RejectReason::key).collect();
    keys.join(",")
}

/// Sets the state of a job.
pub(crate) fn set_state(to: &Transaction<'_>, job: u64, state: &str) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE job SET state = ?2 WHERE id = ?1",
        params![job, state],
    )
}
