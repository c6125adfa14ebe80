//! The thread that submits jobs, one after the other.

use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::{
    BatchJob, BatchPlacement, CommandAnswer, EngineFault, EngineKind, JobMemory, RetryAdvice, shell,
};
use tollgate_model::{AttemptId, Bytes, Span};
use tollgate_runner::attempt::files::OfferedAttempt;
use tollgate_sites::ShellError;

use crate::system::{SystemShared, SystemState};

/// The time that the engine gives a job beyond the time limit of its task. The job enforces that limit
/// itself: the engine's own limit is only for a job that hangs.
const SPARE_TIME: Span = Span::from_secs(120);
/// Number of answers in a row that are not understood after which the engine counts as out of reach.
const MAX_UNREADABLE: u32 = 3;
/// The longest wait for something to submit.
const IDLE: Duration = Duration::from_secs(3600);

/// Submits jobs until the system is closed.
pub(crate) fn run(shared: &SystemShared) {
    let mut state = shared.lock();
    loop {
        if state.is_stopping {
            return;
        }
        let pause = state.submit_pace.rest(MonotonicInstant::now());
        if !pause.is_zero() {
            state = wait(shared, state, pause);
            continue;
        }
        let Some(offer) = state.book.next_to_submit() else {
            state = wait(shared, state, IDLE);
            continue;
        };
        let attempt = offer.launch.attempt;
        let name = state.book.name_of(attempt);
        drop(state);
        let submitted = shared.job(&offer, &name).map(|job| {
            let command = shared.dialect.submit(&job);
            shared.commands.run(&command)
        });
        state = shared.lock();
        let done = match submitted {
            Some(answer) => shared.take_answer(&mut state, attempt, answer),
            None => state
                .book
                .refused(attempt, "its name is longer than the names of jobs may be"),
        };
        if let Err(error) = done {
            // The files decide: the job is found by its name.
            tracing::error!(%attempt, %error, "what became of a job cannot be written down");
            state.book.uncertain(attempt);
            state.submit_pace.fail(MonotonicInstant::now());
        }
        shared.deliver(&mut state);
    }
}

fn wait<'a>(
    shared: &'a SystemShared,
    state: std::sync::MutexGuard<'a, SystemState>,
    time: Duration,
) -> std::sync::MutexGuard<'a, SystemState> {
    let woken = shared.submissions.wait_timeout(state, time);
    woken.unwrap_or_else(std::sync::PoisonError::into_inner).0
}

impl SystemShared {
    /// Returns the job of an attempt. None if its name is not legal.
    fn job(&self, offer: &OfferedAttempt, name: &str) -> Option<BatchJob> {
        let attempt = offer.launch.attempt.to_string();
        let folder = self.config.folder.to_string_lossy().into_owned();
        let words: Vec<&str> = self.config.attempt.iter().map(String::as_str).collect();
        let words = [&words[..], &[folder.as_str(), attempt.as_str()]].concat();
        let wall = offer.launch.limits.wall.map(|wall| wall + SPARE_TIME);
        let time = wall.into_iter().chain(self.max_time).min();
        let is_sge = self.config.kind == EngineKind::Sge;
        Some(BatchJob {
            name: name.parse().ok()?,
            script: format!("#!/bin/sh\nexec {}\n", shell::line(&words)),
            time,
            cores: offer.cores,
            // Grid Engine compares this with the free memory of the moment, and reserves nothing.
            memory: offer
                .memory
                .filter(|_| !is_sge)
                .map(|bytes| JobMemory::Bytes(Bytes::from_kibibytes(bytes >> 10))),
            // Without it Grid Engine ends a job by SIGKILL alone.
            arguments: is_sge.then(|| "-notify".to_owned()).into_iter().collect(),
            placement: BatchPlacement {
                queue: self.config.queue.clone(),
                node: Some(offer.node.clone()),
                is_exclusive: false,
            },
        })
    }

    fn take_answer(
        &self,
        state: &mut SystemState,
        attempt: AttemptId,
        answer: Result<CommandAnswer, ShellError>,
    ) -> std::io::Result<()> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let is_certain = matches!(error, ShellError::Start { .. });
                self.pause(state, &error.to_string());
                match is_certain {
                    true => state.book.not_submitted(attempt),
                    false => self.doubt(state, attempt),
                }
                return Ok(());
            }
        };
        match self.dialect.parse_submit(&answer) {
            Ok(id) => {
                state.submit_pace.succeed();
                state.unreadable = 0;
                tracing::debug!(%attempt, %id, "a job was submitted");
                state.book.accepted(attempt, id)
            }
            Err(EngineFault::Refused { retry, message }) => match retry {
                RetryAdvice::Never => {
                    state.unreadable = 0;
                    tracing::warn!(%attempt, %message, "the batch system refuses a job");
                    state.book.refused(attempt, &message)
                }
                RetryAdvice::Later => {
                    self.pause(state, &message);
                    state.book.not_submitted(attempt);
                    Ok(())
                }
                RetryAdvice::Now => {
                    self.pause(state, &message);
                    self.doubt(state, attempt);
                    Ok(())
                }
            },
            Err(fault @ EngineFault::Unreadable { .. }) => {
                state.unreadable += 1;
                let message = fault.to_string();
                if state.unreadable > MAX_UNREADABLE {
                    self.pause(state, &message);
                    self.doubt(state, attempt);
                    return Ok(());
                }
                tracing::warn!(%attempt, %message, "the batch system refuses a job");
                state.book.refused(attempt, &message)
            }
        }
    }

    /// Leaves it to a query whether a job was submitted.
    fn doubt(&self, state: &mut SystemState, attempt: AttemptId) {
        state.book.uncertain(attempt);
        state.is_urgent = true;
        self.questions.notify_all();
    }

    fn pause(&self, state: &mut SystemState, message: &str) {
        let is_first = state.submit_pace.errors() == 0;
        let pause = state.submit_pace.fail(MonotonicInstant::now());
        if is_first {
            let pause_s = pause.as_secs();
            tracing::warn!(%message, pause_s, "a job cannot be submitted; trying again");
        }
    }
}
