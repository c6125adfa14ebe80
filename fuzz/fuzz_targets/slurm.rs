//! The output of `sacct -P`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::slurm(data));
