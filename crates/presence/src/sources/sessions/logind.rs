//! The sessions that logind records: a file for each in `/run/systemd/sessions`, with a line `KEY=value` for each field.
//!
//! Its `IDLE_HINT` is not read: some desktops set it, others and all display managers do not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::PersonSession;

/// Returns the sessions of people by their ids.
pub(super) fn sessions(dir: &Path) -> BTreeMap<String, PersonSession> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sessions = entries.filter_map(|entry| {
        let id = entry.file_name().into_string().ok()?;
        // A name with a dot is a pipe, or a file that is being written.
        let is_record = !id.contains('.') && entry.file_type().is_ok_and(|kind| kind.is_file());
        let text = is_record.then(|| fs::read_to_string(entry.path()).ok())??;
        Some((id, parse(&text)?))
    });
    sessions.collect()
}

/// Parses a record. None for a session of no person, such as that of a log-in screen, and for one that is ending.
fn parse(text: &str) -> Option<PersonSession> {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(name, _)| *name == key);
        found.map_or("", |(_, value)| value.trim_matches('"'))
    };
    if !value("CLASS").starts_with("user") || value("STATE") == "closing" {
        return None;
    }
    Some(match value("TYPE") {
        "x11" | "wayland" | "mir" => PersonSession::Graphical,
        _ if value("TTY").is_empty() => PersonSession::Unattended,
        _ => PersonSession::AtTerminal,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The record of a log-in by ssh with a terminal, as logind of systemd 255 writes it.
    const SSH: &str = "# This is private data. Do not parse.\nUID=1000\nUSER=ada\nACTIVE=1\n\
        IS_DISPLAY=0\nSTATE=active\nREMOTE=1\nLEADER_FD_SAVED=yes\nTYPE=tty\n\
        ORIGINAL_TYPE=tty\nCLASS=user\nSCOPE=session-3.scope\nFIFO=/run/systemd/sessions/3.ref\n\
        TTY=pts/0\nTTY_VALIDITY=from-pam\nREMOTE_HOST=::1\nSERVICE=sshd\nLEADER=812\n\
        AUDIT=3\nREALTIME=1780000000000000\nMONOTONIC=28000000\n";

    proptest! {
        #[test]
        fn any_text_is_a_session_or_none(text in "(([A-Z]{1,5}|CLASS|TYPE|STATE|TTY)=?(user|tty|\\PC)*\n?){0,8}") {
            let has_class = text.lines().any(|line| line.starts_with("CLASS=") );
            prop_assert!(has_class || parse(&text).is_none());
        }
    }

    #[test]
    fn records_of_logind_are_parsed() {
        assert_eq!(parse(SSH), Some(PersonSession::AtTerminal));
        let without_terminal = SSH
            .replace("TTY=pts/0\n", "")
            .replace("TYPE=tty", "TYPE=unspecified");
        assert_eq!(parse(&without_terminal), Some(PersonSession::Unattended));
        let graphical = SSH.replace("\nTYPE=tty", "\nTYPE=wayland");
        assert_eq!(parse(&graphical), Some(PersonSession::Graphical));
        assert_eq!(parse(&SSH.replace("CLASS=user", "CLASS=greeter")), None);
        assert_eq!(parse(&SSH.replace("CLASS=user", "CLASS=manager")), None);
        assert_eq!(parse(&SSH.replace("STATE=active", "STATE=closing")), None);
        assert_eq!(parse(""), None);
    }
}
