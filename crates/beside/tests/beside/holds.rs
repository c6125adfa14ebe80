//! Jobs that are held, queued again, cancelled or lost.

use tollgate_beside::{
    QueueFollower, QueueObservation, QueueSight, SeenJob, SeenJobKey, SeenPhase,
};
use tollgate_model::{Instant, Span};

use crate::drawn;

fn at(secs: i64) -> Instant {
    Instant::from_secs(2_000_000 + secs)
}

fn waiting(key: &str, submitted: i64) -> SeenJob {
    SeenJob {
        key: SeenJobKey(key.to_owned()),
        user: "anna".to_owned(),
        queue: "main".to_owned(),
        procs: 2,
        limit: Some(Span::from_secs(300)),
        submitted: at(submitted),
        eligible: Some(at(submitted)),
        started: None,
        ended: None,
        phase: SeenPhase::Waits,
        reason: "Priority".to_owned(),
    }
}

fn look(follower: &mut QueueFollower, secs: i64, jobs: Vec<SeenJob>) -> usize {
    let observation = QueueObservation {
        at: at(secs),
        sight: QueueSight::AllJobs,
        jobs,
        gone: Vec::new(),
        absent: Vec::new(),
    };
    follower.observe(&observation).len()
}

fn n_judged(follower: &QueueFollower) -> usize {
    follower.calibration().outcomes().count()
}

/// Returns a follower that knows enough for statements.
fn experienced() -> QueueFollower {
    let jobs = drawn::jobs(200, 8);
    drawn::stated(&drawn::observed(&jobs, Span::from_secs(60))).0
}

#[test]
fn wait_of_a_held_job_begins_with_its_release() {
    let mut follower = experienced();
    let key = SeenJobKey("x1".to_owned());
    let mut job = waiting("x1", 10);
    (job.phase, job.eligible) = (SeenPhase::Held, None);
    assert_eq!(look(&mut follower, 15, vec![job.clone()]), 0);
    let held = follower.answer(&key, at(15)).expect("known");
    assert!(held.is_held && held.stated.is_none() && held.queued.is_none());
    (job.phase, job.eligible) = (SeenPhase::Waits, Some(at(100)));
    assert_eq!(look(&mut follower, 105, vec![job]), 1);
    let released = follower.answer(&key, at(105)).expect("known");
    assert_eq!(released.queued, Some(at(100)));
    assert!(!released.is_held && released.stated.is_some());
}

#[test]
fn statements_of_a_job_that_is_held_later_are_not_judged() {
    let mut follower = experienced();
    let before = n_judged(&follower);
    let mut job = waiting("x1", 10);
    assert_eq!(look(&mut follower, 15, vec![job.clone()]), 1);
    (job.phase, job.eligible) = (SeenPhase::Held, None);
    look(&mut follower, 30, vec![job.clone()]);
    assert_eq!(follower.n_waiting(), 0);
    // The batch system says the old instant again: the wait counts from the last look at the hold.
    (job.phase, job.eligible) = (SeenPhase::Waits, Some(at(10)));
    assert_eq!(look(&mut follower, 60, vec![job.clone()]), 1);
    (job.phase, job.started) = (SeenPhase::Runs, Some(at(70)));
    look(&mut follower, 75, vec![job]);
    assert_eq!(n_judged(&follower), before + 1);
}

#[test]
fn cancelled_job_is_neither_kept_nor_broken() {
    let mut follower = experienced();
    let (before, cancelled) = (n_judged(&follower), follower.calibration().n_cancelled());
    let mut job = waiting("x1", 10);
    look(&mut follower, 15, vec![job.clone()]);
    (job.phase, job.ended) = (SeenPhase::Over, Some(at(20)));
    look(&mut follower, 30, vec![job]);
    assert_eq!(n_judged(&follower), before);
    assert_eq!(follower.calibration().n_cancelled(), cancelled + 1);
    assert_eq!(follower.answer(&SeenJobKey("x1".to_owned()), at(30)), None);
}

#[test]
fn job_queued_again_under_its_name_waits_anew() {
    let mut follower = experienced();
    let mut job = waiting("x1", 10);
    (job.phase, job.started) = (SeenPhase::Runs, Some(at(12)));
    look(&mut follower, 15, vec![job]);
    assert_eq!(look(&mut follower, 30, vec![waiting("x1", 25)]), 1);
    let again = follower
        .answer(&SeenJobKey("x1".to_owned()), at(30))
        .expect("known");
    assert_eq!((again.queued, again.started), (Some(at(25)), None));
}

#[test]
fn end_that_is_reported_twice_counts_once() {
    let mut follower = experienced();
    let mut job = waiting("x1", 10);
    (job.phase, job.started, job.ended) = (SeenPhase::Over, Some(at(12)), Some(at(14)));
    look(&mut follower, 15, vec![job.clone()]);
    let (waits, judged) = (follower.n_waits(), n_judged(&follower));
    look(&mut follower, 30, vec![job]);
    assert_eq!((follower.n_waits(), n_judged(&follower)), (waits, judged));
}

