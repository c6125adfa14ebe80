//! The fields of one line. Names and requests may hold the separator, so that fields are counted from
//! both ends.

use crate::finding::Finding;
use crate::trace_metadata::RecordNames;

/// Fields that every version has: up to `pe_taskid`.
const FIELDS: usize = 42;

/// Numbers of fields of the versions: SGE and OGE, Univa, and others without the last fields.
const VERSIONS: [usize; 5] = [45, 54, 44, 43, FIELDS];

/// The first fields of a record, which end with the name of the job.
const NAME: usize = 4;

/// Minimum number of digits of a submission time, which is that of 1973.
const INSTANT_DIGITS: usize = 9;

/// The field of the requests.
const CATEGORY: usize = 39;

/// The fields of a record that are used, as text.
pub(super) struct GridEngineRecord<'a> {
    pub(super) names: RecordNames<'a>,
    pub(super) number: &'a [u8],
    /// The number of the task of an array; 0 for a job of its own.
    pub(super) task: &'a [u8],
    pub(super) submit: &'a [u8],
    pub(super) start: &'a [u8],
    pub(super) end: &'a [u8],
    pub(super) failed: &'a [u8],
    pub(super) exit_status: &'a [u8],
    pub(super) slots: &'a [u8],
    pub(super) cpu: &'a [u8],
    pub(super) category: &'a [u8],
    pub(super) pe_task: &'a [u8],
    /// Peak virtual memory, in bytes.
    pub(super) max_vmem: &'a [u8],
    /// Peak resident memory, in bytes; only Univa has it.
    pub(super) max_rss: Option<&'a [u8]>,
}

impl<'a> GridEngineRecord<'a> {
    /// Splits a line into its fields.
    ///
    /// # Errors
    /// If there are too few.
    pub(super) fn split(text: &'a [u8]) -> Result<Self, Finding> {
        let pieces = Pieces::of(text);
        let n_pieces = pieces.ends.len();
        if n_pieces < FIELDS {
            return Err(Finding::ShortRecord);
        }
        // The fewest colons in the name with which the fields behind it have their shapes, those that a job
        // must have first. None if there is no such way, so that the damaged field is reported.
        let ways = || 0..=n_pieces - FIELDS;
        let in_name = ways().find(|&extra| pieces.needed_fit(extra));
        let in_name = in_name.or_else(|| ways().find(|&extra| pieces.fit_behind_name(extra)));
        let in_name = in_name.unwrap_or(0);
        let spare = n_pieces - in_name;
        let mut in_category = VERSIONS.iter().filter_map(|&width| {
            let extra = spare.checked_sub(width)?;
            pieces.fit_behind_category(in_name + extra).then_some(extra)
        });
        let in_category = in_category.next().unwrap_or(0);
        let early = |field: usize| pieces.at(field + in_name);
        let late = |field: usize| pieces.get(field + in_name + in_category);
        let account = match (early(6), early(31)) {
            (b"sge" | b"", b"NONE") => &[],
            (b"sge" | b"", project) => project,
            (account, _) => account,
        };
        Ok(Self {
            names: RecordNames {
                queue: pieces.at(0),
                group: pieces.at(2),
                user: pieces.at(3),
                account,
                executable: pieces.joined(NAME, NAME + in_name).into(),
            },
            number: early(5),
            task: early(35),
            submit: early(8),
            start: early(9),
            end: early(10),
            failed: early(11),
            exit_status: early(12),
            slots: early(34),
            cpu: early(36),
            category: pieces.joined(CATEGORY + in_name, CATEGORY + in_name + in_category),
            pe_task: late(41).unwrap_or_default(),
            max_vmem: late(42).unwrap_or(b"-1"),
            // Two fields of advance reservations and two fields that only Univa has come before it.
            max_rss: late(47),
        })
    }
}

/// Returns whether `line` has exactly the fields of a version, with the shapes that they have.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let pieces = Pieces::of(line);
    VERSIONS[..2].contains(&pieces.ends.len())
        && pieces.fit_behind_name(0)
        && pieces.fit_behind_category(0)
}

/// Returns whether the text is a whole number without a sign.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn is_decimal(text: &[u8]) -> bool {
    crate::parse_number::millionths(text).is_ok()
}

/// The text between colons.
struct Pieces<'a> {
    text: &'a [u8],
    /// The position behind each piece.
    ends: Vec<usize>,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a [u8]) -> Self {
        let ends = memchr::memchr_iter(b':', text).chain([text.len()]);
        Self {
            text,
            ends: ends.collect(),
        }
    }

    /// Returns whether the fields that a job must have fit if the name has this number of colons. They are a
    /// number, and instants, of which those of the start and the end may be 0. So does the priority between
    /// them.
    fn needed_fit(&self, extra: usize) -> bool {
        let field = |field: usize| self.at(field + extra);
        let is_instant = |text: &[u8]| is_number(text) && text.len() >= INSTANT_DIGITS;
        let is_end = |text: &[u8]| text == b"0" || is_instant(text);
        is_number(field(5))
            && is_decimal(field(7))
            && is_instant(field(8))
            && [9, 10].into_iter().all(|at| is_end(field(at)))
    }

    /// Returns whether the fields have their shapes if the name has this number of colons: a number, a
    /// priority, the instants in seconds or less, two codes and the slots.
    fn fit_behind_name(&self, extra: usize) -> bool {
        let field = |field: usize| self.at(field + extra);
        // Further behind, other numbers might pass for the submission time.
        let is_instant = extra == 0 || field(8).len() >= INSTANT_DIGITS;
        is_instant
            && [5, 8, 9, 10, 11, 12, 34]
                .into_iter()
                .all(|at| is_number(field(at)))
            && is_decimal(field(7))
    }

    /// Returns whether the fields behind the requests have their shapes, which this number of colons
    /// moves: a wait, the task of a parallel job, and a peak.
    fn fit_behind_category(&self, shift: usize) -> bool {
        let task = self.at(41 + shift);
        let is_task = task == b"NONE" || (task.contains(&b'.') && !is_decimal(task));
        is_decimal(self.at(CATEGORY + 1 + shift))
            && is_task
            && self.get(FIELDS + shift).is_none_or(is_decimal)
    }

    fn get(&self, place: usize) -> Option<&'a [u8]> {
        (place < self.ends.len()).then(|| self.joined(place, place))
    }

    /// Returns the piece at a place that exists.
    fn at(&self, place: usize) -> &'a [u8] {
        self.joined(place, place)
    }

    /// Returns the pieces from `first` to `last`, with the colons between them.
    fn joined(&self, first: usize, last: usize) -> &'a [u8] {
        let start = first
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] + 1);
        &self.text[start..self.ends[last]]
    }
}
