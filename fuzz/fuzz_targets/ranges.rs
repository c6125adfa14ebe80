//! Numbers of tasks as ranges.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_server::fuzz::ranges(data);
});
