//! Log-ins and availability of computers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::logins(data));
