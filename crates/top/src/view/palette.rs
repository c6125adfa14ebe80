//! Styles, with and without colour. A colour never says anything that the words do not.

use ratatui_core::style::{Color, Modifier, Style};
use tollgate_overview::job_facts::WordTone;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenColours {
    /// It is.
    Shown,
    /// It is bold, dim or reversed at most.
    None,
}

impl ScreenColours {
    fn coloured(self, colour: Color, plain: Style) -> Style {
        match self {
            Self::Shown => plain.fg(colour),
            Self::None => plain,
        }
    }

    /// Returns the style of words.
    pub(super) fn of_tone(self, tone: WordTone) -> Style {
        match tone {
            WordTone::Plain => Style::new(),
            WordTone::Good => self.coloured(Color::Green, Style::new()),
            WordTone::Bad => self.coloured(Color::Red, bold()),
            WordTone::Dim => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Returns the style of headings.
    pub(super) fn heading(self) -> Style {
        self.coloured(Color::Cyan, bold())
    }

    /// Returns the style of something that waits for a person.
    pub(super) fn question(self) -> Style {
        self.coloured(Color::Yellow, bold())
    }
}

/// Returns the style of the selected line.
pub(super) const fn selected() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Returns the style of names of columns.
pub(super) const fn column_names() -> Style {
    Style::new().add_modifier(Modifier::UNDERLINED)
}

const fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}
