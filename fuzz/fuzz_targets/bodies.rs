//! Bodies of requests.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_server::fuzz::bodies(data);
});
