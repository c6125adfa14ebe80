//! Writes a page and its pictures to a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::page::ReportPage;
use crate::png::{self, PngError};

/// The file name of the page in its directory.
pub const PAGE_FILE: &str = "report.html";

/// The directory of the pictures, below the directory of the page.
pub const PICTURES_DIR: &str = "figures";

/// PNG files have two pixels for each pixel of the SVG. They are sharp on screens, and in print at
/// half a column.
const SCALE: f32 = 2.0;

/// An error while the page directory is written.
#[derive(Debug, Error)]
pub enum PageWriteError {
    /// A file or directory cannot be written.
    #[error("{}: cannot be written: {error}", file.display())]
    Io {
        /// The path of the file or directory.
        file: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A picture cannot be rendered.
    #[error("{name}: {error}")]
    Png {
        /// The name of the picture.
        name: String,
        /// The cause.
        error: PngError,
    },
}

/// Writes [`PAGE_FILE`], and in [`PICTURES_DIR`] every picture of the page as an SVG and a PNG file.
/// Existing files are overwritten.
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
