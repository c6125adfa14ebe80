//! The entry points of the fuzz targets. The module is hidden, and public only for the targets and
//! for the tests that run them without a fuzzer.

use crate::{frame, journal};

/// Reads `data` as the journal of an agent, and checks that each entry survives a round trip. Returns
/// false if a part is left out.
pub fn journal(data: &[u8]) -> bool {
    journal::check(data)
}

/// Reads each line of `data` as a frame between agents, and checks that it survives a round trip.
/// Returns false if a line is rejected.
pub fn frames(data: &[u8]) -> bool {
    let lines = data.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.is_empty());
    lines.all(|line| {
        let Some(frame) = frame::parse(line) else {
            return false;
        };
        assert_eq!(frame::parse(frame.text().trim_ascii_end()), Some(frame));
        true
    })
}
