//! `pilots.json`.

#![cfg_attr(fuzzing, no_main)]

tollgate_fuzz::fuzz_target!(tollgate_sites::fuzz::pilots);
