//! The page of exit codes.

use super::table::table;
use crate::exit::{CODES_OF_JOBS, EXIT_CODES};

/// Returns the page in Markdown.
pub(super) fn page() -> String {
    let rows = EXIT_CODES.map(|exit| [exit.code.to_string(), exit.meaning.to_owned()]);
    let table = table(["exit code", "meaning"], rows);
    format!("# Exit codes\n\n{table}\n{CODES_OF_JOBS}\n")
}
