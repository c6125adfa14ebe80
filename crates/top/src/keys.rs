//! Keys of the terminal as keys of the overview.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::state::TopKey;

/// The meaning of a key of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalKey {
    /// A key of the overview.
    Overview(TopKey),
    /// Paint the whole screen again.
    Redraw,
    /// Stop until the shell continues the program.
    Suspend,
}

/// Returns what a key means. None for a key without a meaning.
pub(crate) fn meaning(event: KeyEvent) -> Option<TerminalKey> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let meant = |table: &[(KeyCode, TerminalKey)]| {
        let mut entries = table.iter();
        let found = entries.find(|(code, _)| *code == event.code);
        found.map(|(_, key)| *key)
    };
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return meant(&[
            (KeyCode::Char('c'), TerminalKey::Overview(TopKey::Interrupt)),
            (KeyCode::Char('l'), TerminalKey::Redraw),
            (KeyCode::Char('z'), TerminalKey::Suspend),
        ]);
    }
    let named = meant(&NAMED_KEYS.map(|(code, key)| (code, TerminalKey::Overview(key))));
    let letter = event
        .code
        .as_char()
        .map(|letter| TerminalKey::Overview(TopKey::Letter(letter)));
    named.or(letter)
}

/// The keys that are not letters.
const NAMED_KEYS: [(KeyCode, TopKey); 13] = [
    (KeyCode::Up, TopKey::Up),
    (KeyCode::Down, TopKey::Down),
    (KeyCode::PageUp, TopKey::PageUp),
    (KeyCode::PageDown, TopKey::PageDown),
    (KeyCode::Char(' '), TopKey::PageDown),
    (KeyCode::Home, TopKey::First),
    (KeyCode::End, TopKey::Last),
    (KeyCode::Enter, TopKey::Enter),
    (KeyCode::Right, TopKey::Enter),
    (KeyCode::Esc, TopKey::Back),
    (KeyCode::Left, TopKey::Back),
    (KeyCode::Backspace, TopKey::Back),
    (KeyCode::F(1), TopKey::Letter('?')),
];
