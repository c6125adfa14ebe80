//! The screen of a command, and the last part of its output.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use vt100::{Parser, Screen};

use crate::message::WindowSize;

/// Maximum length of the output that is kept, in bytes.
const MAX_HISTORY: usize = 256 << 10;
/// The sequences by which a terminal shows its second screen, and its first one again.
const SECOND_SCREEN: &str = "\x1b[?1049h";
const FIRST_SCREEN: &str = "\x1b[?1049l";

/// The screen of a command, and its last output.
pub(crate) struct CommandScreen {
    parser: Parser,
    history: VecDeque<u8>,
}

impl CommandScreen {
    /// Returns an empty screen.
    pub(crate) fn new(window: WindowSize) -> Self {
        Self {
            parser: parser(window),
            history: VecDeque::new(),
        }
    }

    /// Adds output.
    pub(crate) fn add(&mut self, output: &[u8]) {
        self.parser.process(output);
        let kept = &output[output.len().saturating_sub(MAX_HISTORY)..];
        let excess = (self.history.len() + kept.len()).saturating_sub(MAX_HISTORY);
        self.history.drain(..excess);
        self.history.extend(kept);
    }

    /// Changes the size.
    pub(crate) fn resize(&mut self, window: WindowSize) {
        let (rows, columns) = sides(window);
        self.parser.screen_mut().set_size(rows, columns);
    }

    /// Returns the output that draws this screen on a terminal.
    pub(crate) fn redraw(&self) -> Vec<u8> {
        let screen = self.parser.screen();
        let mut output = Vec::new();
        if screen.alternate_screen() {
            output.extend(SECOND_SCREEN.bytes());
        }
        output.extend(screen.state_formatted().into_bytes());
        output
    }

    /// Returns the last output, as it was.
    pub(crate) fn history(&self) -> Vec<u8> {
        self.history.iter().copied().collect()
    }
}

/// The modes of a user's terminal that output has changed.
pub(crate) struct TerminalModes(Parser);

impl TerminalModes {
    /// Returns the modes of a terminal before any output.
    pub(crate) fn new(window: WindowSize) -> Self {
        Self(parser(window))
    }

    /// Follows output.
    pub(crate) fn follow(&mut self, output: &[u8]) {
        self.0.process(output);
    }

    /// Returns the output that sets the terminal back to how it was.
    pub(crate) fn reset(&self) -> Vec<u8> {
        let changed = self.0.screen();
        let unchanged: &Screen = &parser(WindowSize {
            columns: 1,
            rows: 1,
        })
        .screen()
        .clone();
        let mut output = unchanged.input_mode_diff(changed);
        if changed.alternate_screen() {
            output.push_str(FIRST_SCREEN);
        }
        if changed.hide_cursor() {
            output.push_str("\x1b[?25h");
        }
        output.push_str("\x1b[m");
        output.into_bytes()
    }
}

fn parser(window: WindowSize) -> Parser {
    let (rows, columns) = sides(window);
    Parser::new(rows, columns, 0)
}

/// Returns rows and columns, each within what a screen in memory should hold.
fn sides(window: WindowSize) -> (NonZeroU16, NonZeroU16) {
    const MAX_SIDE: u16 = 1_000;
    let side = |side: u16| NonZeroU16::new(side.min(MAX_SIDE)).unwrap_or(NonZeroU16::MIN);
    (side(window.rows), side(window.columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: WindowSize = WindowSize {
        columns: 20,
        rows: 3,
    };

    #[test]
    fn redrawn_screen_shows_the_same() {
        let mut screen = CommandScreen::new(WINDOW);
        screen.add(b"one\r\ntwo\r\n\x1b[1mthree\x1b[m\r\nfour");
        let mut copy = CommandScreen::new(WINDOW);
        copy.add(&screen.redraw());
        let text = |screen: &CommandScreen| screen.parser.screen().contents();
        assert_eq!(text(&copy), "two\nthree\nfour");
        assert_eq!(text(&copy), text(&screen));
    }

    #[test]
    fn second_screen_is_redrawn_as_one() {
        let mut screen = CommandScreen::new(WINDOW);
        screen.add(b"shell\x1b[?1049h\x1b[Heditor");
        let mut copy = CommandScreen::new(WINDOW);
        copy.add(&screen.redraw());
        assert!(copy.parser.screen().alternate_screen());
        copy.add(FIRST_SCREEN.as_bytes());
        assert!(!copy.parser.screen().contents().contains("editor"));
    }

    #[test]
    fn history_keeps_the_last_output() {
        let mut screen = CommandScreen::new(WINDOW);
        screen.add(b"first");
        screen.add(&vec![b'x'; MAX_HISTORY - 2]);
        assert_eq!(screen.history().len(), MAX_HISTORY);
        assert!(screen.history().starts_with(b"stx"));
        screen.add(&vec![b'y'; 2 * MAX_HISTORY]);
        assert_eq!(screen.history(), vec![b'y'; MAX_HISTORY]);
    }

    #[test]
    fn changed_modes_are_set_back() {
        let mut modes = TerminalModes::new(WINDOW);
        assert_eq!(modes.reset(), b"\x1b[m");
        modes.follow(b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000h");
        let reset = String::from_utf8(modes.reset()).unwrap();
        for sequence in ["\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[?1000l"] {
            assert!(reset.contains(sequence), "{reset:?}");
        }
        modes.follow(reset.as_bytes());
        assert_eq!(modes.reset(), b"\x1b[m");
    }

    #[test]
    fn absurd_windows_take_little_memory() {
        let mut screen = CommandScreen::new(WindowSize {
            columns: u16::MAX,
            rows: u16::MAX,
        });
        screen.add(b"text");
        screen.resize(WindowSize {
            columns: 1,
            rows: 1,
        });
        assert!(screen.redraw().len() < 1_000);
    }
}
