//! What the fuzz targets run; hidden, public only for them and for the tests that drive them without
//! a fuzzer.

/// Reads `data` as the runner's journal: a line is passed over, or written and read again as it was,
/// and the tasks that they tell of can be recalled. False if a line is passed over.
pub fn journal(data: &[u8]) -> bool {
    crate::runner::check_journal(data)
}
