//! The program `tollgate` with the policy `widest-first`.

use std::process::ExitCode;

use tollgate_policies::builtin_registry;
use widest_first::WIDEST_FIRST;

fn main() -> ExitCode {
    tollgate_cli::main_with(&builtin_registry().with(WIDEST_FIRST))
}
