//! Beliefs over a record: its jobs are submitted, start and end as they did.

use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_model::{Instant, Span, TaskId, UserId};

use crate::belief::{Belief, BeliefJob, BeliefModel, ClassChange};
use crate::online::FeedbackTiming;
use crate::record::CompletedJob;

/// The events of a job of a record, in the order in which equal instants are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecordedEvent {
    End,
    Submit,
    Start,
}

/// A moment in the course of a job of a record, with what beliefs have of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecordedMoment<'a> {
    /// The submission of the job, with what is believed of it.
    Submission(&'a Belief),
    /// Its start, if that is later, with what is believed of it then.
    Start(&'a Belief),
    /// Its end, with the change of its class that it shows, if any.
    End(Option<&'a ClassChange>),
}

/// Teaches beliefs the jobs of a record. Jobs that never ran teach nothing.
pub fn learn_beliefs(beliefs: &mut BeliefModel, jobs: &[(BeliefJob, CompletedJob)]) {
    let ControlFlow::Continue(()) =
        play_record::<Infallible>(beliefs, jobs, FeedbackTiming::Causal, None);
}

/// Teaches beliefs the jobs of a record as [`learn_beliefs`] does, and passes what was believed of each at its
/// submission to `observe`, with the index of the job. A break of `observe` ends this in the middle of the record.
pub fn observe_beliefs<B>(
    beliefs: &mut BeliefModel,
    jobs: &[(BeliefJob, CompletedJob)],
    observe: impl FnMut(usize, &Belief) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut observe = at_submission(observe);
    play_record(beliefs, jobs, FeedbackTiming::Causal, Some(&mut observe))
}

/// Teaches beliefs the jobs of a record, and passes each moment of each job that ran to `observe`, with the index of the job.
/// With one-step feedback the record has to be in order of submission.
pub fn observe_moments(
    beliefs: &mut BeliefModel,
    jobs: &[(BeliefJob, CompletedJob)],
    timing: FeedbackTiming,
    mut observe: impl FnMut(usize, RecordedMoment<'_>),
) {
    let mut observe = |at: usize, moment: RecordedMoment<'_>| {
        observe(at, moment);
        ControlFlow::Continue(())
    };
    let ControlFlow::Continue(()) =
        play_record::<Infallible>(beliefs, jobs, timing, Some(&mut observe));
}

/// Returns an observer of the beliefs at submissions alone.
fn at_submission<B>(
    mut observe: impl FnMut(usize, &Belief) -> ControlFlow<B>,
) -> impl FnMut(usize, RecordedMoment<'_>) -> ControlFlow<B> {
    move |at, moment| match moment {
        RecordedMoment::Submission(belief) => observe(at, belief),
        RecordedMoment::Start(_) | RecordedMoment::End(_) => ControlFlow::Continue(()),
    }
}

/// The receiver of each moment of the job with an index in the record.
pub(crate) type MomentObserver<'a, B> =
    &'a mut dyn FnMut(usize, RecordedMoment<'_>) -> ControlFlow<B>;

/// Teaches beliefs the jobs of a record, and passes their moments to `observe`, which may break.
pub(crate) fn play_record<B>(
    beliefs: &mut BeliefModel,
    jobs: &[(BeliefJob, CompletedJob)],
    timing: FeedbackTiming,
    mut observe: Option<MomentObserver<'_, B>>,
) -> ControlFlow<B> {
    let ids: Vec<TaskId> = jobs.iter().map(|_| beliefs.record_id()).collect();
    for (now, event, at) in events(jobs, timing) {
        let (id, (job, ended)) = (ids[at], jobs[at]);
        if event == RecordedEvent::Submit {
            beliefs.submit(id, job, now);
        }
        let is_observed = match event {
            RecordedEvent::Submit => true,
            RecordedEvent::Start => now > ended.submit,
            RecordedEvent::End => false,
        };
        if let Some(observe) = observe.as_mut().filter(|_| is_observed) {
            beliefs.advance(now);
            if let Some(belief) = beliefs.belief_about(id, now) {
                let moment = match event {
                    RecordedEvent::Submit => RecordedMoment::Submission(&belief),
                    RecordedEvent::Start | RecordedEvent::End => RecordedMoment::Start(&belief),
                };
                observe(at, moment)?;
            }
        }
        match event {
            RecordedEvent::Submit => {}
            RecordedEvent::Start => beliefs.start(id, now),
            RecordedEvent::End => {
                let change = beliefs.end(id, ended.runtime, now);
                if let Some(observe) = &mut observe {
                    observe(at, RecordedMoment::End(change.as_ref()))?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

/// Returns the events of the jobs that ran, in order. With one-step feedback a job ends before the next is submitted.
fn events(
    jobs: &[(BeliefJob, CompletedJob)],
    timing: FeedbackTiming,
) -> Vec<(Instant, RecordedEvent, usize)> {
    let mut events = Vec::with_capacity(3 * jobs.len());
    let ran = jobs.iter().enumerate();
    for (at, (_, job)) in ran.filter(|(_, (_, job))| job.runtime > Span::ZERO) {
        let (start, end) = match timing {
            FeedbackTiming::OneStep => (job.submit, job.submit),
            FeedbackTiming::Causal => {
                let start = (job.finish - job.runtime).max(job.submit);
                (start, job.finish.max(start))
            }
        };
        events.extend([
            (job.submit, RecordedEvent::Submit, at),
            (start, RecordedEvent::Start, at),
            (end, RecordedEvent::End, at),
        ]);
    }
    if timing == FeedbackTiming::Causal {
        events.sort_unstable();
    }
    events
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
    let mut observe = at_submission(|at, belief| {
        stated[at] = Some(*belief);
        on_job()
    });
    play_record(&mut beliefs, &jobs, timing, Some(&mut observe))?;
    drop(observe);
    ControlFlow::Continue(stated)
}
