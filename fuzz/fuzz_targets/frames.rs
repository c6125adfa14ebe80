//! Messages between workers and the service.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_server::fuzz::frames);
