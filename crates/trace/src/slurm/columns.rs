//! The columns of `sacct -P` and their positions.

use std::array;

use strum::{IntoStaticStr, VariantArray};

use crate::diagnostics::{Finding, RecordField};
use crate::parse_time;

/// The columns that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub(super) enum SacctColumn {
    #[strum(serialize = "JobID")]
    JobId,
    #[strum(serialize = "JobIDRaw")]
    JobIdRaw,
    JobName,
    User,
    Group,
    Account,
    Partition,
    State,
    Submit,
    Start,
    End,
    Elapsed,
    Timelimit,
    #[strum(serialize = "AllocCPUS")]
    AllocCpus,
    #[strum(serialize = "NCPUS")]
    NCpus,
    #[strum(serialize = "ReqCPUS")]
    ReqCpus,
    ReqMem,
    #[strum(serialize = "ReqTRES")]
    ReqTres,
    #[strum(serialize = "MaxRSS")]
    MaxRss,
    #[strum(serialize = "TotalCPU")]
    TotalCpu,
    #[strum(serialize = "TRESUsageInTot")]
    UsageInTot,
    NTasks,
    NNodes,
}

impl SacctColumn {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// The order in which Open XDMoD requests columns.
const XDMOD: &[u8] = b"JobID|JobIDRaw|Cluster|Partition|QOS|Account|Group|GID|User|UID|Submit|\
    Eligible|Start|End|Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|\
    Timelimit|NodeList|JobName";

/// The order of AWS's HPC Cost Simulator, whose older versions do not request the last column.
const COST_SIMULATOR: &[u8] = b"State|JobID|ReqCPUS|ReqMem|ReqNodes|Constraints|Submit|Eligible|\
    Start|Elapsed|Suspended|End|ExitCode|DerivedExitCode|AllocNodes|NCPUS|MaxDiskRead|\
    MaxDiskWrite|MaxPages|MaxRSS|MaxVMSize|MinCPU|SystemCPU|UserCPU|TotalCPU|Partition";

/// The position of each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SacctHeader {
    /// The positions by `SacctColumn as usize`.
    places: [Option<usize>; SacctColumn::VARIANTS.len()],
    width: usize,
    /// Number of trailing columns that a line may leave out.
    optional: usize,
}

impl SacctHeader {
    /// Parses a header: a line with bars in which one column is the job's identifier.
    pub(super) fn of_header(line: &[u8]) -> Option<Self> {
        let names = || cells(line).map(<[u8]>::trim_ascii);
        let place = |column: SacctColumn| {
            names().position(|name| name.eq_ignore_ascii_case(column.name().as_bytes()))
        };
        let width = names().count();
        let is_header = width > 1
            && [SacctColumn::JobId, SacctColumn::JobIdRaw]
                .into_iter()
                .any(|id| place(id).is_some());
        is_header.then(|| Self {
            places: array::from_fn(|at| place(SacctColumn::VARIANTS[at])),
            width,
            optional: 0,
        })
    }

    /// Returns the first known order that `line` fits.
    pub(super) fn known_order(line: &[u8]) -> Option<Self> {
        let orders = [(XDMOD, 0), (COST_SIMULATOR, 1)].into_iter();
        orders
            .filter_map(|(header, optional)| {
                let columns = Self::of_header(header)?;
                Some(Self {
                    optional,
                    ..columns
                })
            })
            .find(|columns| columns.fits(line))
    }

    fn fits(&self, line: &[u8]) -> bool {
        let Ok(record) = self.split(line) else {
            return false;
        };
        let starts = |column, is: fn(&u8) -> bool| {
            let cell: Option<&[u8]> = record.get(column);
            cell.and_then(<[u8]>::first).is_some_and(is)
        };
        let submit = record.get(SacctColumn::Submit).unwrap_or_default();
        starts(SacctColumn::JobId, u8::is_ascii_digit)
            && starts(SacctColumn::State, u8::is_ascii_uppercase)
            && parse_time::instant(submit, RecordField::Submit).is_ok()
    }

    /// Splits `line` into cells. A bar in a name is recognised only if the name comes last.
    pub(super) fn split<'a>(&self, line: &'a [u8]) -> Result<SacctRecord<'a>, Finding> {
        let mut cells = [None; SacctColumn::VARIANTS.len()];
        let name_last = self.places[SacctColumn::JobName as usize] == Some(self.width - 1);
        let mut width = 0;
        for (place, cell) in cells_up_to(line, self.width).enumerate() {
            width += 1;
            let bars = place + 1 == self.width && cell.contains(&b'|');
            if bars && !name_last {
                return Err(Finding::FieldCount);
            }
            if let Some(at) = self.places.iter().position(|&at| at == Some(place)) {
                cells[at] = Some(cell.trim_ascii()).filter(|cell| !cell.is_empty());
            }
        }
        if width + self.optional < self.width {
            return Err(Finding::FieldCount);
        }
        Ok(SacctRecord { cells })
    }
}

/// The cells of one line that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SacctRecord<'a> {
    /// The cells by `SacctColumn as usize`.
    cells: [Option<&'a [u8]>; SacctColumn::VARIANTS.len()],
}

impl<'a> SacctRecord<'a> {
    /// Returns the cell of `column`; None if there is no such column or the cell is empty.
    pub(super) const fn get(&self, column: SacctColumn) -> Option<&'a [u8]> {
        self.cells[column as usize]
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b'|')
}

fn cells_up_to(line: &[u8], width: usize) -> impl Iterator<Item = &[u8]> {
    line.splitn(width, |&byte| byte == b'|')
}
