//! The Grid Workloads Format, in both of its notations.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::gwf(data));
