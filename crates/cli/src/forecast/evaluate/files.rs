//! The folder of an evaluation: tables, a report, pictures.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use serde_json::Value;

use super::{Evaluated, print};
use crate::exit::Failure;

/// Writes `methods.csv`, `classes.csv`, `periods.csv`, the report and its pictures.
///
/// # Errors
/// At the first file that cannot be written.
pub(super) fn write(evaluated: &Evaluated, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, rows) in [
        ("methods.csv", print::methods(evaluated)),
        ("classes.csv", print::classes(evaluated)),
        ("periods.csv", print::periods(evaluated)),
    ] {
        table(&folder.join(name), &rows)?;
    }
    Ok(())
}

fn table(file: &Path, rows: &[Value]) -> Result<(), Failure> {
    let created = File::create(file).map_err(|error| failed(file, error))?;
    crate::csv_rows::write(&mut BufWriter::new(created), rows).map_err(|error| failed(file, error))
}

fn failed(file: &Path, error: std::io::Error) -> Failure {
    Failure::Write {
        file: file.display().to_string(),
        error,
    }
}
