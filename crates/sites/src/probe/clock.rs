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

#[cfg(test)]
mod tests {
    use super::*;

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
