//! The columns of a job table and their positions.

use std::borrow::Cow;

use csv::ByteRecord;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::error::ReadError;
use crate::parse_field;

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
}

/// Returns whether a header cell names a required column of a job table.
fn is_required(cell: &[u8]) -> bool {
    JobTableColumn::REQUIRED
        .iter()
        .any(|column| column.name().as_bytes() == cell)
}

/// Words that other programs write for a missing value; case does not matter.
const MISSING: [&[u8]; 6] = [b"na", b"n/a", b"nan", b"null", b"none", b"-"];

/// Returns a number such as `1,234,567.5` without its commas; any other text as it is.
fn without_thousands(cell: &[u8]) -> Cow<'_, [u8]> {
    if !cell.contains(&b',') {
        return Cow::Borrowed(cell);
    }
    let point = cell.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = cell.split_at(point.unwrap_or(cell.len()));
    let mut groups = whole.split(|&byte| byte == b',');
    let is_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let first = groups.next().unwrap_or_default();
    let is_grouped = (1..=3).contains(&first.len())
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group));
    if !is_grouped {
        return Cow::Borrowed(cell);
    }
    let digits = whole.iter().copied().filter(|&byte| byte != b',');
    Cow::Owned(digits.chain(fraction.iter().copied()).collect())
}

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
            match name.parse::<JobTableColumn>() {
                Ok(column) => header.places[column as usize] = Some(place),
                Err(_) => header.extra.push((name, place)),
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
        JobTableColumn::REQUIRED
            .into_iter()
            .all(|column| self.cell(record, column) == Some(column.name().as_bytes()))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        match name.parse::<JobTableColumn>() {
            Ok(column) => self.places[column as usize],
            Err(_) => self
                .extra
                .iter()
                .find(|(extra, _)| extra == name)
                .map(|&(_, place)| place),
        }
    }
}
