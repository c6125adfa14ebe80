//! A statement never depends on the later course of its own job, even if that was seen together with its submission.

use tollgate_beside::{JobStatement, SeenPhase};
use tollgate_model::Span;

use crate::drawn;

fn at_submission(statements: &[JobStatement], key: &str) -> JobStatement {
    let found = statements
        .iter()
        .find(|stated| stated.key.0 == key && stated.nth == 0);
    found.expect("a statement").clone()
}

#[test]
fn start_between_two_looks_does_not_enter_the_statement_of_the_job() {
    let jobs = drawn::jobs(700, 9);
    // A job is shown for 300 s after its end, so that none is missed.
    let every = Span::from_secs(240);
    let (_, before) = drawn::stated(&drawn::observed(&jobs, every));
    let mut n_changed = 0;
    for planted in [350, 420, 555, 640] {
        let mut others = jobs.clone();
        let other = &mut others[planted];
        assert_eq!(other.phase, SeenPhase::Over);
        // The same job, started at once and over at once.
        other.started = Some(other.submitted);
        other.ended = Some(other.submitted);
        let (_, after) = drawn::stated(&drawn::observed(&others, every));
        let key = (planted + 1).to_string();
        assert_eq!(at_submission(&before, &key), at_submission(&after, &key));
        n_changed += usize::from(before != after);
    }
    // Later statements do depend on it.
    assert!(n_changed > 0);
}
