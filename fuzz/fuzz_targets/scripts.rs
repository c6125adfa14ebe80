//! Scripts with options for `qsub` and `tollgate submit`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tollgate_cli::fuzz::scripts(data);
});
