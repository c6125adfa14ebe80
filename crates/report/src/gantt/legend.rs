//! The colour key of a Gantt chart.

use crate::font;
use crate::svg::{PixelNumber, SvgBuilder, TextAnchor};

use super::LEFT;

const SIZE: f64 = 12.0;

/// A colour and its meaning. The colours differ in lightness as much as in hue.
pub(super) struct BarColour {
    pub(super) class: &'static str,
    pub(super) colour: &'static str,
    label: &'static str,
}

/// A job that met its deadline, or has no deadline.
pub(super) const MET: BarColour = BarColour {
    class: "met",
    colour: "#8fc1e3",
    label: "job in time, or without a deadline",
};
/// A job that missed its deadline, up to the deadline.
pub(super) const MISSED: BarColour = BarColour {
    class: "missed",
    colour: "#f0a868",
    label: "late job, before its deadline",
};
/// A job past its deadline.
pub(super) const LATE: BarColour = BarColour {
    class: "late",
    colour: "#a63603",
    label: "late job, past its deadline",
};
/// The instant for which processors were reserved for a job.
pub(super) const RESERVED: BarColour = BarColour {
    class: "reserved",
    colour: "#1a3a52",
    label: "reserved start",
};
/// A rejected job.
pub(super) const REJECTED: BarColour = BarColour {
    class: "rejected",
    colour: "#444444",
    label: "rejected job, at its decision",
};
/// Jobs that wait.
pub(super) const WAITING: BarColour = BarColour {
    class: "waiting",
    colour: "#9a9a9a",
    label: "processors that waiting jobs ask for",
};

/// Draws all colours in a row on the base line `y`.
pub(super) fn draw(svg: &mut SvgBuilder, y: f64) {
    let mut x = LEFT;
    for tint in [MET, MISSED, LATE, RESERVED, REJECTED, WAITING] {
        tint.open(svg);
        let (left, top) = (PixelNumber(x), PixelNumber(y - 9.0));
        let sample = if tint.class == REJECTED.class {
            format!("M{left} {top}h1v10h-1zm5 0h1v10h-1zm3 0h1v10h-1z")
        } else if tint.class == RESERVED.class {
            format!("M{} {top}h1.5v10h-1.5z", PixelNumber(x + 8.0))
        } else {
            format!("M{left} {top}h18v10h-18z")
        };
        svg.path("fill=\"currentColor\"", &sample, None);
        svg.close();
        svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
        svg.text((x + 24.0, y), TextAnchor::Start, SIZE, tint.label);
        svg.close();
        x += 24.0 + font::width(tint.label, SIZE) + 22.0;
    }
}

impl BarColour {
    /// Opens a group in this colour.
    pub(super) fn open(&self, svg: &mut SvgBuilder) {
        svg.open(format_args!(
            "class=\"{}\" color=\"{}\"",
            self.class, self.colour
        ));
    }
}
