//! Beliefs over a record: its jobs are submitted, start and end as they did.

use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_model::{Instant, Span, TaskId, UserId};

use crate::belief::{Belief, BeliefJob, BeliefModel};
use crate::online::FeedbackTiming;
use crate::record::CompletedJob;

/// The events of a job of a record, in the order in which equal instants are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecordedEvent {
    End,
    Submit,
    Start,
}

/// The occasion on which a belief about a job of a record is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObservedAt {
    /// The submission of the job.
    Submission,
    /// Its start, if that is later.
    Start,
}

/// Teaches beliefs the jobs of a record. Jobs that never ran teach nothing.
pub fn learn_beliefs(beliefs: &mut BeliefModel, jobs: &[(BeliefJob, CompletedJob)]) {
    let ControlFlow::Continue(()) = play_record::<Infallible>(beliefs, jobs, None);
}

/// Teaches beliefs the jobs of a record as [`learn_beliefs`] does, and passes what was believed of each at its
/// submission to `observe`, with the index of the job. A break of `observe` ends this in the middle of the record.
pub fn observe_beliefs<B>(
    beliefs: &mut BeliefModel,
    jobs: &[(BeliefJob, CompletedJob)],
    mut observe: impl FnMut(usize, &Belief) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut at_submission = |at: usize, observed_at: ObservedAt, belief: &Belief| {
        if observed_at == ObservedAt::Submission {
            observe(at, belief)?;
        }
        ControlFlow::Continue(())
    };
    play_record(beliefs, jobs, Some(&mut at_submission))
}

/// The receiver of each belief about the job with an index in the record, before the job ends.
pub(crate) type BeliefObserver<'a, B> =
    &'a mut dyn FnMut(usize, ObservedAt, &Belief) -> ControlFlow<B>;

/// Teaches beliefs the jobs of a record, and passes what was believed of each to `observe`, which may break.
pub(crate) fn play_record<B>(
    beliefs: &mut BeliefModel,
    jobs: &[(BeliefJob, CompletedJob)],
    mut observe: Option<BeliefObserver<'_, B>>,
) -> ControlFlow<B> {
    let mut events: Vec<(Instant, RecordedEvent, usize)> = Vec::with_capacity(3 * jobs.len());
    for (at, (_, job)) in jobs.iter().enumerate() {
        if job.runtime > Span::ZERO {
            let start = (job.finish - job.runtime).max(job.submit);
            events.extend([
                (job.submit, RecordedEvent::Submit, at),
                (start, RecordedEvent::Start, at),
                (job.finish.max(start), RecordedEvent::End, at),
            ]);
        }
    }
    events.sort_unstable();
    let ids: Vec<TaskId> = jobs.iter().map(|_| beliefs.record_id()).collect();
    for (now, event, at) in events {
        let (id, (job, ended)) = (ids[at], jobs[at]);
        if event == RecordedEvent::Submit {
            beliefs.submit(id, job, now);
        }
        let observed = match event {
            RecordedEvent::Submit => Some(ObservedAt::Submission),
            RecordedEvent::Start => Some(ObservedAt::Start).filter(|_| now > ended.submit),
            RecordedEvent::End => None,
        };
        if let (Some(observe), Some(observed_at)) = (&mut observe, observed) {
            beliefs.advance(now);
            if let Some(belief) = beliefs.belief_about(id, now) {
                observe(at, observed_at, &belief)?;
            }
        }
        match event {
            RecordedEvent::Submit => {}
            RecordedEvent::Start => beliefs.start(id, now),
            RecordedEvent::End => {
                beliefs.end(id, ended.runtime, now);
            }
        }
    }
    ControlFlow::Continue(())
}

/// Returns the belief about each job at its submission, in the order of `records`; the jobs of a class count as those of
/// one user. None for a job that never ran. `on_job` is called for each job that ran; its break ends this.
pub(crate) fn beliefs_at_submission<B>(
    mut beliefs: BeliefModel,
    records: &[CompletedJob],
    timing: FeedbackTiming,
    on_job: impl Fn() -> ControlFlow<B>,
) -> ControlFlow<B, Vec<Option<Belief>>> {
    let jobs = records.iter().map(|record| {
        let user = UserId(record.job.class.0);
        (BeliefJob::new(user, &record.job), *record)
    });
    let jobs: Vec<(BeliefJob, CompletedJob)> = jobs.collect();
    let mut stated = vec![None; jobs.len()];
    match timing {
        FeedbackTiming::Causal => {
            observe_beliefs(&mut beliefs, &jobs, |at, belief| {
                stated[at] = Some(*belief);
                on_job()
            })?;
        }
        FeedbackTiming::OneStep => {
            for (stated, (job, ended)) in stated.iter_mut().zip(jobs) {
                if ended.runtime > Span::ZERO {
                    on_job()?;
                    let (id, now) = (beliefs.record_id(), ended.submit);
                    beliefs.submit(id, job, now);
                    *stated = beliefs.belief_about(id, now);
                    beliefs.start(id, now);
                    beliefs.end(id, ended.runtime, now);
                }
            }
        }
    }
    ControlFlow::Continue(stated)
}
