//! `tollgate-runner DIRECTORY`: starts tasks and records their ends, for a service that may restart
//! meanwhile. The service starts this program; see [`tollgate_runner`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_runner::main(std::env::args_os().skip(1))
}
