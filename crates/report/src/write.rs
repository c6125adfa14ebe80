//! A page and its pictures as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::page::ReportPage;
use crate::png::{self, PngError};

/// The name of the page in its folder.
pub const PAGE_FILE: &str = "report.html";

/// The folder of the pictures, in that of the page.
pub const PICTURES_DIR: &str = "figures";

/// PNG files have two pixels for each of the SVG: sharp on screens and in print at half a
/// column.
const SCALE: f32 = 2.0;

/// A folder that could not be filled.
#[derive(Debug, Error)]
pub enum PageWriteError {
    /// A file or folder cannot be written.
    #[error("{}: cannot be written: {error}", file.display())]
    Io {
        /// Which one.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A picture cannot be rendered.
    #[error("{name}: {error}")]
    Png {
        /// The name of the picture.
        name: String,
        /// Why.
        error: PngError,
    },
}

/// Writes [`PAGE`] and, into [`PICTURES`], every picture of it as an SVG and a PNG file. What is
/// there already is written over.
///
/// # Errors
/// [`PageWriteError`] at the first file that cannot be written.
pub fn write(page: &ReportPage, folder: &Path) -> Result<(), PageWriteError> {
    let pictures = folder.join(PICTURES_DIR);
    fs::create_dir_all(&pictures).map_err(|error| failed(&pictures, error))?;
    for (name, svg) in page.pictures() {
        let png = png::from_svg(svg, SCALE).map_err(|error| PageWriteError::Png {
            name: name.to_owned(),
            error,
        })?;
        write_file(&pictures.join(format!("{name}.svg")), svg.as_bytes())?;
        write_file(&pictures.join(format!("{name}.png")), &png)?;
    }
    write_file(&folder.join(PAGE_FILE), page.to_html().as_bytes())
}

fn write_file(file: &Path, bytes: &[u8]) -> Result<(), PageWriteError> {
    fs::write(file, bytes).map_err(|error| failed(file, error))
}

fn failed(file: &Path, error: io::Error) -> PageWriteError {
    PageWriteError::Io {
        file: file.to_owned(),
        error,
    }
}
