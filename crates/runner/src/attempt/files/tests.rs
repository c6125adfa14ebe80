//! Keys, starts and what is left of an attempt.

use tollgate_model::{Instant, NodeId};

use super::*;

const ATTEMPT: AttemptId = AttemptId {
    job: 7,
    task: 0,
    attempt: 1,
};

fn offer() -> OfferedAttempt {
    OfferedAttempt {
        launch: LaunchSpec::new(ATTEMPT, vec![NodeId(0)], ["true"], "/"),
        node: "n1".to_owned(),
        cores: 1,
        memory: None,
        grace_ms: 3_000,
    }
}

#[test]
fn key_has_one_spelling() {
    assert_eq!(parse_key("7.0.1"), Some(ATTEMPT));
    for key in ["7.0", "7.0.1.1", "07.0.1", "+7.0.1", ".7.0.1", "", "7.0.1 "] {
        assert_eq!(parse_key(key), None, "{key:?}");
    }
}

#[test]
fn start_is_claimed_once_and_then_described() {
    let dir = tempfile::tempdir().unwrap();
    let folder = AttemptFolder::create(&dir.path().join("attempts")).unwrap();
    folder.offer(&[offer()]).unwrap();
    assert_eq!(folder.read_offer(ATTEMPT).unwrap(), Some(offer()));
    assert!(folder.claim(ATTEMPT).unwrap());
    assert!(!folder.claim(ATTEMPT).unwrap());
    assert_eq!(folder.read_start(ATTEMPT).unwrap(), None);
    let start = AttemptStart {
        pid: Some(1),
        at: Instant::ZERO,
    };
    folder.start(ATTEMPT, start).unwrap();
    assert_eq!(folder.read_start(ATTEMPT).unwrap(), Some(start));
    assert!(!folder.claim(ATTEMPT).unwrap());
}

#[test]
fn forgotten_attempt_keeps_the_mark_of_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let folder = AttemptFolder::create(&dir.path().join("attempts")).unwrap();
    folder.offer(&[offer()]).unwrap();
    folder.accept(ATTEMPT, 12).unwrap();
    folder.claim(ATTEMPT).unwrap();
    folder.forget(&[ATTEMPT]).unwrap();
    assert_eq!(folder.read_offer(ATTEMPT).unwrap(), None);
    assert_eq!(folder.read_accepted(ATTEMPT).unwrap(), None);
    assert_eq!(folder.list(AttemptFile::Started).unwrap(), [ATTEMPT]);
    folder.remove_marks(&[ATTEMPT]);
    assert_eq!(folder.list(AttemptFile::Started).unwrap(), []);
}
