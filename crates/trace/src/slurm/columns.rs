//! The columns of `sacct -P`, their separator and their positions.

use std::array;

use memchr::memchr_iter;
use strum::{IntoStaticStr, VariantArray};

use crate::finding::Finding;
use crate::parse_time;
use crate::record_field::RecordField;

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
    Eligible,
    Start,
    End,
    Elapsed,
    ElapsedRaw,
    Timelimit,
    TimelimitRaw,
    #[strum(serialize = "AllocCPUS")]
    AllocCpus,
    #[strum(serialize = "NCPUS")]
    NCpus,
    #[strum(serialize = "ReqCPUS")]
    ReqCpus,
    ReqMem,
    #[strum(serialize = "ReqTRES")]
    ReqTres,
    #[strum(serialize = "AllocTRES")]
    AllocTres,
    #[strum(serialize = "MaxRSS")]
    MaxRss,
    #[strum(serialize = "TotalCPU")]
    TotalCpu,
    #[strum(serialize = "TRESUsageInTot")]
    UsageInTot,
    NTasks,
    NNodes,
    NodeList,
    #[strum(serialize = "UID")]
    UserId,
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

/// Columns whose text may contain the separator: people choose it.
const FREE_TEXT: [&str; 12] = [
    "JobName",
    "SubmitLine",
    "Comment",
    "AdminComment",
    "SystemComment",
    "WorkDir",
    "Extra",
    "StdIn",
    "StdOut",
    "StdErr",
    "Constraints",
    "Container",
];

/// Bytes between the cells, as `--delimiter` sets them. Commas are not among them: lists of hosts and of
/// resources have commas.
const SEPARATORS: [u8; 4] = *b"|\t;^";

/// The position of each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SacctHeader {
    /// The byte between the cells.
    separator: u8,
    /// The positions by `SacctColumn as usize`.
    places: [Option<usize>; SacctColumn::VARIANTS.len()],
    width: usize,
    /// The positions of columns whose text may contain the separator.
    free_text: Vec<usize>,
    /// Number of trailing columns that a line may leave out.
    optional: usize,
}

impl SacctHeader {
    /// Parses a header: a line with separators in which one column is the job's identifier.
    pub(super) fn of_header(line: &[u8]) -> Option<Self> {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b' ';
        let separator = *line.iter().find(|byte| !is_name(byte))?;
        if !SEPARATORS.contains(&separator) {
            return None;
        }
        let names = || cells(line, separator).map(<[u8]>::trim_ascii);
        let place = |column: SacctColumn| {
            names().position(|name| name.eq_ignore_ascii_case(column.name().as_bytes()))
        };
        let width = names().count();
        let is_header = width > 1
            && [SacctColumn::JobId, SacctColumn::JobIdRaw]
                .into_iter()
                .any(|id| place(id).is_some());
        let is_free = |name: &[u8]| {
            let mut known = FREE_TEXT.iter();
            known.any(|free| name.eq_ignore_ascii_case(free.as_bytes()))
        };
        let free_text = || (0..).zip(names()).filter(|(_, name)| is_free(name));
        is_header.then(|| Self {
            separator,
            places: array::from_fn(|at| place(SacctColumn::VARIANTS[at])),
            width,
            free_text: free_text().map(|(place, _)| place).collect(),
            optional: 0,
        })
    }

    /// Returns whether `line` is the rest of a record that has begun with `first`: neither is whole,
    /// and together they have at most as many cells as the header.
    pub(super) fn continues(&self, first: &[u8], line: &[u8]) -> bool {
        let [first, line] = [first, line].map(|part| cells(part, self.separator).count());
        let least = self.width - self.optional;
        first < least && line < least && first + line - 1 <= self.width
    }

    /// Returns the first known order that `line` fits.
    pub(super) fn known_order(line: &[u8]) -> Option<Self> {
        let layouts = [(XDMOD, 0), (COST_SIMULATOR, 1)].into_iter();
        layouts
            .filter_map(|(header, optional)| {
                let columns = Self::of_header(header)?;
                Some(Self {
                    optional,
                    ..columns
                })
            })
            .find(|columns| columns.fits(line))
    }

    /// Returns whether `line` is a whole record of a job with the identifier, the state and the
    /// submission in their columns.
    pub(super) fn fits(&self, line: &[u8]) -> bool {
        let Ok(record) = self.split(line) else {
            return false;
        };
        let starts = |column, is: fn(&u8) -> bool| {
            let cell: Option<&[u8]> = record.get(column);
            cell.and_then(<[u8]>::first).is_some_and(is)
        };
        starts(SacctColumn::JobId, u8::is_ascii_digit)
            && starts(SacctColumn::State, u8::is_ascii_uppercase)
            && record.get(SacctColumn::Submit).is_some()
            && record.is_plausible()
    }

    /// Splits `line` into cells. Separators beyond those of the header belong to a name, wherever the name
    /// stands: the cells before and behind it tell which.
    pub(super) fn split<'a>(&self, line: &'a [u8]) -> Result<SacctRecord<'a>, Finding> {
        let n_cells = cells(line, self.separator).count();
        if n_cells + self.optional < self.width {
            return Err(Finding::FieldCount);
        }
        let Some(extra) = n_cells.checked_sub(self.width).filter(|&extra| extra > 0) else {
            return Ok(self.assign(line, None));
        };
        if let [place] = self.free_text[..] {
            return Ok(self.assign(line, Some((place, extra))));
        }
        let ways = self.free_text.iter();
        let mut ways = ways
            .map(|&place| self.assign(line, Some((place, extra))))
            .filter(SacctRecord::is_plausible);
        match (ways.next(), ways.next()) {
            (Some(record), None) => Ok(record),
            _ => Err(Finding::FieldCount),
        }
    }

    /// Assigns the cells of `line` to the columns; the cell at a place may have further separators.
    fn assign<'a>(&self, line: &'a [u8], wide: Option<(usize, usize)>) -> SacctRecord<'a> {
        let mut found = [None; SacctColumn::VARIANTS.len()];
        let mut rest = Some(line);
        for place in 0..self.width {
            let Some(text) = rest else { break };
            let bars = wide.map_or(0, |(at, extra)| if at == place { extra } else { 0 });
            let end = memchr_iter(self.separator, text).nth(bars);
            let (cell, behind) =
                end.map_or((text, None), |end| (&text[..end], Some(&text[end + 1..])));
            rest = behind;
            if let Some(at) = self.places.iter().position(|&at| at == Some(place)) {
                found[at] = Some(cell.trim_ascii()).filter(|cell| !cell.is_empty());
            }
        }
        SacctRecord { cells: found }
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

    /// Returns whether the cells have the shape of their columns, as far as they have one: what shifts
    /// by a cell does not.
    fn is_plausible(&self) -> bool {
        let all = |column, is: fn(&[u8]) -> bool| self.get(column).is_none_or(is);
        let is_count = |cell: &[u8]| cell.iter().all(u8::is_ascii_digit);
        all(SacctColumn::JobId, |cell| cell[0].is_ascii_digit())
            && all(SacctColumn::State, |cell| cell[0].is_ascii_uppercase())
            && all(SacctColumn::Submit, |cell| {
                parse_time::instant(cell, RecordField::Submit).is_ok()
            })
            && all(SacctColumn::Elapsed, |cell| cell[0].is_ascii_digit())
            && all(SacctColumn::AllocCpus, is_count)
            && all(SacctColumn::NCpus, is_count)
            && all(SacctColumn::NNodes, |cell| cell[0].is_ascii_digit())
    }
}

fn cells(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    line.split(move |&byte| byte == separator)
}
