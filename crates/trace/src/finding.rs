//! The kinds of findings of a reader.

use std::fmt;

use crate::record_field::RecordField;

/// The action taken on a finding. The mildest action comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingAction {
    /// The line was left out.
    Skipped,
    /// The line is a part of a job that another line represents.
    Folded,
    /// An impossible value was replaced.
    Repaired,
    /// A missing value was taken from elsewhere.
    Defaulted,
    /// A header line was not used.
    Ignored,
}

impl FindingAction {
    /// Returns the action as it is written in messages and machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Folded => "folded",
            Self::Repaired => "repaired",
            Self::Defaulted => "defaulted",
            Self::Ignored => "ignored",
        }
    }
}

/// A kind of problem with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// An SWF line with fewer than 5 fields: skipped.
    TooFewFields,
    /// A table line with more or fewer fields than the header: skipped.
    FieldCount,
    /// An unclosed quotation mark in a table, which swallows the lines after it: skipped with
    /// these.
    OpenQuote,
    /// A line of more than a mebibyte: skipped.
    LineTooLong,
    /// A repeated header of a table, as when files were concatenated: skipped.
    RepeatedHeader,
    /// Text where a number belongs: skipped.
    NotANumber(RecordField),
    /// A fraction where a whole number belongs: skipped.
    NotWhole(RecordField),
    /// A number that no job can have: skipped.
    OutOfRange(RecordField),
    /// A record with fewer fields than its format has: skipped.
    ShortRecord,
    /// A missing field that a job must have: skipped.
    Missing(RecordField),
    /// Text where a time belongs: skipped.
    NotATime(RecordField),
    /// A job that waits or runs: skipped, since its run time is not known yet.
    NotEnded,
    /// A state that the batch system is not known to have: skipped.
    UnknownState,
    /// A record that violates the notation of its format, such as truncated JSON: skipped.
    Malformed,
    /// An event of a job whose submission is not in the file: skipped.
    NotSubmitted,
    /// A file of a directory that has no known format or no job: skipped.
    UnusableFile,
    /// A line that continues no record and begins none: skipped.
    StrayLine,
    /// Zero bytes, as a file system leaves them after a crash: skipped, with the text that they cut
    /// off.
    ZeroBytes,
    /// A step or a task of a job that is not in the file, or has not ended: skipped.
    PartWithoutJob,
    /// A step of a job, a task of a parallel one or one of its partial executions: folded into the
    /// job's own record.
    PartOfJob,
    /// A job that another file of the directory has as well: counted once.
    SameRecord,
    /// A submit time before that of an earlier line: the job takes its place by submit time
    /// when the workload is run.
    OutOfOrder,
    /// A negative run time other than -1, which means unknown: taken as unknown.
    NegativeRunTime,
    /// An event that is dated before the previous event: taken as at the same time.
    TimeWentBack,
    /// A name that is not UTF-8: invalid bytes were replaced.
    NameNotUtf8,
    /// Allocated processors are missing; requested processors are used instead.
    RequestedProcs,
    /// No number of processors is given: 1.
    OneProc,
    /// The estimate is missing; the run time is used instead.
    RunTimeAsEstimate,
    /// The start is missing; the processor time is used as the run time.
    CpuTimeAsRunTime,
    /// A task of an array without a number of its own: it shares the number of the array.
    SharedNumber,
    /// Columns without a header: a known order that fits was assumed.
    AssumedOrder,
    /// Times of day without a zone, noted for the first record: UTC.
    AssumedUtc,
    /// No run time is given: the job is taken as one that never ran.
    NoRunTime,
    /// An unusable value of an optional field: taken as missing.
    Unusable(RecordField),
    /// An expression in a field that needs its value: taken as missing.
    Expression(RecordField),
    /// Dates without a year, noted for the first: 2000, and one more whenever the months start
    /// again.
    AssumedYear,
    /// A record without a number: the job is numbered by its place in the file.
    AssumedNumber,
    /// A known header directive without a whole number after it.
    DirectiveNotANumber,
    /// A header directive that contradicts an earlier one: the first counts.
    ConflictingDirective,
}

