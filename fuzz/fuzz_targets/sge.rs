//! Grid Engine's `accounting`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::sge(data));
