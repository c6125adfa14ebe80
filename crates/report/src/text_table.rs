//! Tables for people as text: a heading, a line under it, rows.
//!
//! A table is a slice of [`Column`]s: a column has its heading beside its cell, so that one more column is one
//! more entry.

use std::borrow::Cow;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, presets,
};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The cell of a figure that does not apply.
const NO_FIGURE: &str = "-";

/// A cell of a row.
type ColumnCell<'a, R> = Box<dyn Fn(&R) -> String + 'a>;

/// A column of a table with a row for each `R`.
pub struct Column<'a, R> {
    heading: Cow<'a, str>,
    cell: ColumnCell<'a, R>,
    alignment: CellAlignment,
    is_flexible: bool,
}

impl<'a, R> Column<'a, R> {
    /// Returns a column of text.
    pub fn new(heading: impl Into<Cow<'a, str>>, cell: impl Fn(&R) -> String + 'a) -> Self {
        Self {
            heading: heading.into(),
            cell: Box::new(cell),
            alignment: CellAlignment::Left,
            is_flexible: false,
        }
    }

    /// Returns a column of text with empty cells.
    pub fn optional(
        heading: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> Option<String> + 'a,
    ) -> Self {
        Self::new(heading, move |row| cell(row).unwrap_or_default())
    }

    /// Returns a column of figures, which stand on the right.
    pub fn figure(heading: impl Into<Cow<'a, str>>, cell: impl Fn(&R) -> String + 'a) -> Self {
        Self {
            alignment: CellAlignment::Right,
            ..Self::new(heading, cell)
        }
    }

    /// Returns a column of figures with a dash for a missing figure.
    pub fn optional_figure(
        heading: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> Option<String> + 'a,
    ) -> Self {
        Self::figure(heading, move |row| {
            cell(row).unwrap_or_else(|| NO_FIGURE.to_owned())
        })
    }

    /// Lets texts be cut where the table would be wider than the terminal.
    pub fn flexible(self) -> Self {
        Self {
            is_flexible: true,
            ..self
        }
    }

    /// Returns the column for rows `S` that have a row `R` each.
    pub fn within<S>(self, part: impl for<'s> Fn(&'s S) -> &'s R + 'a) -> Column<'a, S>
    where
        R: 'a,
    {
        Column {
            heading: self.heading,
            cell: Box::new(move |row| (self.cell)(part(row))),
            alignment: self.alignment,
            is_flexible: self.is_flexible,
        }
    }

    /// Returns whether texts may be cut where the table would be wider than the terminal.
    pub fn is_flexible(&self) -> bool {
        self.is_flexible
    }

    /// Returns whether the cells are figures, which stand on the right.
    pub fn is_figure(&self) -> bool {
        self.alignment == CellAlignment::Right
    }

    /// Returns the heading.
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// Returns the text of a row.
    pub fn cell(&self, row: &R) -> String {
        (self.cell)(row)
    }
}

/// Renders figures as text that ends with a line feed: the same text for any output.
pub fn render_figures<'r, R: 'r>(
    columns: &[Column<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
    layout: FigureLayout,
) -> String {
    let mut table = match layout {
        FigureLayout::Ruled { width: Some(width) } => {
            let mut table = ruled(columns, rows);
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
            for column in table.column_iter_mut().skip(1) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            table
        }
        FigureLayout::Ruled { width: None } => ruled(columns, rows),
        FigureLayout::Open => fill(styled(presets::NOTHING), columns, rows),
    };
    let gap = match layout {
        // One blank of padding, and one blank in place of a vertical line.
        FigureLayout::Ruled { .. } => 1,
        FigureLayout::Open => 2,
    };
    for column in table.column_iter_mut() {
        column.set_padding((0, gap));
    }
    lines(&table).map(|line| line + "\n").collect()
}

/// How figures are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureLayout {
    /// A line under the headings. With a width, long texts of the first column are wrapped.
    Ruled {
        /// The width, in columns of a terminal; None for as much as the texts need.
        width: Option<u16>,
    },
    /// Blanks only.
    Open,
}

/// Returns a ruled table of texts, not arranged yet.
pub fn ruled<'r, R: 'r>(columns: &[Column<'_, R>], rows: impl IntoIterator<Item = &'r R>) -> Table {
    fill(styled(STYLE), columns, rows)
}

fn styled(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table
}

/// Adds the headings, the rows and the alignments of the columns.
fn fill<'r, R: 'r>(
    mut table: Table,
    columns: &[Column<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
) -> Table {
    table.set_header(headings(columns));
    for row in rows {
        table.add_row(columns.iter().map(|column| column.cell(row)));
    }
    for (shown, column) in table.column_iter_mut().zip(columns) {
        shown.set_cell_alignment(column.alignment);
    }
    table
}

/// Returns the headings, padded at the top to the same number of lines, so that they stand on the line below.
fn headings<R>(columns: &[Column<'_, R>]) -> Vec<String> {
    let lines = |column: &Column<'_, R>| column.heading().lines().count();
    let most = columns.iter().map(lines).max().unwrap_or(1);
    let padded = |column| "\n".repeat(most - lines(column)) + column.heading();
    columns.iter().map(padded).collect()
}

/// Returns the lines of a table, without blanks at their ends.
pub fn lines(table: &Table) -> impl Iterator<Item = String> {
    table.lines().map(|line| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_on_the_right_below_headings_that_end_together() {
        let columns = [
            Column::new("policy", |count: &Option<u32>| format!("{count:?}")),
            Column::optional_figure("mean\nwait", |count: &Option<u32>| {
                count.map(|count| count.to_string())
            }),
        ];
        let layout = FigureLayout::Ruled { width: None };
        let text = render_figures(&columns, &[Some(7), None], layout);
        let lines = [
            "         mean",
            "policy   wait",
            "──────────────",
            "Some(7)     7",
            "None        -",
        ];
        assert_eq!(text, lines.join("\n") + "\n");
    }
}