impl Finding {
    /// Returns the action taken on the finding.
    pub const fn action(self) -> FindingAction {
        match self {
            Self::TooFewFields
            | Self::FieldCount
            | Self::OpenQuote
            | Self::LineTooLong
            | Self::RepeatedHeader
            | Self::NotANumber(_)
            | Self::NotWhole(_)
            | Self::OutOfRange(_)
            | Self::ShortRecord
            | Self::Missing(_)
            | Self::NotATime(_)
            | Self::NotEnded
            | Self::UnknownState
            | Self::Malformed
            | Self::NotSubmitted
            | Self::UnusableFile
            | Self::StrayLine
            | Self::ZeroBytes
            | Self::PartWithoutJob => FindingAction::Skipped,
            Self::PartOfJob | Self::SameRecord => FindingAction::Folded,
            Self::OutOfOrder | Self::NegativeRunTime | Self::TimeWentBack | Self::NameNotUtf8 => {
                FindingAction::Repaired
            }
            Self::RequestedProcs
            | Self::OneProc
            | Self::RunTimeAsEstimate
            | Self::CpuTimeAsRunTime
            | Self::SharedNumber
            | Self::AssumedOrder
            | Self::AssumedUtc
            | Self::NoRunTime
            | Self::Unusable(_)
            | Self::Expression(_)
            | Self::AssumedYear
            | Self::AssumedNumber => FindingAction::Defaulted,
            Self::DirectiveNotANumber | Self::ConflictingDirective => FindingAction::Ignored,
        }
    }
}

impl Finding {
    /// Returns whether the finding is about a fault of the record. Sound records have other findings as
    /// well: steps, jobs that have not ended, values that the format does not have.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::NotEnded
            | Self::PartWithoutJob
            | Self::RepeatedHeader
            | Self::PartOfJob
            | Self::SameRecord
            | Self::OutOfOrder
            | Self::RequestedProcs
            | Self::OneProc
            | Self::RunTimeAsEstimate
            | Self::SharedNumber
            | Self::AssumedOrder
            | Self::AssumedUtc
            | Self::Expression(_)
            | Self::AssumedYear
            | Self::AssumedNumber => false,
            Self::TooFewFields
            | Self::FieldCount
            | Self::OpenQuote
            | Self::LineTooLong
            | Self::NotANumber(_)
            | Self::NotWhole(_)
            | Self::OutOfRange(_)
            | Self::ShortRecord
            | Self::Missing(_)
            | Self::NotATime(_)
            | Self::UnknownState
            | Self::Malformed
            | Self::NotSubmitted
            | Self::UnusableFile
            | Self::StrayLine
            | Self::ZeroBytes
            | Self::NegativeRunTime
            | Self::TimeWentBack
            | Self::NameNotUtf8
            | Self::CpuTimeAsRunTime
            | Self::NoRunTime
            | Self::Unusable(_)
            | Self::DirectiveNotANumber
            | Self::ConflictingDirective => true,
        }
    }

    /// Returns the field that the finding is about, if there is one.
    pub const fn field(self) -> Option<RecordField> {
        match self {
            Self::NotANumber(field)
            | Self::NotWhole(field)
            | Self::OutOfRange(field)
            | Self::Missing(field)
            | Self::NotATime(field)
            | Self::Unusable(field)
            | Self::Expression(field) => Some(field),
            Self::OutOfOrder => Some(RecordField::Submit),
            Self::NegativeRunTime | Self::NoRunTime | Self::CpuTimeAsRunTime => {
                Some(RecordField::RunTime)
            }
            Self::RequestedProcs | Self::OneProc => Some(RecordField::Procs),
            Self::RunTimeAsEstimate => Some(RecordField::Estimate),
            Self::SharedNumber | Self::AssumedNumber => Some(RecordField::JobNumber),
            Self::TooFewFields
            | Self::FieldCount
            | Self::OpenQuote
            | Self::LineTooLong
            | Self::RepeatedHeader
            | Self::ShortRecord
            | Self::NotEnded
            | Self::UnknownState
            | Self::Malformed
            | Self::NotSubmitted
            | Self::UnusableFile
            | Self::TimeWentBack
            | Self::AssumedYear
            | Self::StrayLine
            | Self::ZeroBytes
            | Self::PartWithoutJob
            | Self::PartOfJob
            | Self::SameRecord
            | Self::NameNotUtf8
            | Self::AssumedOrder
            | Self::AssumedUtc
            | Self::DirectiveNotANumber
            | Self::ConflictingDirective => None,
        }
    }
}

