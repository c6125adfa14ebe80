//! The cells that changed, as bytes for a terminal.

use std::fmt::Write;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use crate::view::ScreenColours;

/// The mark that ends a run of right-to-left letters. Without it a terminal that orders text itself would move numbers
/// from one column into another.
const LEFT_TO_RIGHT_MARK: char = '\u{200e}';

/// A screen as it was painted last.
#[derive(Debug)]
pub struct ScreenPainter {
    painted: Buffer,
}

impl ScreenPainter {
    /// Creates the painter of an empty screen of this size.
    pub fn new(width: u16, height: u16) -> Self {
        Self {
            painted: Buffer::empty(Rect::new(0, 0, width, height)),
        }
    }

    /// Returns what a terminal has to be sent to show a frame: only the cells that changed. Another size clears the
    /// screen first.
    pub fn paint(&mut self, frame: Buffer) -> String {
        let mut out = String::new();
        if self.painted.area != frame.area {
            out.push_str("\x1b[0m\x1b[2J");
            self.painted = Buffer::empty(frame.area);
        }
        let mut next = None;
        let mut style = String::new();
        for (x, y, cell) in self.painted.diff(&frame) {
            if next != Some((x, y)) {
                let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
            }
            let needed = style_sequence(cell);
            if style != needed {
                out.push_str(&needed);
                style = needed;
            }
            let symbol = cell.symbol();
            push_symbol(&mut out, symbol);
            // Terminals disagree about the width of other characters, so the next cell is addressed.
            next = (symbol.len() == 1).then(|| (x + 1, y));
        }
        if !style.is_empty() && style != PLAIN {
            out.push_str(PLAIN);
        }
        self.painted = frame;
        out
    }

    /// Forgets what was painted, so that the next frame is painted in full.
    pub fn forget(&mut self) {
        self.painted = Buffer::empty(Rect::ZERO);
    }
}

/// Returns the only line of a frame as text without spaces at its end, with sequences only if it is coloured.
pub(crate) fn line_text(frame: &Buffer, colours: ScreenColours) -> String {
    let mut text = String::new();
    let mut style = PLAIN.to_owned();
    let mut hidden = 0;
    for cell in frame.content() {
        // The cells behind the first of a wide character are covered by it.
        if hidden > 0 {
            hidden -= 1;
            continue;
        }
        hidden = cell.symbol().width().saturating_sub(1);
        let needed = match colours {
            ScreenColours::Shown => style_sequence(cell),
            ScreenColours::None => PLAIN.to_owned(),
        };
        if style != needed {
            text.push_str(&needed);
            style = needed;
        }
        push_symbol(&mut text, cell.symbol());
    }
    if style != PLAIN {
        text.push_str(PLAIN);
    }
    match colours {
        ScreenColours::Shown => text,
        ScreenColours::None => text.trim_end().to_owned(),
    }
}

/// Adds the symbol of a cell.
fn push_symbol(out: &mut String, symbol: &str) {
    out.push_str(symbol);
    if symbol.chars().any(is_right_to_left) {
        out.push(LEFT_TO_RIGHT_MARK);
    }
}

/// The sequence for text without colour.
const PLAIN: &str = "\x1b[0m";

/// Returns the sequence that sets the style of a cell, whatever was set before.
fn style_sequence(cell: &Cell) -> String {
    let mut sequence = "\x1b[0".to_owned();
    let modifiers = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ];
    for (modifier, number) in modifiers {
        if cell.modifier.contains(modifier) {
            let _ = write!(sequence, ";{number}");
        }
    }
    let colours = [
        (Color::Red, 31),
        (Color::Green, 32),
        (Color::Yellow, 33),
        (Color::Cyan, 36),
    ];
    if let Some((_, number)) = colours.iter().find(|(colour, _)| *colour == cell.fg) {
        let _ = write!(sequence, ";{number}");
    }
    sequence.push('m');
    sequence
}

/// Returns whether a character is of a script that is written from right to left.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}
