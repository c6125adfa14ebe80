//! Findings of a reader: data that was skipped, repaired or defaulted, counted by kind.

use std::collections::BTreeMap;
use std::fmt;

use crate::finding::{Finding, FindingAction};

/// Maximum number of line numbers of each kind that are kept for messages.
const LINES_KEPT: usize = 3;

/// The count of a finding and its first occurrences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingTally {
    /// Number of lines.
    pub count: u64,
    /// The first few line numbers, from 1.
    pub lines: Vec<u64>,
    /// The file of each of these lines, if the lines are from several files.
    pub files: Vec<String>,
}

impl FindingTally {
    fn add(&mut self, count: u64, lines: &[u64], file: &str) {
        self.count += count;
        let room = LINES_KEPT.saturating_sub(self.lines.len());
        for &line in lines.iter().take(room) {
            self.lines.push(line);
            self.files.push(file.to_owned());
        }
    }
}

/// One occurrence of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingOccurrence {
    /// The number of the line, from 1.
    pub line: u64,
    /// The problem with the line.
    pub finding: Finding,
}

/// All findings of a reader. Empty for a clean file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    tallies: BTreeMap<Finding, FindingTally>,
    /// Each finding; None unless the caller asked for them.
    each: Option<Vec<FindingOccurrence>>,
}

impl Diagnostics {
    /// Counts `finding` at `line` (from 1).
    pub fn record(&mut self, finding: Finding, line: u64) {
        let tally = self.tallies.entry(finding).or_default();
        tally.count += 1;
        if tally.lines.len() < LINES_KEPT {
            tally.lines.push(line);
        }
        if let Some(each) = &mut self.each {
            each.push(FindingOccurrence { line, finding });
        }
    }

    /// Returns each finding since the previous batch, in order, if a trace is read in batches;
    /// empty otherwise.
    pub fn occurrences(&self) -> &[FindingOccurrence] {
        self.each.as_deref().unwrap_or_default()
    }

    /// Starts keeping each finding.
    pub(crate) fn enable_occurrences(&mut self) {
        self.each.get_or_insert_default();
    }

    /// Removes each kept finding; the tallies stay.
    pub(crate) fn clear_occurrences(&mut self) {
        if let Some(each) = &mut self.each {
            each.clear();
        }
    }

    /// Counts `finding` at `line` of one of several files.
    pub(crate) fn record_in(&mut self, finding: Finding, line: u64, file: &str) {
        let tally = self.tallies.entry(finding).or_default();
        tally.add(1, &[line], file);
    }

    /// Adds the findings of one of several files.
    pub(crate) fn merge_file(&mut self, other: &Self, file: &str) {
        for (finding, tally) in other.iter() {
            let whole = self.tallies.entry(finding).or_default();
            whole.add(tally.count, &tally.lines, file);
        }
    }

    /// Removes a finding that makes no difference to a reader.
    pub fn remove(&mut self, finding: Finding) {
        self.tallies.remove(&finding);
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// Returns the number of lines with `finding`.
    pub fn count(&self, finding: Finding) -> u64 {
        self.tallies.get(&finding).map_or(0, |tally| tally.count)
    }

    /// Returns the number of times that `action` was taken.
    pub fn total(&self, action: FindingAction) -> u64 {
        self.iter()
            .filter(|(finding, _)| finding.action() == action)
            .map(|(_, tally)| tally.count)
            .sum()
    }

    /// Returns every finding with its count, skipped lines first.
    pub fn iter(&self) -> impl Iterator<Item = (Finding, &FindingTally)> {
        self.tallies
            .iter()
            .map(|(&finding, tally)| (finding, tally))
    }
}

/// Writes one line per kind, without a line feed after the last:
/// `12 lines skipped: fewer than 5 fields (lines 7, 9, 23, ..)`.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (finding, tally)) in self.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write_tally(f, finding, tally)?;
        }
        Ok(())
    }
}

fn write_tally(f: &mut fmt::Formatter<'_>, finding: Finding, tally: &FindingTally) -> fmt::Result {
    let plural = if tally.count == 1 { "" } else { "s" };
    let action = finding.action().key();
    let word = if tally.files.is_empty() {
        format!("line{plural} ")
    } else {
        String::new()
    };
    write!(
        f,
        "{} line{plural} {action}: {finding} ({word}",
        tally.count
    )?;
    for (at, line) in tally.lines.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        match tally.files.get(at) {
            Some(file) => write!(f, "{comma}{file}:{line}")?,
            None => write!(f, "{comma}{line}")?,
        }
    }
    let more = tally.count > tally.lines.len() as u64;
    f.write_str(if more { ", ..)" } else { ")" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_field::RecordField;

    #[test]
    fn findings_are_counted_by_kind_and_skipped_lines_come_first() {
        let mut diagnostics = Diagnostics::default();
        assert_eq!(diagnostics.to_string(), "");
        diagnostics.record(Finding::RequestedProcs, 4);
        for line in [7, 9, 23, 24] {
            diagnostics.record(Finding::TooFewFields, line);
        }
        diagnostics.record(Finding::NotANumber(RecordField::RunTime), 8);
        assert_eq!(
            diagnostics.to_string(),
            "4 lines skipped: fewer than 5 fields (lines 7, 9, 23, ..)\n\
             1 line skipped: run time is not a number (line 8)\n\
             1 line defaulted: requested processors for lack of allocated ones (line 4)"
        );
        assert_eq!(diagnostics.total(FindingAction::Skipped), 5);
        assert_eq!(diagnostics.total(FindingAction::Repaired), 0);
    }
}
