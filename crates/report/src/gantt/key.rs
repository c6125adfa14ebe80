//! Which colour of a Gantt chart means what.

use crate::font;
use crate::svg::{Anchor, Px, Svg};

use super::LEFT;

const SIZE: f64 = 12.0;

/// A colour and what it means. The colours differ in lightness as much as in hue.
pub(super) struct Tint {
    pub(super) class: &'static str,
    pub(super) colour: &'static str,
    words: &'static str,
}

/// A job that kept its deadline, or has none.
pub(super) const MET: Tint = Tint {
    class: "met",
    colour: "#8fc1e3",
    words: "job in time, or without a deadline",
};
/// A job that missed its deadline, before it passed.
pub(super) const MISSED: Tint = Tint {
    class: "missed",
    colour: "#f0a868",
    words: "late job, before its deadline",
};
/// A job after its deadline.
pub(super) const LATE: Tint = Tint {
    class: "late",
    colour: "#a63603",
    words: "late job, past its deadline",
};
/// A rejected job.
pub(super) const REJECTED: Tint = Tint {
    class: "rejected",
    colour: "#444444",
    words: "rejected job, at its decision",
};
/// Jobs that wait.
pub(super) const WAITING: Tint = Tint {
    class: "waiting",
    colour: "#9a9a9a",
    words: "processors that waiting jobs ask for",
};

/// Draws all of them in a row on the base line `y`.
pub(super) fn draw(svg: &mut Svg, y: f64) {
    let mut x = LEFT;
    for tint in [MET, MISSED, LATE, REJECTED, WAITING] {
        tint.open(svg);
        let (left, top) = (Px(x), Px(y - 9.0));
        let sample = if tint.class == REJECTED.class {
            format!("M{left} {top}h1v10h-1zm5 0h1v10h-1zm3 0h1v10h-1z")
        } else {
            format!("M{left} {top}h18v10h-18z")
        };
        svg.path("fill=\"currentColor\"", &sample, None);
        svg.close();
        svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
        svg.text((x + 24.0, y), Anchor::Start, SIZE, tint.words);
        svg.close();
        x += 24.0 + font::width(tint.words, SIZE) + 22.0;
    }
}

impl Tint {
    /// Opens a group in this colour.
    pub(super) fn open(&self, svg: &mut Svg) {
        svg.open(format_args!(
            "class=\"{}\" color=\"{}\"",
            self.class, self.colour
        ));
    }
}
