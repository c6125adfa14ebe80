//! SVG that follows the style sheet of the window: classes instead of colours.
//!
//! | module | picture |
//! |---|---|
//! | `timeline` | nodes over time: past, present and expected; jobs that wait below |
//! | `expectation` | the expected end of a job as time went by |
//! | `reliability` | promised probabilities against kept shares |
//! | `time_axis` | round instants for an axis |

pub(crate) mod expectation;
pub(crate) mod reliability;
pub(crate) mod time_axis;
pub mod timeline;

/// The width for which a chart is drawn. A page has both, and the style sheet shows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartWidth {
    /// A screen.
    Wide,
    /// A phone.
    Narrow,
}

impl ChartWidth {
    /// Returns the class of the picture.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}
