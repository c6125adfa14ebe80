//! Formats, jobs, states, hosts and times of Slurm's commands.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_frontends::slurm::fuzz::words);