#[test]
fn lost_job_leaves_the_queue_unjudged() {
    let mut follower = experienced();
    let before = n_judged(&follower);
    look(&mut follower, 15, vec![waiting("x1", 10)]);
    assert_eq!(follower.missing(&[]), [SeenJobKey("x1".to_owned())]);
    follower.observe(&QueueObservation {
        at: at(30),
        sight: QueueSight::AllJobs,
        jobs: Vec::new(),
        gone: vec![SeenJobKey("x1".to_owned())],
        absent: Vec::new(),
    });
    assert_eq!((follower.n_waiting(), n_judged(&follower)), (0, before));
}

#[test]
fn job_that_waits_again_after_its_start_counts_from_then() {
    let mut follower = experienced();
    let key = SeenJobKey("x9".to_owned());
    let job = waiting("x9", 10);
    look(&mut follower, 12, vec![job.clone()]);
    let mut runs = job.clone();
    (runs.phase, runs.started) = (SeenPhase::Runs, Some(at(20)));
    look(&mut follower, 30, vec![runs.clone()]);
    // Evicted: the batch system shows it as it did before its start.
    assert_eq!(look(&mut follower, 60, vec![job]), 1);
    let again = follower.answer(&key, at(61)).expect("known");
    assert_eq!((again.started, again.queued), (None, Some(at(60))));
    runs.started = Some(at(80));
    let n_before = n_judged(&follower);
    look(&mut follower, 90, vec![runs.clone()]);
    assert_eq!(n_judged(&follower), n_before + 1);
    (runs.phase, runs.ended) = (SeenPhase::Over, Some(at(100)));
    look(&mut follower, 110, vec![runs.clone()]);
    assert!(follower.knows_end(&runs) && follower.answer(&key, at(110)).is_none());
}

#[test]
fn answers_about_many_jobs_are_those_about_each() {
    let mut follower = experienced();
    let keys = ["x1", "x2", "x3"].map(|name| SeenJobKey(name.to_owned()));
    let jobs = keys.iter().zip(10..).map(|(key, at)| waiting(&key.0, at));
    look(&mut follower, 20, jobs.collect());
    let together = follower.answers(&keys, at(21));
    let each: Vec<_> = keys
        .iter()
        .map(|key| follower.answer(key, at(21)).expect("known"))
        .collect();
    assert_eq!(together, each);
    let before: Vec<usize> = together.iter().map(|answer| answer.around.before).collect();
    assert_eq!(before, [before[0], before[0] + 1, before[0] + 2]);
}

#[test]
fn job_that_left_the_queue_holds_no_processors() {
    let mut follower = experienced();
    let capacity = follower.capacity();
    let runs = |key: &str, started: i64| SeenJob {
        procs: capacity as u32,
        started: Some(at(started)),
        phase: SeenPhase::Runs,
        ..waiting(key, 5)
    };
    look(&mut follower, 15, vec![runs("x1", 10)]);
    assert_eq!(follower.procs_in_use(), capacity);
    // Another job has its processors, and its record is late.
    follower.observe(&QueueObservation {
        at: at(30),
        sight: QueueSight::AllJobs,
        jobs: vec![runs("x2", 28)],
        gone: Vec::new(),
        absent: vec![SeenJobKey("x1".to_owned())],
    });
    let in_use = |follower: &QueueFollower| (follower.capacity(), follower.procs_in_use());
    assert_eq!(in_use(&follower), (capacity, capacity));
    let judged = n_judged(&follower);
    let record = SeenJob {
        ended: Some(at(27)),
        phase: SeenPhase::Over,
        ..runs("x1", 10)
    };
    look(&mut follower, 45, vec![record]);
    assert_eq!(in_use(&follower), (capacity, capacity));
    assert!(n_judged(&follower) > judged);
}

#[test]
fn record_of_a_job_that_was_never_seen_changes_no_capacity() {
    let mut follower = experienced();
    let capacity = follower.capacity();
    let runs = |key: &str, started: i64| SeenJob {
        procs: capacity as u32,
        started: Some(at(started)),
        phase: SeenPhase::Runs,
        ..waiting(key, 5)
    };
    look(&mut follower, 30, vec![runs("x2", 20)]);
    // It ran before that job, between two looks, and only its record tells of it.
    let record = SeenJob {
        ended: Some(at(19)),
        phase: SeenPhase::Over,
        ..runs("x1", 10)
    };
    look(&mut follower, 45, vec![record]);
    assert_eq!(
        (follower.capacity(), follower.procs_in_use()),
        (capacity, capacity)
    );
}
