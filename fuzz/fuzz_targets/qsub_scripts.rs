//! Scripts with options for `qsub`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_frontends::fuzz::scripts);
