//! Round-robin databases, binary and XML.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::rrd(data));
