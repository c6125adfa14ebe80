//! The journal of the agent of a site.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_agents::fuzz::journal);
