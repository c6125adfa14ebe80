//! Scripts with options for `tollgate submit`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_cli::fuzz::scripts);
