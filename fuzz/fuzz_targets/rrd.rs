//! Round-robin databases, binary and XML.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::rrd);
