//! Events of Slurm's simulator.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::slurm_events);
