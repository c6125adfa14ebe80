//! Messages between the agents of sites, and from their operator.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_agents::fuzz::frames);
