//! `clusters.toml`, and the files of `tollgate replay --clusters`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_cli::fuzz::clusters);
