//! The runner's journal.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_runner::fuzz::journal(data);
});
