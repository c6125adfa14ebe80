//! HTCondor's job ads in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::condor_json(data));
