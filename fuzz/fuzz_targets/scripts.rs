//! Scripts with options for `qsub` and `tollgate submit`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_cli::fuzz::scripts);
