//! The runner's journal.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_runner::fuzz::journal);
