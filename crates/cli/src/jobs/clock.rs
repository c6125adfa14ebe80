//! Compares this host's clock with the clock of the service.

use jiff::{SignedDuration, Timestamp};
use tollgate_client::types::SubmitResponse;

use crate::output::format;

/// The maximum difference of two clocks without a note.
const MAX_CLOCK_DIFFERENCE: SignedDuration = SignedDuration::from_secs(1);

/// Returns a note about the service's clock in an answer to a request that was sent at `sent` and answered at
/// `answered`, by the clock of this host.
pub(crate) fn note_on_answer(
    answer: &SubmitResponse,
    sent: Timestamp,
    answered: Timestamp,
) -> Option<String> {
    if let Some(ahead_s) = answer.clock_ahead_s {
        let ahead = format::format_span(ahead_s);
        return Some(format!(
            "the service's clock is {ahead} ahead of its host's, which was set back, and deadlines count by the service's"
        ));
    }
    let theirs = answer.now_at.parse().ok()?;
    clock_difference_note(theirs, sent, answered)
}

/// Returns a note about the service's clock, which showed `theirs` at some moment between `sent`
/// and `answered` by the clock of this host. None if the clocks agree.
fn clock_difference_note(
    theirs: Timestamp,
    sent: Timestamp,
    answered: Timestamp,
) -> Option<String> {
    let (off, word) = match theirs {
        theirs if theirs > answered => (theirs.duration_since(answered), "ahead of"),
        theirs => (sent.duration_since(theirs), "behind"),
    };
    (off > MAX_CLOCK_DIFFERENCE).then(|| {
        format!(
            "the service's clock is {} {word} this host's, and deadlines count by the service's",
            format::format_span(off.as_secs_f64())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(theirs: i64, sent: i64, answered: i64) -> Option<String> {
        let at = |secs| Timestamp::from_second(secs).unwrap();
        clock_difference_note(at(theirs), at(sent), at(answered))
    }

    #[test]
    fn small_clock_difference_gives_no_note() {
        // The clocks agree however long the answer took.
        for theirs in [99, 100, 150, 200, 201] {
            assert_eq!(note(theirs, 100, 200), None, "{theirs}");
        }
    }

    #[test]
    fn large_clock_difference_gives_a_note() {
        let note_of = |theirs| note(theirs, 1_000, 1_001).unwrap();
        assert!(note_of(1_601).starts_with("the service's clock is 10m ahead of this host's"));
        assert!(note_of(998).starts_with("the service's clock is 2s behind this host's"));
    }
}
