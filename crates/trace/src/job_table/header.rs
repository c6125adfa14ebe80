//! The columns of a job table and their positions.

use csv::ByteRecord;

use crate::error::ReadError;

/// The columns that tollgate knows, in output order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobTableColumn {
    JobId,
    Submit,
    Runtime,
    Procs,
    Estimate,
    User,
    Group,
    Account,
    Executable,
    Queue,
    Deadline,
    Budget,
    Penalty,
    Wait,
    CpuTime,
    PeakMemory,
    RequestedMemory,
    Status,
}

impl JobTableColumn {
    pub(super) const ALL: [Self; 18] = [
        Self::JobId,
        Self::Submit,
        Self::Runtime,
        Self::Procs,
        Self::Estimate,
        Self::User,
        Self::Group,
        Self::Account,
        Self::Executable,
        Self::Queue,
        Self::Deadline,
        Self::Budget,
        Self::Penalty,
        Self::Wait,
        Self::CpuTime,
        Self::PeakMemory,
        Self::RequestedMemory,
        Self::Status,
    ];
    const REQUIRED: [Self; 4] = [Self::JobId, Self::Submit, Self::Runtime, Self::Procs];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::JobId => "job_id",
            Self::Submit => "submit_s",
            Self::Runtime => "runtime_s",
            Self::Procs => "procs",
            Self::Estimate => "estimate_s",
            Self::User => "user",
            Self::Group => "group",
            Self::Account => "account",
            Self::Executable => "executable",
            Self::Queue => "queue",
            Self::Deadline => "deadline_s",
            Self::Budget => "budget",
            Self::Penalty => "penalty_per_s",
            Self::Wait => "wait_s",
            Self::CpuTime => "cpu_time_s",
            Self::PeakMemory => "peak_memory_bytes",
            Self::RequestedMemory => "requested_memory_bytes",
            Self::Status => "status",
        }
    }
}

/// Returns whether a header cell names a required column of a job table.
pub(crate) fn is_required(cell: &[u8]) -> bool {
    JobTableColumn::REQUIRED
        .iter()
        .any(|column| column.name().as_bytes() == cell)
}

/// The header of one table: the position of each known column, and the other columns.
pub(super) struct JobTableHeader {
    /// The positions by `JobTableColumn as usize`.
    places: [Option<usize>; JobTableColumn::ALL.len()],
    /// Names and positions of the unknown columns, in file order.
    pub(super) extra: Vec<(String, usize)>,
}

impl JobTableHeader {
    /// Parses the header in `record`, which is on `line`.
    pub(super) fn parse(record: &ByteRecord, line: u64) -> Result<Self, ReadError> {
        let mut header = Self {
            places: [None; JobTableColumn::ALL.len()],
            extra: Vec::new(),
        };
        for (place, cell) in record.iter().enumerate() {
            let name = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
            if header.place_of(&name).is_some() {
                return Err(ReadError::DuplicateColumn { line, column: name });
            }
            match JobTableColumn::ALL
                .into_iter()
                .find(|column| column.name() == name)
            {
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

    /// Returns whether `record` repeats the header.
    pub(super) fn is_repeated(&self, record: &ByteRecord) -> bool {
        JobTableColumn::REQUIRED
            .into_iter()
            .all(|column| self.cell(record, column) == Some(column.name().as_bytes()))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let known = JobTableColumn::ALL
            .into_iter()
            .find(|column| column.name() == name);
        match known {
            Some(column) => self.places[column as usize],
            None => self
                .extra
                .iter()
                .find(|(extra, _)| extra == name)
                .map(|&(_, place)| place),
        }
    }
}
