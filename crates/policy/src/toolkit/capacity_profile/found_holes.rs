//! Lower bounds of holes from earlier searches.

use tollgate_model::{Instant, Span};

/// The holes that searches have found in a profile of which processors are only ever reserved. A job that
/// needs at least as many processors for at least as long finds no earlier hole. In a long queue many jobs
/// are alike, and a search from the beginning would pass over the same gaps for each.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundHoles {
    /// By size and length, both in powers of two, the latest hole; a row for each size.
    rows: Vec<[Option<FoundHole>; LENGTHS]>,
}

/// A hole, and what was searched for.
#[derive(Clone, Copy, Debug)]
struct FoundHole {
    at: Instant,
    procs: u32,
    length: Span,
}

/// Lengths by powers of two of a second; those of more than a year are in the last class.
const LENGTHS: usize = 26;

impl FoundHoles {
    /// Returns an instant before which `procs` processors are not free for `length`, if one is known.
    pub(super) fn bound(&self, procs: u32, length: Span) -> Option<Instant> {
        let (row, column) = place(procs, length);
        let rows = self.rows.iter().take(row + 1);
        let holes = rows.flat_map(|row| row[..=column].iter().flatten());
        let no_easier = holes.filter(|hole| hole.procs <= procs && hole.length <= length);
        no_easier.map(|hole| hole.at).max()
    }

    /// Notes the first hole of `procs` processors for `length`.
    pub(super) fn note(&mut self, procs: u32, length: Span, at: Instant) {
        let (row, column) = place(procs, length);
        if row >= self.rows.len() {
            self.rows.resize(row + 1, [None; LENGTHS]);
        }
        let latest = &mut self.rows[row][column];
        if latest.is_none_or(|latest| latest.at <= at) {
            *latest = Some(FoundHole { at, procs, length });
        }
    }
}

/// Returns the row and the column of a search.
fn place(procs: u32, length: Span) -> (usize, usize) {
    let seconds = (length.as_micros() / 1_000_000).max(1);
    let column = (seconds.ilog2() as usize).min(LENGTHS - 1);
    (procs.max(1).ilog2() as usize, column)
}
