//! Requests of jobs for processes on their other hosts.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_server::fuzz::part_requests);
