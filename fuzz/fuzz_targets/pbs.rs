//! Accounting records of PBS and Torque.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_trace::fuzz::pbs);
