//! Lists of the hosts of a job.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_spread::fuzz::hosts);
