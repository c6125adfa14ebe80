//! The binary format: a sequence of arrays of C structures in the memory layout of the machine that
//! wrote them (`rrd_format.h` of RRDtool).

use tollgate_model::{Instant, Span};

use super::{RrdArchive, RrdDatabase, RrdSource, last_row_end};
use crate::error::RrdError;

const COOKIE: &[u8] = b"RRD\0";
const VERSION: &[u8] = b"0003\0";

/// The number that reveals byte order and alignment, as it is stored in the file.
const FLOAT_COOKIE: f64 = 8.642135E130;

/// Sizes in bytes: of a name, of the text of the last measurement, of ten parameters.
const NAME: usize = 20;
const LAST_MEASUREMENT: usize = 30;
const PARAMETERS: usize = 80;

/// Maximum number of sources, of archives, of steps per row and of rows.
const MAX_COUNT: u64 = 1 << 32;

/// Returns whether `bytes` begin like a database.
pub(super) fn matches_format(bytes: &[u8]) -> bool {
    bytes.starts_with(COOKIE)
}

/// Reads a database.
pub(super) fn parse(bytes: &[u8]) -> Result<RrdDatabase, RrdError> {
    let version = bytes.get(COOKIE.len()..COOKIE.len() + VERSION.len());
    if version != Some(VERSION) {
        let found = version.unwrap_or_default();
        return Err(RrdError::Version(text(found)));
    }
    let layout = RrdLayout::of(bytes)?;
    let mut reader = RrdReader {
        bytes,
        at: layout.after_cookie(),
        layout,
    };
    let source_count = reader.count("the number of sources")?;
    let archive_count = reader.count("the number of archives")?;
    let step = reader.count("the step")?;
    reader.align(0, layout.align);
    reader.skip_parameters(1)?;

    let sources = reader.read_many(source_count, RrdReader::source)?;
    let shapes = reader.read_many(archive_count, |reader| reader.shape(step))?;
    let last_update = reader.long()?;
    let _microseconds = reader.long()?;
    let last_update = i64::try_from(last_update).unwrap_or(i64::MAX);
    let last_update = Instant::from_secs(last_update);
    // Partial sums for the next row: for each source, and for each source of each archive.
    for _ in 0..source_count {
        let begun = reader.at;
        reader.skip(LAST_MEASUREMENT)?;
        reader.align(begun, layout.align);
        reader.skip_parameters(1)?;
    }
    let sums = source_count.checked_mul(archive_count);
    reader.skip_parameters(sums.unwrap_or(u64::MAX))?;
    let current = reader.read_many(archive_count, |reader| reader.long())?;
    let archives = shapes
        .into_iter()
        .zip(current)
        .map(|(shape, current)| reader.archive(shape, current, &sources, last_update))
        .collect::<Result<_, _>>()?;
    Ok(RrdDatabase {
        step: Span::from_secs(step as i64),
        last_update,
        sources,
        archives,
    })
}

/// The structure layout of the machine that wrote the file.
#[derive(Clone, Copy)]
struct RrdLayout {
    little_endian: bool,
    /// Size of a `long`, in bytes.
    word: usize,
    /// Alignment of a `double`, in bytes.
    align: usize,
}

impl RrdLayout {
    /// Detects the layout. The float cookie is at the first aligned position after the version.
    fn of(bytes: &[u8]) -> Result<Self, RrdError> {
        for align in [4, 8] {
            let at = (COOKIE.len() + VERSION.len()).next_multiple_of(align);
            let Some(cookie) = bytes.get(at..at + 8).and_then(|part| part.try_into().ok()) else {
                continue;
            };
            let ends = [
                (true, f64::from_le_bytes(cookie)),
                (false, f64::from_be_bytes(cookie)),
            ];
            if let Some((little_endian, _)) =
                ends.into_iter().find(|(_, cookie)| *cookie == FLOAT_COOKIE)
            {
                let layout = Self {
                    little_endian,
                    word: 8,
                    align,
                };
                return Ok(layout.with_word(bytes));
            }
        }
        Err(RrdError::Layout)
    }

    /// Returns the layout with its word size. In words of 8 bytes the number of sources is small.
    /// In words of 4 this word also holds the number of archives, in its upper or lower half, and
    /// is large.
    fn with_word(mut self, bytes: &[u8]) -> Self {
        let mut reader = RrdReader {
            bytes,
            at: self.after_cookie(),
            layout: self,
        };
        let is_long = self.align == 8 && reader.long().is_ok_and(|count| count < MAX_COUNT);
        self.word = if is_long { 8 } else { 4 };
        self
    }

    const fn after_cookie(self) -> usize {
        (COOKIE.len() + VERSION.len()).next_multiple_of(self.align) + 8
    }
}

