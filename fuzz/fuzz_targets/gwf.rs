//! The Grid Workloads Format, in both of its notations.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::gwf);
