//! What workers and the service say to each other.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_service::fuzz::frames(data);
});
