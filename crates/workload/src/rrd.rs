//! Round-robin databases of RRDtool, as Ganglia and glide-in factories keep them: measurements of a
//! fixed step, in archives of ever coarser resolution. They hold no jobs.
//!
//! Read are the binary format, version 0003, of either byte order, word size and alignment, and
//! what `rrdtool dump` makes of it (XML).

mod binary;
mod xml;

use std::io::Read;
use std::path::Path;

use tollgate_model::{Instant, Span};

use crate::error::{OpenError, ReadError};
use crate::format::contains;
use crate::open::open_with;

/// More bytes than this no database of measurements has; they are read into memory.
const MAX_BYTES: u64 = 1 << 30;

/// The contents of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdDatabase {
    /// The distance of measurements. Positive.
    pub step: Span,
    /// When it was last updated, since the Unix epoch.
    pub last_update: Instant,
    /// What is measured.
    pub sources: Vec<RrdSource>,
    /// The measurements, summarised.
    pub archives: Vec<RrdArchive>,
}

/// Something that is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdSource {
    /// Its name.
    pub name: String,
    /// How values follow from measurements: `GAUGE`, `COUNTER`, `ABSOLUTE`, ..
    pub kind: String,
    /// After how long without a measurement the value is unknown.
    pub heartbeat: Span,
    /// The least value that makes sense, if there is one.
    pub min: Option<f64>,
    /// The largest value that makes sense, if there is one.
    pub max: Option<f64>,
}

/// A summary of the measurements: a row every so many steps, and a value in it for each source.
#[derive(Clone, Debug, PartialEq)]
pub struct RrdArchive {
    /// How a value sums up: `AVERAGE`, `MAX`, ..
    pub function: String,
    /// The distance of rows: a multiple of the database's step.
    pub resolution: Span,
    /// The end of what the last row sums up, since the Unix epoch.
    pub end: Instant,
    /// How many values there are in a row: one a source.
    width: usize,
    /// Row by row, the oldest first; NaN where the value is not known.
    values: Vec<f64>,
}

impl RrdArchive {
    /// How many rows there are.
    pub const fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Every row, the oldest first: the end of what it sums up, and a value for each source, NaN
    /// where it is not known.
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

    /// How many values are known, of all sources together.
    pub fn n_known(&self) -> usize {
        self.values.iter().filter(|value| !value.is_nan()).count()
    }
}

/// Why bytes are no database.
#[derive(Debug, thiserror::Error)]
pub enum RrdError {
    /// Neither the binary format nor XML of a dump.
    #[error("expected a round-robin database, binary or as `rrdtool dump` writes it")]
    NotRrd,
    /// Another version of the binary format.
    #[error("expected version 0003 of a round-robin database, found `{0}`")]
    Version(String),
    /// The machine that wrote it is of no known kind.
    #[error("the byte order and alignment of the round-robin database cannot be told")]
    Layout,
    /// Larger than it can be read.
    #[error("is larger than 1 GiB")]
    TooLarge,
    /// It ends too early.
    #[error(
        "byte {found}: the round-robin database stops before its end, expected at byte {expected}"
    )]
    Truncated {
        /// Where it must end at the earliest.
        expected: u64,
        /// Where it ends.
        found: u64,
    },
    /// A part of it that makes no sense.
    #[error("{place}: expected {expected}")]
    Nonsense {
        /// Where it stands, in words.
        place: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// It is no XML.
    #[error("not well-formed XML: {0}")]
    Xml(#[from] roxmltree::Error),
}

/// Reads the database at `path`, gzip or not; `-` is standard input.
///
/// # Errors
/// [`OpenError`] with the file and what is wrong with it.
pub fn open(path: &Path) -> Result<RrdDatabase, OpenError> {
    open_with(path, from_reader)
}

/// Reads a database from bytes.
///
/// # Errors
/// [`RrdError`] if these are none, cut off, or of another version.
pub fn parse(bytes: &[u8]) -> Result<RrdDatabase, RrdError> {
    if binary::matches_format(bytes) {
        binary::parse(bytes)
    } else if matches_format(bytes) {
        xml::parse(bytes)
    } else {
        Err(RrdError::NotRrd)
    }
}

/// Whether a file that begins with `prefix` is a database, or a dump of one.
pub(crate) fn matches_format(prefix: &[u8]) -> bool {
    let is_xml = prefix.trim_ascii_start().starts_with(b"<");
    binary::matches_format(prefix)
        || is_xml && (contains(prefix, b"<rrd>") || contains(prefix, b"<rrd "))
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

/// When the last row of an archive ends: the last multiple of its resolution.
fn last_row_end(last_update: Instant, resolution: Span) -> Instant {
    let (micros, step) = (last_update.as_micros(), resolution.as_micros().max(1));
    Instant::from_micros(micros - micros.rem_euclid(step))
}
