//! Scripts with options for `sbatch`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_frontends::slurm::fuzz::scripts);
