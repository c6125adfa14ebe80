//! Tables for people: a heading, a line under it, rows.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use console::Term;

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The end of a text that does not fit.
const CUT: &str = "..";

/// Returns an empty table.
pub(crate) fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table
}

/// Writes a table, without blanks at the ends of lines.
pub(crate) fn write_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    table
        .lines()
        .try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

/// Cuts the texts of some columns where the table would be wider than the terminal. Without a
/// terminal, and in the other columns, every cell stays whole. Call it when all rows are there.
pub(crate) fn fit_to_terminal(table: &mut Table, flexible: &[usize]) {
    if let Some((_, columns)) = Term::stdout().size_checked() {
        fit(table, flexible, columns);
    }
}

fn fit(table: &mut Table, flexible: &[usize], width: u16) {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.set_truncation_indicator(CUT);
    for (n, column) in table.column_iter_mut().enumerate() {
        if !flexible.contains(&n) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for row in table.row_iter_mut() {
        row.max_height(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = new_table();
        table.set_header(["id", "name", "ended"]);
        table.add_row(["7", "a name of thirty-one characters", "12:00:00"]);
        table
    }

    #[test]
    fn flexible_column_is_cut_at_the_width_of_the_terminal() {
        let mut narrow = table();
        fit(&mut narrow, &[1], 30);
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
        fit(&mut wide, &[1], 200);
        assert_eq!(wide.to_string(), table().to_string());
    }
}
