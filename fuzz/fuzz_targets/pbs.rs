//! Accounting records of PBS and Torque.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::pbs(data));
