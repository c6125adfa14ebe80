//! The clock of a node beside that of this host.

use tollgate_model::{Instant, Span};

/// The greatest difference of two clocks that does no harm: pilots leave some seconds before their end.
pub(super) const CLOCK_TOLERANCE: Span = Span::from_secs(5);

/// Returns by how much the clock of a node is wrong that ran between two instants of this host. None if it is
/// right, as far as that can be known.
pub(super) fn clock_error(node: Instant, from: Instant, to: Instant) -> Option<String> {
    let (ahead, behind) = (node.since(to), from.since(node));
    let (by, way) = match ahead > behind {
        true => (ahead, "ahead of"),
        false => (behind, "behind"),
    };
    let minutes = by.as_secs_f64() / 60.0;
    (by > CLOCK_TOLERANCE).then(|| {
        format!("that of the node is {minutes:.1} min {way} that of this host: pilots would leave at a wrong time")
    })
}

/// The time from the start of a job to its end that is worth a word: the job of a check takes a few seconds.
const SLOW_START: Span = Span::from_secs(15);

/// Returns the words for a job that was over on its node at `node` and had started much earlier. Pilots lose this time, too. Empty if
/// there is nothing to say.
pub(super) fn slow_start(node: Instant, started: Option<Instant>) -> String {
    let late = started.map(|started| node.since(started));
    late.filter(|late| *late > SLOW_START)
        .map_or_else(String::new, |late| {
            let seconds = late.as_secs_f64().round();
            format!(
                "; the job took {seconds} s for seconds of work, and pilots lose as much: is a log-in slow there (`time bash -lc true`)?"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_that_begins_long_after_its_start_is_named() {
        let words = |late: i64| {
            slow_start(
                Instant::from_secs(1000 + late),
                Some(Instant::from_secs(1000)),
            )
        };
        assert_eq!(words(15), "");
        assert!(words(62).contains("took 62 s"), "{}", words(62));
        assert_eq!(slow_start(Instant::from_secs(1000), None), "");
    }

    #[test]
    fn clock_that_ran_between_submission_and_end_is_right() {
        let at = Instant::from_secs;
        let error = |node| clock_error(at(node), at(1000), at(1100));
        for node in [995, 1000, 1050, 1100, 1105] {
            assert_eq!(error(node), None, "{node}");
        }
        let ahead = error(2000).unwrap();
        assert!(ahead.contains("15.0 min ahead of"), "{ahead}");
        let behind = error(400).unwrap();
        assert!(behind.contains("10.0 min behind"), "{behind}");
    }
}
