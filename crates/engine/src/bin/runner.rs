//! `tollgate-runner FOLDER`: starts tasks and keeps the record of them, for a service that may be
//! restarted meanwhile. Started by the service; see `tollgate_engine::runner`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_engine::runner::main(std::env::args_os().skip(1))
}
