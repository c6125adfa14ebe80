//! The ledger as a file of comma-separated values.

use tollgate_client::types::AccountEntry;

/// The names of the columns.
const HEADER: &str = "day,user_id,user,charges,penalties,utility\n";

/// Returns the ledger as an address that holds the file itself. A browser saves it without another request, which would
/// need the session in a header.
pub(super) fn address(accounts: &[AccountEntry]) -> String {
    let mut address = "data:text/csv;charset=utf-8,".to_owned();
    for byte in file(accounts).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                address.push(byte.into());
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address
}

fn file(accounts: &[AccountEntry]) -> String {
    let rows = accounts.iter().map(|entry| {
        format!(
            "{},{},{},{},{},{}\n",
            field(&entry.day),
            entry.user_id,
            field(&entry.user),
            entry.charges,
            entry.penalties,
            entry.utility
        )
    });
    HEADER.to_owned() + &rows.collect::<String>()
}

/// Quotes a text if it would end its field (RFC 4180).
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str) -> AccountEntry {
        AccountEntry {
            user_id: 1000,
            user: user.to_owned(),
            day: "2026-12-01".to_owned(),
            charges: 12.5,
            penalties: -4.86,
            utility: 7.64,
        }
    }

    #[test]
    fn file_has_exact_amounts_and_quoted_names() {
        let text = file(&[account("alice"), account("a\"b,c")]);
        let rows =
            "2026-12-01,1000,alice,12.5,-4.86,7.64\n2026-12-01,1000,\"a\"\"b,c\",12.5,-4.86,7.64\n";
        assert_eq!(text, HEADER.to_owned() + rows);
    }

    #[test]
    fn address_has_no_character_that_html_or_an_address_needs() {
        let address = address(&[account("<&\"#%\u{e9}")]);
        let (_, body) = address.split_once(',').unwrap();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._%".contains(letter);
        assert!(body.chars().all(is_plain), "{body}");
        assert!(body.contains("%22%3C%26%22%22%23%25%C3%A9%22"), "{body}");
    }
}
