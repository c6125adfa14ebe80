//! Round-robin databases of RRDtool, as Ganglia and glide-in factories keep them: measurements of a
//! fixed step, in archives of ever coarser resolution. They hold no jobs.
//!
//! The reader accepts the binary format, version 0003, of either byte order, word size and
//! alignment, and the XML output of `rrdtool dump`.

mod binary;
mod xml;

use std::io::Read;
use std::path::Path;

use tollgate_model::{Instant, Span};

use crate::error::{OpenError, ReadError, RrdError};
use crate::open::open_with;
use memchr::memmem;

/// Maximum size of a database, in bytes; the whole file is read into memory.
const MAX_BYTES: u64 = 1 << 30;

/// The contents of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdDatabase {
    /// Interval between measurements. Positive.
    pub step: Span,
    /// Time of the last update, since the Unix epoch.
    pub last_update: Instant,
    /// The measured quantities.
    pub sources: Vec<RrdSource>,
    /// The summaries of the measurements.
    pub archives: Vec<RrdArchive>,
}

/// A measured quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdSource {
    /// Name of the quantity.
    pub name: String,
    /// Derivation of values from measurements: `GAUGE`, `COUNTER`, `ABSOLUTE`, ..
    pub kind: String,
    /// Time without a measurement after which the value is unknown.
    pub heartbeat: Span,
    /// Minimum legal value, if there is one.
    pub min: Option<f64>,
    /// Maximum legal value, if there is one.
    pub max: Option<f64>,
}

/// A summary of the measurements: a row per fixed number of steps, with a value for each source.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdArchive {
    /// Function that summarises values: `AVERAGE`, `MAX`, ..
    pub function: String,
    /// Interval between rows: a multiple of the database's step.
    pub resolution: Span,
    /// End of the period of the last row, since the Unix epoch.
    pub end: Instant,
    /// Number of values in a row: one per source.
    width: usize,
    /// The values row by row, the oldest first; NaN where the value is not known.
    values: Vec<f64>,
}

impl RrdArchive {
    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns every row, the oldest first: the end of its period, and a value for each source, NaN
    /// where the value is not known.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (Instant, &[f64])> {
        let rows = self.values.chunks_exact(self.width);
        let last = self.len().saturating_sub(1);
        rows.enumerate().map(move |(at, row)| {
            let before = self
                .resolution
                .as_micros()
                .saturating_mul((last - at) as i64);
            (self.end - Span::from_micros(before), row)
        })
    }

    /// Returns the number of known values, of all sources together.
    pub fn n_known(&self) -> usize {
        self.values.iter().filter(|value| !value.is_nan()).count()
    }
}

/// Reads the database at `path`, gzip or not; `-` is standard input.
///
/// # Errors
/// [`OpenError`] with the file and its problem.
pub fn open(path: &Path) -> Result<RrdDatabase, OpenError> {
    open_with(path, from_reader)
}

/// Reads a database from bytes.
///
/// # Errors
/// [`RrdError`] if the bytes are not a database, are truncated, or are of another version.
pub fn parse(bytes: &[u8]) -> Result<RrdDatabase, RrdError> {
    if binary::matches_format(bytes) {
        binary::parse(bytes)
    } else if matches_format(bytes) {
        xml::parse(bytes)
    } else {
        Err(RrdError::NotRrd)
    }
}

/// Returns whether a file that begins with `prefix` is a database, or a dump of one.
pub(crate) fn matches_format(prefix: &[u8]) -> bool {
    let has = |tag: &[u8]| memmem::find(prefix, tag).is_some();
    let is_xml = prefix.trim_ascii_start().starts_with(b"<");
    binary::matches_format(prefix) || is_xml && (has(b"<rrd>") || has(b"<rrd "))
}

fn from_reader(_name: &str, reader: Box<dyn Read + '_>) -> Result<RrdDatabase, ReadError> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| ReadError::Io { line: 1, error })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(RrdError::TooLarge.into());
    }
    Ok(parse(&bytes)?)
}

/// Returns the end of the last row of an archive: the last multiple of its resolution.
fn last_row_end(last_update: Instant, resolution: Span) -> Instant {
    let (micros, step) = (last_update.as_micros(), resolution.as_micros().max(1));
    Instant::from_micros(micros - micros.rem_euclid(step))
}
