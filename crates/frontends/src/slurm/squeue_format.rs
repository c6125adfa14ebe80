//! The formats of `squeue`: `-o '%.18i %.9P'` and `-O jobid:10,name`.

use super::error::SlurmError;
use super::field::{FieldContext, JobField, PromiseField, TimeField};
use super::row::SlurmRow;
use super::squeue_fields::{LETTERS, NAMES};

/// The tool in messages.
const TOOL: &str = "squeue";
/// The default format.
pub const DEFAULT_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
/// The format of `-l`.
pub const LONG_FORMAT: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
/// The format of `--start`.
pub const START_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
/// The columns that `--start -l` has besides, in the words of `-O`.
pub const PROMISE_COLUMNS: &str = "deadline:.20,probability:.6,earliestend:.20,latestend:.20";

/// A column: a field with its width, and the text behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SqueueColumn {
    header: &'static str,
    field: JobField,
    /// The width; None for that of the value.
    width: Option<usize>,
    is_right: bool,
    suffix: String,
}

/// A format: a text before the first column, and the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqueueFormat {
    prefix: String,
    columns: Vec<SqueueColumn>,
}

/// The default width of a column of `-O`.
const DEFAULT_WIDTH: usize = 20;
/// The maximum width of a column.
const MAX_WIDTH: usize = 4096;

impl SqueueFormat {
    /// Parses the format of `-o`: `%[[.]size]letter` with text between.
    ///
    /// # Errors
    /// The first letter that stands for nothing.
    pub fn of_letters(format: &str) -> Result<Self, SlurmError> {
        let mut parsed = Self::default();
        let mut rest = format;
        while let Some((before, behind)) = rest.split_once('%') {
            parsed.add_text(before);
            let (is_right, behind) = match behind.strip_prefix('.') {
                Some(behind) => (true, behind),
                None => (false, behind),
            };
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (width, behind) = behind.split_at(digits);
            let width = width.parse::<usize>().ok();
            let Some(letter) = behind.chars().next() else {
                rest = "";
                break;
            };
            let found = LETTERS.iter().find(|(known, _, _)| *known == letter);
            let Some((_, header, field)) = found else {
                let message = format!("Invalid job format specification: {letter}");
                return Err(SlurmError::of(TOOL, message));
            };
            parsed.columns.push(SqueueColumn {
                header,
                field: *field,
                width: width
                    .map(|width| width.min(MAX_WIDTH))
                    .filter(|width| *width > 0),
                is_right,
                suffix: String::new(),
            });
            rest = &behind[letter.len_utf8()..];
        }
        parsed.add_text(rest);
        Ok(parsed)
    }

    /// Parses the format of `-O`: `name[:[.][size][suffix]]` with commas between.
    ///
    /// # Errors
    /// The first name that stands for nothing.
    pub fn of_names(format: &str) -> Result<Self, SlurmError> {
        let mut parsed = Self::default();
        for part in format.split(',').filter(|part| !part.trim().is_empty()) {
            parsed.add_name(part)?;
        }
        Ok(parsed)
    }

    /// Adds columns in the words of `-O`, each behind a blank.
    ///
    /// # Errors
    /// As [`Self::of_names`].
    pub fn add_names(&mut self, format: &str) -> Result<(), SlurmError> {
        for part in format.split(',') {
            self.add_text(" ");
            self.add_name(part)?;
        }
        Ok(())
    }

    fn add_name(&mut self, part: &str) -> Result<(), SlurmError> {
        let (name, layout) = match part.split_once(':') {
            Some((name, layout)) => (name.trim(), Some(layout)),
            None => (part.trim(), None),
        };
        let lower = name.to_ascii_lowercase();
        let found = NAMES.iter().find(|(known, _, _)| {
            let plain = known.replace(['-', '_'], "");
            *known == lower || plain == lower.replace(['-', '_'], "")
        });
        let Some((_, header, field)) = found else {
            let message = format!("Invalid job format specification: {name}");
            return Err(SlurmError::of(TOOL, message));
        };
        let layout_text = layout.unwrap_or_default();
        let (is_right, behind) = match layout_text.strip_prefix('.') {
            Some(behind) => (true, behind),
            None => (false, layout_text),
        };
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (width, suffix) = behind.split_at(digits);
        // A suffix alone tells columns apart, so that no width is needed.
        let width = match (width.parse::<usize>().ok(), suffix.is_empty()) {
            (Some(width), _) => Some(width.min(MAX_WIDTH)).filter(|width| *width > 0),
            (None, true) => Some(DEFAULT_WIDTH),
            (None, false) => None,
        };
        self.columns.push(SqueueColumn {
            header,
            field: *field,
            width,
            is_right,
            suffix: suffix.to_owned(),
        });
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        match self.columns.last_mut() {
            Some(last) => last.suffix.push_str(text),
            None => self.prefix.push_str(text),
        }
    }

