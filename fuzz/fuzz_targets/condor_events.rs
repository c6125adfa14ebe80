//! HTCondor's job event log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::condor_events(data));
