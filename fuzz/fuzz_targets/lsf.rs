//! LSF's `lsb.acct`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::lsf(data));
