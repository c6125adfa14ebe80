//! How often a queue is looked at changes no statement.

use tollgate_beside::{QueueObservation, QueueSight};
use tollgate_model::Span;

use crate::drawn;

#[test]
fn statements_of_a_polled_queue_are_those_of_its_records() {
    let jobs = drawn::jobs(900, 3);
    let polled = drawn::observed(&jobs, Span::from_secs(15));
    let (follower, statements) = drawn::stated(&polled);
    // All jobs at once, as the records have them.
    let at_once = QueueObservation {
        at: polled.last().expect("an observation").at,
        sight: QueueSight::AllJobs,
        jobs,
        gone: Vec::new(),
        absent: Vec::new(),
    };
    let (_, of_records) = drawn::stated(&[at_once]);
    assert!(statements.iter().any(|stated| stated.basis == "forest"));
    assert!(statements.iter().any(|stated| stated.nth > 0));
    assert_eq!(statements.len(), of_records.len());
    for (polled, recorded) in statements.iter().zip(&of_records) {
        assert_eq!(polled, recorded);
    }
    assert_eq!((follower.n_waiting(), follower.n_overdue()), (0, 0));
}

#[test]
fn jobs_in_the_queue_are_open_until_their_end_is_seen() {
    let jobs = drawn::jobs(300, 5);
    let polled = drawn::observed(&jobs, Span::from_secs(15));
    let (follower, _) = drawn::stated(&polled[..polled.len() / 2]);
    let at = follower.at().expect("an observation");
    let waiting = jobs.iter().filter_map(|job| drawn::seen_at(job, at));
    let open = waiting.filter(|job| job.ended.is_none()).count();
    assert_eq!(follower.open_jobs(None).len(), open);
    assert!(open > 0);
}
