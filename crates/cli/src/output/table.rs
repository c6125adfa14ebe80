//! Tables for people: a heading, a line under it, rows.
//!
//! A list is a slice of [`Column`]s: a column has its heading beside its cell, so that one more column is one
//! more entry.

use std::borrow::Cow;
use std::io::{self, Write};

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, presets,
};
use console::Term;

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The end of a text that does not fit.
const CUT: &str = "..";

/// The cell of a figure that does not apply.
const NO_FIGURE: &str = "-";

/// A column of a table with a row for each `R`.
pub(crate) struct Column<'a, R> {
    heading: Cow<'a, str>,
    cell: Box<dyn Fn(&R) -> String + 'a>,
    alignment: CellAlignment,
    is_flexible: bool,
}

impl<'a, R> Column<'a, R> {
    /// Returns a column of text.
    pub(crate) fn new(heading: impl Into<Cow<'a, str>>, cell: impl Fn(&R) -> String + 'a) -> Self {
        Self {
            heading: heading.into(),
            cell: Box::new(cell),
            alignment: CellAlignment::Left,
            is_flexible: false,
        }
    }

    /// Returns a column of text with empty cells.
    pub(crate) fn optional(
        heading: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> Option<String> + 'a,
    ) -> Self {
        Self::new(heading, move |row| cell(row).unwrap_or_default())
    }

    /// Returns a column of figures, which stand on the right.
    pub(crate) fn figure(
        heading: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> String + 'a,
    ) -> Self {
        Self {
            alignment: CellAlignment::Right,
            ..Self::new(heading, cell)
        }
    }

    /// Returns a column of figures with a dash for a missing figure.
    pub(crate) fn optional_figure(
        heading: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> Option<String> + 'a,
    ) -> Self {
        Self::figure(heading, move |row| {
            cell(row).unwrap_or_else(|| NO_FIGURE.to_owned())
        })
    }

    /// Lets texts be cut where the table would be wider than the terminal.
    pub(crate) fn flexible(self) -> Self {
        Self {
            is_flexible: true,
            ..self
        }
    }

    /// Returns the column for rows `S` that have a row `R` each.
    pub(crate) fn within<S>(self, part: impl for<'s> Fn(&'s S) -> &'s R + 'a) -> Column<'a, S>
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

    /// Returns the heading.
    pub(crate) fn heading(&self) -> &str {
        &self.heading
    }

    /// Returns the text of a row.
    pub(crate) fn cell(&self, row: &R) -> String {
        (self.cell)(row)
    }
}

/// Writes a list. Texts of flexible columns are cut where it would be wider than the terminal; without a
/// terminal every cell stays whole.
pub(crate) fn write_list<'r, R: 'r>(
    out: &mut impl Write,
    columns: &[Column<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
) -> io::Result<()> {
    let mut table = fill(styled(STYLE), columns, rows);
    if let Some((_, width)) = Term::stdout().size_checked() {
        fit(&mut table, columns, width);
    }
    lines(&table).try_for_each(|line| writeln!(out, "{line}"))
}

/// Renders figures as text that ends with a line feed: the same text for any output.
pub(crate) fn render_figures<'r, R: 'r>(
    columns: &[Column<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
    layout: FigureLayout,
) -> String {
    let mut table = match layout {
        FigureLayout::Ruled { width: Some(width) } => {
            let mut table = fill(styled(STYLE), columns, rows);
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
            for column in table.column_iter_mut().skip(1) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            table
        }
        FigureLayout::Ruled { width: None } => fill(styled(STYLE), columns, rows),
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
pub(crate) enum FigureLayout {
    /// A line under the headings. With a width, long texts of the first column are wrapped.
    Ruled { width: Option<u16> },
    /// Blanks only.
    Open,
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
fn lines(table: &Table) -> impl Iterator<Item = String> {
    table.lines().map(|line| line.trim_end().to_owned())
}

fn fit<R>(table: &mut Table, columns: &[Column<'_, R>], width: u16) {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.set_truncation_indicator(CUT);
    for (shown, column) in table.column_iter_mut().zip(columns) {
        if !column.is_flexible {
            shown.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for row in table.row_iter_mut() {
        row.max_height(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Column<'static, [&'static str; 3]>; 3] {
        [
            Column::new("id", |row: &[&str; 3]| row[0].to_owned()),
            Column::new("name", |row: &[&str; 3]| row[1].to_owned()).flexible(),
            Column::new("ended", |row: &[&str; 3]| row[2].to_owned()),
        ]
    }

    fn table() -> Table {
        let row = ["7", "a name of thirty-one characters", "12:00:00"];
        fill(styled(STYLE), &columns(), [&row])
    }

    #[test]
    fn flexible_column_is_cut_at_the_width_of_the_terminal() {
        let mut narrow = table();
        fit(&mut narrow, &columns(), 30);
        let lines: Vec<String> = narrow.lines().collect();
        assert_eq!(lines.len(), 3, "{narrow}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 30),
            "{narrow}"
        );
        assert!(lines[2].contains(".."), "{narrow}");
        assert!(lines[2].contains("12:00:00"), "{narrow}");
    }

    #[test]
    fn table_that_fits_is_whole() {
        let mut wide = table();
        fit(&mut wide, &columns(), 200);
        assert_eq!(wide.to_string(), table().to_string());
    }

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
