//! The program `tollgate`. The library has its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_cli::main()
}
