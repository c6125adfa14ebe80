//! Slurm's records as `sacct --json` prints them.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::slurm_json);
