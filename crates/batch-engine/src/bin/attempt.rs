//! `tollgate-attempt DIRECTORY ATTEMPT`: runs one attempt inside a job of a batch system. Tests start this
//! program; the service has its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_runner::attempt::main(std::env::args_os().skip(1))
}
