//! Any file, compressed or not.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::open);
