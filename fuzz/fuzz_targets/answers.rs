//! Answers of batch systems.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_batch::fuzz::answers);
