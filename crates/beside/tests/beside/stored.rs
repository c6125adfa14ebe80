//! Observations and followers that were stored are as good as new.

use tollgate_beside::{FollowerSnapshotError, QueueFollower, QueueObservation};
use tollgate_model::Span;

use crate::drawn;

#[test]
fn recorded_observations_give_the_same_statements_byte_for_byte() {
    let jobs = drawn::jobs(800, 4);
    let observations = drawn::observed(&jobs, Span::from_secs(30));
    let (_, live) = drawn::stated(&observations);
    let lines: Vec<String> = observations
        .iter()
        .map(|observation| serde_json::to_string(observation).expect("JSON"))
        .collect();
    let read: Vec<QueueObservation> = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("an observation"))
        .collect();
    assert_eq!(read, observations);
    let (_, replayed) = drawn::stated(&read);
    let bytes = |statements| serde_json::to_string(statements).expect("JSON");
    assert_eq!(bytes(&live), bytes(&replayed));
}

#[test]
fn restored_follower_states_and_answers_as_the_original() {
    let jobs = drawn::jobs(900, 6);
    let observations = drawn::observed(&jobs, Span::from_secs(30));
    let (first, rest) = observations.split_at(observations.len() * 2 / 3);
    let (mut follower, _) = drawn::stated(first);
    let bytes = follower.to_bytes().expect("a snapshot");
    let mut restored = QueueFollower::from_bytes(&bytes).expect("the same follower");
    assert_eq!(restored, follower);
    let at = follower.at().expect("an observation");
    for key in follower.open_jobs(None) {
        assert_eq!(restored.answer(&key, at), follower.answer(&key, at));
    }
    for observation in rest {
        assert_eq!(restored.observe(observation), follower.observe(observation));
    }
    assert_eq!(restored, follower);
}

#[test]
fn other_bytes_are_no_follower() {
    let (follower, _) = drawn::stated(&drawn::observed(&drawn::jobs(40, 1), Span::from_secs(30)));
    let bytes = follower.to_bytes().expect("a snapshot");
    let other = QueueFollower::from_bytes(b"{}");
    assert_eq!(other, Err(FollowerSnapshotError::Version));
    let cut = QueueFollower::from_bytes(&bytes[..bytes.len() / 2]);
    assert!(
        matches!(cut, Err(FollowerSnapshotError::Damaged(_))),
        "{cut:?}"
    );
}
