//! Tables in Markdown.

/// Returns a table with a heading for each column.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = row(headings.iter().copied());
    text.push_str(&"|---".repeat(N));
    text.push_str("|\n");
    for cells in rows {
        text.push_str(&row(cells.iter().map(String::as_str)));
    }
    text
}

fn row<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells = cells.map(|cell| format!("| {} ", cell.replace('|', "\\|")));
    cells.collect::<String>() + "|\n"
}

/// Returns words as code.
pub(super) fn code(words: &str) -> String {
    format!("`{words}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_with_a_bar_stays_one_cell() {
        let rows = [["a|b".to_owned(), code("c")]];
        assert_eq!(
            table(["one", "two"], rows),
            "| one | two |\n|---|---|\n| a\\|b | `c` |\n"
        );
    }
}
