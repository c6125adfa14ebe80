//! Messages between the processes of `tollgate spread`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_spread::fuzz::messages);
