//! Events of Slurm's simulator.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_trace::fuzz::slurm_events(data));
