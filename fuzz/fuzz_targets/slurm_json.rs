//! Slurm's records as `sacct --json` prints them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::slurm_json(data));
