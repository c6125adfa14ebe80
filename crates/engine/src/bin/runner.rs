//! `tollgate-runner DIRECTORY`: starts tasks and records their ends, for a service that may restart
//! meanwhile. The service starts this program; see `tollgate_engine::runner`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_engine::runner::main(std::env::args_os().skip(1))
}
