//! The programs of the fuzz targets: `cargo +nightly fuzz run swf` looks for inputs on which a parser
//! fails, and `cargo run -p tollgate-fuzz --bin swf FILE` repeats a found one without a fuzzer.

use std::{env, fs};

/// Defines the program of a target, a function of bytes: a libFuzzer under `cargo fuzz`, and
/// otherwise [`run_files`].
#[macro_export]
macro_rules! fuzz_target {
    ($target:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            $target(data);
        });

        #[cfg(not(fuzzing))]
        fn main() {
            $crate::run_files(|data| {
                $target(data);
            });
        }
    };
}

/// Calls a target with the contents of each file on the command line.
///
/// # Panics
/// If a file cannot be read, or the target panics.
pub fn run_files(target: impl Fn(&[u8])) {
    for path in env::args_os().skip(1) {
        let data = fs::read(&path);
        target(&data.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
}
