//! Numbers of tasks as ranges.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_server::fuzz::ranges);
