//! The program `tollgate` with the policy `widest-first`.

use std::process::ExitCode;

use tollgate_cli::policy_registry;
use widest_first::WIDEST_FIRST;

fn main() -> ExitCode {
    tollgate_cli::main_with(&policy_registry().with(WIDEST_FIRST))
}
