//! The pages of the reference, from the tables of the program.
//!
//! | module | contents |
//! |---|---|
//! | `settings` | the settings of the service |
//! | `service` | its events and metrics |
//! | `exit_codes` | the exit codes |
//! | `table` | tables in Markdown |

mod exit_codes;
mod service;
mod settings;
mod table;

use std::path::Path;
use std::{fs, io};

/// The line below the heading of each page.
const ORIGIN: &str = "<!-- Written by `tollgate generate reference`. -->";

/// Writes a file for each page into a directory, which is created if missing. `commands` has the help of
/// all commands.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(out: &Path, commands: &str) -> io::Result<()> {
    fs::create_dir_all(out)?;
    for (name, page) in [
        ("commands", commands),
        ("settings", &settings::page()),
        ("exit-codes", &exit_codes::page()),
        ("events", &service::events_page()),
        ("metrics", &service::metrics_page()),
    ] {
        fs::write(out.join(format!("{name}.md")), with_origin(page))?;
    }
    Ok(())
}

/// Returns a page that says below its heading where it comes from.
fn with_origin(page: &str) -> String {
    page.replacen('\n', &format!("\n\n{ORIGIN}\n"), 1)
}
