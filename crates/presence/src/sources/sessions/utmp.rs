//! The sessions of `utmp`, a file of records of fixed length: utmp(5).

use std::collections::BTreeMap;

use super::PersonSession;

/// The length of a record: the C library of x86-64 keeps the times of 32-bit programs, others do not.
const RECORD_BYTES: usize = if cfg!(target_arch = "x86_64") {
    384
} else {
    400
};
/// The type of the record of a user's process.
const USER_PROCESS: i16 = 7;

/// Returns the sessions of people by terminal and process.
pub(super) fn sessions(records: &[u8]) -> BTreeMap<String, PersonSession> {
    records
        .chunks_exact(RECORD_BYTES)
        .filter_map(parse)
        .collect()
}

/// Parses a record. None for one of no session, and for a terminal of a multiplexer: input there comes from another
/// terminal, or from none.
fn parse(record: &[u8]) -> Option<(String, PersonSession)> {
    let kind = i16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
    let pid = i32::from_ne_bytes(record.get(4..8)?.try_into().ok()?);
    let (line, host) = (text(record.get(8..40)?), text(record.get(76..332)?));
    if kind != USER_PROCESS || host.starts_with("tmux(") || host.contains(":S.") {
        return None;
    }
    let session = match line.starts_with(':') {
        true => PersonSession::Graphical,
        false => PersonSession::AtTerminal,
    };
    Some((format!("{line} {pid}"), session))
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(kind: i16, line: &str, host: &str) -> Vec<u8> {
        let mut record = vec![0; RECORD_BYTES];
        record[..2].copy_from_slice(&kind.to_ne_bytes());
        record[4..8].copy_from_slice(&77_i32.to_ne_bytes());
        record[8..8 + line.len()].copy_from_slice(line.as_bytes());
        record[76..76 + host.len()].copy_from_slice(host.as_bytes());
        record
    }

    proptest! {
        #[test]
        fn any_bytes_have_at_most_a_session_a_record(
            bytes in prop::collection::vec(any::<u8>(), 0..4 * RECORD_BYTES),
        ) {
            prop_assert!(sessions(&bytes).len() <= bytes.len() / RECORD_BYTES);
        }
    }

    #[test]
    fn sessions_of_people_are_found() {
        let records = [
            record(2, "~", "6.1.0"),
            record(USER_PROCESS, "pts/1", "192.0.2.7"),
            record(USER_PROCESS, "pts/2", "tmux(812).%0"),
            record(USER_PROCESS, "pts/3", ":pts/1:S.0"),
            record(USER_PROCESS, ":0", ":0"),
            record(8, "pts/4", ""),
        ];
        let found = sessions(&records.concat());
        let expected = [
            (":0 77", PersonSession::Graphical),
            ("pts/1 77", PersonSession::AtTerminal),
        ];
        let expected = expected.map(|(name, session)| (name.to_owned(), session));
        assert_eq!(found, BTreeMap::from(expected));
        assert_eq!(sessions(&records.concat()[..500]).len(), 0);
    }
}
