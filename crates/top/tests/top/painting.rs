//! The painted bytes on a terminal, and their number.

use std::num::NonZero;

use ratatui_core::buffer::Buffer;
use tollgate_top::painter::ScreenPainter;
use tollgate_top::state::{TopKey, TopNews};

use crate::answers::{answers, drawn, jobs, lines, usual_state};

/// Returns the lines that a terminal shows.
fn shown(terminal: &vt100::Parser) -> Vec<String> {
    let (_, width) = terminal.screen().size();
    let rows = terminal.screen().rows(0, width.get());
    rows.map(|row| row.trim_end().to_owned()).collect()
}

/// Returns an empty terminal of the size of a frame.
pub(crate) fn terminal(cells: &Buffer) -> vt100::Parser {
    let [height, width] =
        [cells.area.height, cells.area.width].map(|size| NonZero::new(size).expect("a size"));
    vt100::Parser::new(height, width, 0)
}

#[test]
fn terminal_shows_the_frame_after_every_key() {
    let mut state = usual_state();
    let size = (80, 24);
    let mut painter = ScreenPainter::new(size.0, size.1);
    let mut terminal = terminal(&drawn(&mut state, size));
    let keys = "jjjkGg?qlqejjqchnmm";
    for letter in keys.chars() {
        state.on_key(TopKey::Letter(letter));
        let cells = drawn(&mut state, size);
        let expected = lines(&cells);
        terminal.process(painter.paint(cells).as_bytes());
        assert_eq!(shown(&terminal), expected, "{letter}");
    }
}

#[test]
fn another_size_is_painted_in_full() {
    let mut state = usual_state();
    let mut painter = ScreenPainter::new(80, 24);
    painter.paint(drawn(&mut state, (80, 24)));
    let cells = drawn(&mut state, (60, 18));
    let expected = lines(&cells);
    let mut terminal = terminal(&cells);
    terminal.process(b"left over from before\r\nand this");
    terminal.process(painter.paint(cells).as_bytes());
    assert_eq!(shown(&terminal), expected);
}

#[test]
fn only_changed_cells_are_sent() {
    let mut state = usual_state();
    let mut painter = ScreenPainter::new(80, 24);
    let whole = painter.paint(drawn(&mut state, (80, 24))).len();
    assert_eq!(painter.paint(drawn(&mut state, (80, 24))), "");
    let mut later = answers(jobs());
    later.status.now_at = "2026-12-01T09:10:05Z".to_owned();
    state.on_news(TopNews::Answers(Box::new(later)));
    let clock = painter.paint(drawn(&mut state, (80, 24))).len();
    assert!(clock < 40 && whole > 800, "{clock} of {whole} bytes");
}
