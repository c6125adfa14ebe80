//! Lists for people: tables that fit the terminal.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use console::Term;
pub(crate) use tollgate_report::text_table::{Column, FigureLayout, render_figures};
use tollgate_report::text_table::{lines, ruled};

/// The end of a text that does not fit.
const CUT: &str = "..";

/// Writes a list. Texts of flexible columns are cut where it would be wider than the terminal; without a
/// terminal every cell stays whole.
pub(crate) fn write_list<'r, R: 'r>(
    out: &mut impl Write,
    columns: &[Column<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
) -> io::Result<()> {
    let mut table = ruled(columns, rows);
    if let Some((_, width)) = Term::stdout().size_checked() {
        fit(&mut table, columns, width);
    }
    lines(&table).try_for_each(|line| writeln!(out, "{line}"))
}

fn fit<R>(table: &mut Table, columns: &[Column<'_, R>], width: u16) {
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.set_truncation_indicator(CUT);
    for (shown, column) in table.column_iter_mut().zip(columns) {
        if !column.is_flexible() {
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
        ruled(&columns(), [&row])
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
}