/// The size of an archive.
struct ArchiveShape {
    function: String,
    rows: u64,
    resolution: Span,
}

/// A cursor over the structures.
struct RrdReader<'a> {
    bytes: &'a [u8],
    at: usize,
    layout: RrdLayout,
}

impl<'a> RrdReader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], RrdError> {
        let end = self.at.saturating_add(length);
        let part = self.bytes.get(self.at..end).ok_or(RrdError::Truncated {
            expected: end as u64,
            found: self.bytes.len() as u64,
        })?;
        self.at = end;
        Ok(part)
    }

    fn skip(&mut self, length: usize) -> Result<(), RrdError> {
        self.take(length).map(drop)
    }

    /// Skips `count` times ten parameters.
    fn skip_parameters(&mut self, count: u64) -> Result<(), RrdError> {
        let length = usize::try_from(count).ok();
        let length = length.and_then(|count| count.checked_mul(PARAMETERS));
        self.skip(length.unwrap_or(usize::MAX))
    }

    /// Skips the padding before an aligned field, in a structure that began at `begun`.
    fn align(&mut self, begun: usize, to: usize) {
        self.at = begun + (self.at - begun).next_multiple_of(to);
    }

    fn long(&mut self) -> Result<u64, RrdError> {
        let part = self.take(self.layout.word)?;
        Ok(self.number(part))
    }

    fn number(&self, part: &[u8]) -> u64 {
        let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        match self.layout.little_endian {
            true => part.iter().rev().fold(0, push),
            false => part.iter().fold(0, push),
        }
    }

    fn double(&mut self) -> Result<f64, RrdError> {
        let part = self.take(8)?;
        Ok(f64::from_bits(self.number(part)))
    }

    fn count(&mut self, place: &str) -> Result<u64, RrdError> {
        let count = self.long()?;
        if !(1..MAX_COUNT).contains(&count) {
            return Err(RrdError::Nonsense {
                place: place.to_owned(),
                expected: "1 or more, and less than 2^32",
            });
        }
        Ok(count)
    }

    fn read_many<T>(
        &mut self,
        count: u64,
        mut read: impl FnMut(&mut Self) -> Result<T, RrdError>,
    ) -> Result<Vec<T>, RrdError> {
        (0..count).map(|_| read(self)).collect()
    }

    fn source(&mut self) -> Result<RrdSource, RrdError> {
        let (name, kind) = (text(self.take(NAME)?), text(self.take(NAME)?));
        // Each parameter takes 8 bytes, independent of the word size.
        let parameters = self.at;
        let heartbeat = self.long()?;
        self.align(parameters, 8);
        let (min, max) = (self.double()?, self.double()?);
        self.at = parameters;
        self.skip(PARAMETERS)?;
        Ok(RrdSource {
            name,
            kind,
            heartbeat: Span::from_secs(i64::try_from(heartbeat).unwrap_or(i64::MAX)),
            min: (!min.is_nan()).then_some(min),
            max: (!max.is_nan()).then_some(max),
        })
    }

    fn shape(&mut self, step: u64) -> Result<ArchiveShape, RrdError> {
        let begun = self.at;
        let function = text(self.take(NAME)?);
        self.align(begun, self.layout.word);
        let rows = self.count(&format!("the rows of archive {function}"))?;
        let steps = self.count(&format!("the steps a row of archive {function}"))?;
        self.align(begun, self.layout.align);
        self.skip(PARAMETERS)?;
        let resolution = i64::try_from(step.saturating_mul(steps)).unwrap_or(i64::MAX);
        Ok(ArchiveShape {
            function,
            rows,
            resolution: Span::from_secs(resolution),
        })
    }

    /// Parses the rows of an archive, which is a ring buffer: the oldest row follows the current
    /// row.
    fn archive(
        &mut self,
        shape: ArchiveShape,
        current: u64,
        sources: &[RrdSource],
        last_update: Instant,
    ) -> Result<RrdArchive, RrdError> {
        let ArchiveShape {
            function,
            rows,
            resolution,
        } = shape;
        if current >= rows {
            return Err(RrdError::Nonsense {
                place: format!("the current row of archive {function}"),
                expected: "less than the number of rows",
            });
        }
        let width = sources.len();
        let length = usize::try_from(rows)
            .ok()
            .and_then(|rows| rows.checked_mul(width));
        let bytes = length.and_then(|length| length.checked_mul(8));
        let part = self.take(bytes.unwrap_or(usize::MAX))?;
        let mut values: Vec<f64> = part
            .chunks_exact(8)
            .map(|value| f64::from_bits(self.number(value)))
            .collect();
        values.rotate_left((current as usize + 1) % rows as usize * width);
        Ok(RrdArchive {
            function,
            resolution,
            end: last_row_end(last_update, resolution),
            width,
            values,
        })
    }
}

/// Returns the text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}
