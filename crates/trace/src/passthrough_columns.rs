//! Columns of a job table that tollgate does not know, passed through unchanged.

/// A rectangle of text cells in one allocation; one row for each job of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassthroughColumns {
    names: Vec<String>,
    text: String,
    /// The end of each cell in `text`, row by row.
    ends: Vec<usize>,
}

impl PassthroughColumns {
    /// Creates columns with these names and no rows.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Returns the names of the columns, in file order. Never empty in a trace.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the cells of the job in `row`, in the order of the names.
    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        let first = row * self.names.len();
        (first..first + self.names.len()).map(|cell| self.cell(cell))
    }

    /// Appends a cell; cells come row by row, in the order of the names.
    pub fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Removes the first `n` rows.
    pub(crate) fn drop_first(&mut self, n: usize) {
        let cells = n * self.names.len();
        let bytes = self.start(cells);
        self.text.drain(..bytes);
        self.ends.drain(..cells);
        for end in &mut self.ends {
            *end -= bytes;
        }
    }

    /// Keeps the rows that `keeps` names.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        let mut kept = Self::new(self.names.clone());
        let rows = self.ends.len() / self.names.len();
        for row in (0..rows).filter(|&row| keeps(row)) {
            self.row(row).for_each(|cell| kept.push(cell));
        }
        *self = kept;
    }

    fn start(&self, cell: usize) -> usize {
        cell.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn cell(&self, cell: usize) -> &str {
        &self.text[self.start(cell)..self.ends[cell]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_returned_row_by_row() {
        let mut extra = PassthroughColumns::new(vec!["site".into(), "note".into()]);
        for cell in ["north", "", "south", "h\u{f6}t", "", "x"] {
            extra.push(cell);
        }
        assert_eq!(extra.row(1).collect::<Vec<_>>(), ["south", "h\u{f6}t"]);
        extra.drop_first(1);
        assert_eq!(extra.row(0).collect::<Vec<_>>(), ["south", "h\u{f6}t"]);
        assert_eq!(extra.row(1).collect::<Vec<_>>(), ["", "x"]);
    }
}