/// Writes the finding in words, to follow "12 lines skipped: ".
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewFields => f.write_str("fewer than 5 fields"),
            Self::FieldCount => f.write_str("not as many fields as the header has"),
            Self::OpenQuote => {
                f.write_str("a quotation mark that is not closed takes the lines after it along")
            }
            Self::LineTooLong => f.write_str("longer than 1 MiB"),
            Self::RepeatedHeader => f.write_str("the header once more"),
            Self::NotANumber(field) => write!(f, "{} is not a number", field.name()),
            Self::NotWhole(field) => write!(f, "{} is not a whole number", field.name()),
            Self::OutOfRange(field) => {
                write!(
                    f,
                    "{} out of range, expected {}",
                    field.name(),
                    field.range()
                )
            }
            Self::ShortRecord => f.write_str("fewer fields than a record of this format has"),
            Self::Missing(field) => write!(f, "{} is missing", field.name()),
            Self::NotATime(field) => write!(f, "{} is not a time", field.name()),
            Self::NotEnded => f.write_str("the job has not ended"),
            Self::UnknownState => f.write_str("unknown state"),
            Self::Malformed => f.write_str("not in the notation of the format"),
            Self::NotSubmitted => f.write_str("an event of a job that was not submitted before"),
            Self::UnusableFile => f.write_str("a file of no known format, or without a job"),
            Self::StrayLine => f.write_str("belongs to no record"),
            Self::ZeroBytes => f.write_str("zero bytes, as a crash leaves them"),
            Self::PartWithoutJob => {
                f.write_str("a part of a job that is not in the file or has not ended")
            }
            Self::PartOfJob => f.write_str("a part of a job with a record of its own"),
            Self::SameRecord => f.write_str("a job that another file has as well"),
            Self::OutOfOrder => f.write_str("submit times out of order, jobs sorted by them"),
            Self::NegativeRunTime => f.write_str("negative run time, taken as never run"),
            Self::TimeWentBack => f.write_str("an event dated before the one it follows"),
            Self::NameNotUtf8 => f.write_str("a name that is not UTF-8"),
            Self::RequestedProcs => f.write_str("requested processors for lack of allocated ones"),
            Self::OneProc => f.write_str("1 processor for lack of any number of them"),
            Self::RunTimeAsEstimate => f.write_str("the run time for lack of an estimate"),
            Self::CpuTimeAsRunTime => f.write_str("the processor time for lack of a start"),
            Self::SharedNumber => f.write_str("the array's number for lack of one of its own"),
            Self::AssumedOrder => f.write_str("a known order of columns for lack of a header"),
            Self::AssumedUtc => f.write_str("UTC for lack of a zone"),
            Self::NoRunTime => f.write_str("no run time, taken as never run"),
            Self::Unusable(field) => write!(
                f,
                "{} taken as missing, expected {}",
                field.name(),
                field.range()
            ),
            Self::Expression(field) => {
                write!(f, "{} is an expression, taken as missing", field.name())
            }
            Self::AssumedYear => f.write_str("the year 2000 and those after it for lack of one"),
            Self::AssumedNumber => f.write_str("the place in the file for lack of a job number"),
            Self::DirectiveNotANumber => f.write_str("no number in a header directive"),
            Self::ConflictingDirective => {
                f.write_str("a header directive contradicts an earlier one")
            }
        }
    }
}
