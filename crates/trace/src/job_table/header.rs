//! The columns of a job table and their positions.

use std::borrow::Cow;

use csv::ByteRecord;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::error::ReadError;
use crate::parse_field;
use crate::parse_number::without_thousands;

/// The columns that tollgate knows, in output order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum JobTableColumn {
    JobId,
    #[strum(serialize = "submit_s")]
    Submit,
    #[strum(serialize = "runtime_s")]
    Runtime,
    Procs,
    #[strum(serialize = "estimate_s")]
    Estimate,
    User,
    Group,
    Account,
    Executable,
    Queue,
    #[strum(serialize = "deadline_s")]
    Deadline,
    Budget,
    #[strum(serialize = "penalty_per_s")]
    Penalty,
    #[strum(serialize = "wait_s")]
    Wait,
    #[strum(serialize = "held_s")]
    Held,
    #[strum(serialize = "cpu_time_s")]
    CpuTime,
    #[strum(serialize = "peak_memory_bytes")]
    PeakMemory,
    #[strum(serialize = "requested_memory_bytes")]
    RequestedMemory,
    Status,
}

impl JobTableColumn {
    const REQUIRED: [Self; 4] = [Self::JobId, Self::Submit, Self::Runtime, Self::Procs];

    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the column that a header calls `name`, in upper or lower case.
    fn of_name(name: &str) -> Option<Self> {
        name.to_ascii_lowercase().parse().ok()
    }
}

/// Returns whether a header cell names a required column of a job table.
fn is_required(cell: &[u8]) -> bool {
    JobTableColumn::REQUIRED
        .iter()
        .any(|&column| is_named(cell, column))
}

/// Returns whether a header cell is the name of `column`.
fn is_named(cell: &[u8], column: JobTableColumn) -> bool {
    cell.eq_ignore_ascii_case(column.name().as_bytes())
}

/// Words that other programs write for a missing value; case does not matter.
const MISSING: [&[u8]; 6] = [b"na", b"n/a", b"nan", b"null", b"none", b"-"];

/// Separators of cells, in the order in which they are tried.
const SEPARATORS: [u8; 4] = *b",\t;|";

/// Returns the byte between the cells of a header, if `line` is the header of a job table: one cell
/// names a required column.
pub(crate) fn separator(line: &[u8]) -> Option<u8> {
    SEPARATORS.into_iter().find(|&separator| {
        let mut cells = line.split(|&byte| byte == separator);
        cells.any(|cell| is_required(parse_field::unquoted(cell)))
    })
}

/// The header of one table: the position of each known column, and the other columns.
pub(super) struct JobTableHeader {
    /// The positions by `JobTableColumn as usize`.
    places: [Option<usize>; JobTableColumn::VARIANTS.len()],
    /// Names and positions of the unknown columns, in file order.
    pub(super) extra: Vec<(String, usize)>,
}

impl JobTableHeader {
    /// Parses the header in `record`, which is on `line`.
    pub(super) fn parse(record: &ByteRecord, line: u64) -> Result<Self, ReadError> {
        let mut header = Self {
            places: [None; JobTableColumn::VARIANTS.len()],
            extra: Vec::new(),
        };
        for (place, cell) in record.iter().enumerate() {
            let name = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
            if header.place_of(&name).is_some() {
                return Err(ReadError::DuplicateColumn { line, column: name });
            }
            match JobTableColumn::of_name(&name) {
                Some(column) => header.places[column as usize] = Some(place),
                None => header.extra.push((name, place)),
            }
        }
        match JobTableColumn::REQUIRED
            .into_iter()
            .find(|&column| !header.has(column))
        {
            Some(missing) => Err(ReadError::MissingColumn {
                line,
                column: missing.name(),
            }),
            None => Ok(header),
        }
    }

    pub(super) const fn has(&self, column: JobTableColumn) -> bool {
        self.places[column as usize].is_some()
    }

    /// Returns the cell of `column` in `record`; None if there is no such column or the cell is
    /// empty.
    pub(super) fn cell<'a>(
        &self,
        record: &'a ByteRecord,
        column: JobTableColumn,
    ) -> Option<&'a [u8]> {
        let cell = record.get(self.places[column as usize]?)?.trim_ascii();
        (!cell.is_empty()).then_some(cell)
    }

    /// Returns the number in the cell of `column`, without separators of thousands; None also if the cell
    /// has a word for a missing value.
    pub(super) fn number<'a>(
        &self,
        record: &'a ByteRecord,
        column: JobTableColumn,
    ) -> Option<Cow<'a, [u8]>> {
        let cell = self.cell(record, column)?;
        let is_missing = MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word));
        (!is_missing).then(|| without_thousands(cell))
    }

    /// Returns whether `record` repeats the header.
    pub(super) fn is_repeated(&self, record: &ByteRecord) -> bool {
        JobTableColumn::REQUIRED.into_iter().all(|column| {
            self.cell(record, column)
                .is_some_and(|cell| is_named(cell, column))
        })
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        match JobTableColumn::of_name(name) {
            Some(column) => self.places[column as usize],
            None => self
                .extra
                .iter()
                .find(|(extra, _)| extra == name)
                .map(|&(_, place)| place),
        }
    }
}
