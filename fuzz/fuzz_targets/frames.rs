//! Messages between workers and the service.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_server::fuzz::frames(data);
});
