//! The program `tollgate` with the policy `widest-first`.

use std::process::ExitCode;

use tollgate_policy::PolicyRegistry;
use widest_first::WIDEST_FIRST;

fn main() -> ExitCode {
    tollgate_cli::main_with(&PolicyRegistry::builtin().with(WIDEST_FIRST))
}
