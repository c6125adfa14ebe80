//! The state as a frame of cells.
//!
//! | module | contents |
//! |---|---|
//! | `head` | the service, its nodes, its promises |
//! | `table` | the jobs |
//! | `details` | the selected job in words |
//! | `pane` | an explanation, an output, or the keys |
//! | `cells` | text cut and filled to a width |
//! | `times` | instants in the zone of the user |
//! | `palette` | styles, with and without colour |
//!
//! A frame is made of lines from the top: the head, the list or a pane, the selected job, and the message or the keys.

mod cells;
mod details;
mod head;
mod palette;
mod pane;
mod table;
mod times;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use tollgate_overview::job_facts::WordTone;

pub use self::palette::ScreenColours;
use self::times::ShownClock;
use crate::painter::line_text;
use crate::safe_text::safe_line;
use crate::state::{TopPane, TopState};

/// The least size of a screen, in columns and lines.
const LEAST: (u16, u16) = (40, 10);
/// The height from which the selected job has lines of its own, and their number.
const DETAILS_FROM: u16 = 16;
const DETAILS: usize = 2;

/// A frame, and what keys need to know about it.
#[derive(Clone, Debug)]
pub struct TopFrame {
    /// The cells.
    pub cells: Buffer,
    /// Number of lines of the list or pane on the screen.
    pub page: usize,
    /// Number of lines that the pane has.
    pub pane_lines: usize,
}

/// Draws the state on a screen of this size, in columns and lines.
pub fn frame(state: &TopState, colours: ScreenColours, (width, height): (u16, u16)) -> TopFrame {
    let area = Rect::new(0, 0, width, height);
    let mut cells = Buffer::empty(area);
    if width < LEAST.0 || height < LEAST.1 {
        let words = format!("Too small: {} x {} at least", LEAST.0, LEAST.1);
        let lines = cells::wrapped(&words, usize::from(width.max(4)), 0);
        for (y, line) in (0..height).zip(lines) {
            cells.set_line(0, y, &Line::raw(line), width);
        }
        return TopFrame {
            cells,
            page: 1,
            pane_lines: 0,
        };
    }
    let wide = usize::from(width);
    let clock = clock(state);
    let mut lines = head::lines(state, colours, &clock, wide);
    let is_list = matches!(state.pane, TopPane::Jobs);
    let n_details = if is_list && height >= DETAILS_FROM {
        DETAILS
    } else {
        0
    };
    let room = usize::from(height) - lines.len() - n_details - 1;
    let (page, pane_lines) = match is_list {
        true => {
            let (list, page) = table::screen_lines(state, colours, &clock, (wide, room));
            lines.extend(list);
            (page, 0)
        }
        false => {
            let pane = pane::lines(state, colours, &clock, wide);
            let first = state.scrolled.min(pane.len().saturating_sub(room));
            let n_lines = pane.len();
            lines.extend(pane.into_iter().skip(first).take(room));
            (room, n_lines)
        }
    };
    lines.resize(usize::from(height) - n_details - 1, Line::default());
    if n_details > 0 {
        lines.extend(details::lines(state, colours, &clock, wide));
    }
    lines.push(foot(state, colours, wide));
    for (y, line) in (0..height).zip(lines) {
        cells.set_line(0, y, &line, width);
        if line.style != ratatui_core::style::Style::new() {
            cells.set_style(Rect::new(0, y, width, 1), line.style);
        }
    }
    TopFrame {
        cells,
        page,
        pane_lines,
    }
}

/// Returns the overview as text of at most this width, with all jobs and no selection.
pub fn whole_text(state: &TopState, colours: ScreenColours, width: u16) -> String {
    let wide = usize::from(width);
    let clock = clock(state);
    let mut lines = head::lines(state, colours, &clock, wide);
    lines.extend(table::all_lines(state, colours, &clock, wide));
    let mut text = String::new();
    for line in lines {
        let mut cells = Buffer::empty(Rect::new(0, 0, width, 1));
        cells.set_line(0, 0, &line, width);
        text.push_str(&line_text(&cells, colours));
        text.push('\n');
    }
    text
}

fn clock(state: &TopState) -> ShownClock {
    let now = state.answers.as_ref();
    ShownClock::new(
        now.map(|answers| answers.status.now_at.as_str()),
        &state.zone,
    )
}

/// Returns the last line: a question, a message, or the keys.
fn foot(state: &TopState, colours: ScreenColours, width: usize) -> Line<'static> {
    if let Some(pending) = &state.pending {
        let words = format!("{} y: yes, any other key: no", pending.question);
        return Line::styled(cells::clipped(&words, width), colours.question());
    }
    if let Some(notice) = &state.notice {
        let tone = match notice.is_bad {
            true => WordTone::Bad,
            false => WordTone::Good,
        };
        let words = safe_line(&notice.text);
        return Line::styled(cells::clipped(&words, width), colours.of_tone(tone));
    }
    let keys = match &state.pane {
        TopPane::Jobs => {
            "Enter explain  l output  c cancel  h hold  r release  m mine/all  ? help  q quit"
        }
        TopPane::Explanation(_) => {
            "Esc back  l output  c cancel  h hold  r release  up/down scroll  ^C quit"
        }
        TopPane::Output(_) => "Esc back  Enter explain  c cancel  up/down scroll  G end  ^C quit",
        TopPane::Help => "Esc back  up/down scroll  ^C quit",
    };
    Line::styled(cells::clipped(keys, width), colours.of_tone(WordTone::Dim))
}
