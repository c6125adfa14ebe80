//! The program `tollgate`; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_cli::main()
}