    /// Returns whether a column shows what only a forecast knows.
    pub fn needs_forecast(&self) -> bool {
        let is_forecast = |column: &SqueueColumn| {
            matches!(
                column.field,
                JobField::Time(TimeField::Start)
                    | JobField::Time(TimeField::End)
                    | JobField::Promise(PromiseField::Probability)
                    | JobField::Promise(PromiseField::EarliestEnd)
                    | JobField::Promise(PromiseField::LatestEnd)
            )
        };
        self.columns.iter().any(is_forecast)
    }

    /// Returns the line with the names of the columns.
    pub fn header(&self) -> String {
        self.line(|column| column.header.to_owned())
    }

    /// Returns the line of a row.
    pub fn row(&self, row: &SlurmRow, context: &FieldContext) -> String {
        self.line(|column| column.field.value(row, context))
    }

    fn line(&self, text: impl Fn(&SqueueColumn) -> String) -> String {
        let mut line = self.prefix.clone();
        for column in &self.columns {
            let text = text(column);
            match column.width {
                None => line.push_str(&text),
                Some(width) => {
                    let cut: String = text.chars().take(width).collect();
                    match column.is_right {
                        true => line.push_str(&format!("{cut:>width$}")),
                        false => line.push_str(&format!("{cut:<width$}")),
                    }
                }
            }
            line.push_str(&column.suffix);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::field::MemoryUnit;
    use super::super::fixtures::job;
    use super::super::row::SlurmClock;
    use super::*;

    fn context() -> FieldContext {
        FieldContext {
            clock: SlurmClock {
                now: "2026-12-01T10:00:02Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            units: MemoryUnit::default(),
        }
    }

    fn row() -> SlurmRow {
        let running = serde_json::json!({
            "state": "running", "started_at": "2026-12-01T10:00:00Z", "time_limit_s": 300.0, "host": "n1",
            "memory_bytes": 100 << 20,
        });
        SlurmRow::of_job(job(running)).unwrap()
    }

    #[test]
    fn default_format_is_that_of_slurm() {
        let format = SqueueFormat::of_letters(DEFAULT_FORMAT).unwrap();
        assert_eq!(
            format.header(),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
        );
        assert_eq!(
            format.row(&row(), &context()),
            "                 7  tollgate      sim      mia  R       0:02      1 n1"
        );
        let long = SqueueFormat::of_letters(LONG_FORMAT).unwrap().header();
        assert!(long.contains(" TIME_LIMI "), "{long}");
    }

    #[test]
    fn text_between_letters_stays() {
        let line = |format| {
            let format = SqueueFormat::of_letters(format).unwrap();
            format.row(&row(), &context())
        };
        assert_eq!(line("%i|%T"), "7|RUNNING");
        assert_eq!(line("\"%i\",\"%j\""), "\"7\",\"sim\"");
        assert_eq!(line("%5i%.3j%1T."), "7    simR.");
        assert_eq!(
            line("%S %e %l %L %m"),
            "2026-12-01T10:00:00 2026-12-01T10:05:00 5:00 4:58 100M"
        );
        assert_eq!(line("%K %k %B"), "N/A (null) n1");
        assert_eq!(SqueueFormat::of_letters("%y").unwrap_err().code, 1);
    }

    #[test]
    fn names_have_widths_and_suffixes() {
        let line = |format| {
            let format = SqueueFormat::of_names(format).unwrap();
            format.row(&row(), &context())
        };
        assert_eq!(
            line("jobid:5,name:.6,state"),
            "7       simRUNNING             "
        );
        assert_eq!(line("JobID:|,Name:|,StateCompact:|"), "7|sim|R|");
        assert_eq!(
            line("Deadline:\u{1f},Probability:\u{1f}"),
            "N/A\u{1f}N/A\u{1f}"
        );
        assert!(SqueueFormat::of_names("nonsense").is_err());
    }

    #[test]
    fn every_letter_and_name_stands_for_one_field() {
        for (at, (letter, _, _)) in LETTERS.iter().enumerate() {
            assert!(
                LETTERS[at + 1..]
                    .iter()
                    .all(|(other, _, _)| other != letter)
            );
        }
        assert!(NAMES.is_sorted_by(|left, right| left.0 < right.0));
    }
}
