//! The entry points of the fuzz targets. The module is hidden, and public only for the targets and
//! for the tests that run them without a fuzzer.

use crate::{journal, recovery};

/// Reads `data` as the runner's journal, and checks that each line is skipped or survives a round
/// trip, and that the tasks in it can be recalled. Returns false if a line is skipped.
pub fn journal(data: &[u8]) -> bool {
    let entries = journal::parse_all(data);
    recovery::rebuild_tasks(&entries);
    let lines = data.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty()).count() == entries.len()
}
