//! Styles that tell the lines of a chart apart: colour, shape of the marks, and dashes.

use std::fmt::{self, Display};

use crate::svg::{PixelNumber, put};

/// The style of the series of one policy. The same number has the same style in every picture, and
/// styles repeat after [`SeriesStyle::COUNT`].
///
/// The colours are those of Okabe & Ito (*Color Universal Design*, 2008), which colour-blind
/// readers can tell apart. Yellow is left out because it is too faint on white. Neighbouring
/// colours also differ in lightness, and no two styles have the same mark or dashes, so that charts
/// printed without colour can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesStyle(pub usize);

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkShape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Cross,
    Plus,
    Bar,
    Star,
}

/// Colour, mark and dashes.
type StyleEntry = (&'static str, MarkShape, &'static str);

const STYLES: [StyleEntry; SeriesStyle::COUNT] = [
    ("#0072b2", MarkShape::Circle, ""),
    ("#d55e00", MarkShape::Square, "7 3"),
    ("#009e73", MarkShape::Triangle, "2 2.5"),
    ("#a8578a", MarkShape::Diamond, "9 3 2 3"),
    ("#b57b00", MarkShape::TriangleDown, "4 2"),
    ("#2f8fc4", MarkShape::Cross, "12 3"),
    ("#222222", MarkShape::Plus, "5 2 1.5 2 1.5 2"),
    ("#777777", MarkShape::Bar, "1 3"),
    ("#7a4fbf", MarkShape::Star, "14 3 5 3"),
];

impl SeriesStyle {
    /// The number of styles.
    pub const COUNT: usize = 9;

    fn entry(self) -> StyleEntry {
        STYLES[self.0 % Self::COUNT]
    }

    /// Returns the attributes of a group in the colour of this style. Elements of the group refer
    /// to the colour as `currentColor`.
    pub(crate) fn group(self) -> impl Display {
        ColourGroup(self)
    }

    /// Returns the attribute that makes a line dashed. Empty for a solid line.
    pub(crate) fn dashes(self) -> String {
        match self.entry().2 {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        }
    }

    /// Returns the path of a mark of this style around a point, about `radius` in each direction.
    pub(crate) fn mark(self, (x, y): (f64, f64), radius: f64) -> String {
        let r = radius;
        match self.entry().1 {
            MarkShape::Circle => circle((x, y), r),
            MarkShape::Square => {
                let r = r * 0.88;
                closed(&[
                    (x - r, y - r),
                    (x + r, y - r),
                    (x + r, y + r),
                    (x - r, y + r),
                ])
            }
            MarkShape::Triangle => closed(&[
                (x, y - 1.15 * r),
                (x + 1.1 * r, y + 0.8 * r),
                (x - 1.1 * r, y + 0.8 * r),
            ]),
            MarkShape::Diamond => closed(&[
                (x, y - 1.25 * r),
                (x + 1.25 * r, y),
                (x, y + 1.25 * r),
                (x - 1.25 * r, y),
            ]),
            MarkShape::TriangleDown => closed(&[
                (x, y + 1.15 * r),
                (x + 1.1 * r, y - 0.8 * r),
                (x - 1.1 * r, y - 0.8 * r),
            ]),
            MarkShape::Cross => strokes(&[
                ((x - r, y - r), (x + r, y + r)),
                ((x - r, y + r), (x + r, y - r)),
            ]),
            MarkShape::Plus => strokes(&[
                ((x - 1.2 * r, y), (x + 1.2 * r, y)),
                ((x, y - 1.2 * r), (x, y + 1.2 * r)),
            ]),
            MarkShape::Star => strokes(&[
                ((x, y - 1.2 * r), (x, y + 1.2 * r)),
                ((x - r, y - 0.6 * r), (x + r, y + 0.6 * r)),
                ((x - r, y + 0.6 * r), (x + r, y - 0.6 * r)),
            ]),
            MarkShape::Bar => closed(&[
                (x - 1.3 * r, y - 0.5 * r),
                (x + 1.3 * r, y - 0.5 * r),
                (x + 1.3 * r, y + 0.5 * r),
                (x - 1.3 * r, y + 0.5 * r),
            ]),
        }
    }
}

struct ColourGroup(SeriesStyle);

impl Display for ColourGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.0.0 % SeriesStyle::COUNT;
        let colour = self.0.entry().0;
        write!(f, "class=\"s{index}\" color=\"{colour}\"")
    }
}

type PixelPoint = (f64, f64);

fn circle((x, y): PixelPoint, r: f64) -> String {
    let (left, r2, r) = (PixelNumber(x - r), PixelNumber(2.0 * r), PixelNumber(r));
    format!(
        "M{left} {}a{r} {r} 0 1 0 {r2} 0a{r} {r} 0 1 0 -{r2} 0z",
        PixelNumber(y)
    )
}

fn closed(corners: &[PixelPoint]) -> String {
    let mut path = String::new();
    for (index, &(x, y)) in corners.iter().enumerate() {
        let pen = if index == 0 { 'M' } else { 'L' };
        put(
            &mut path,
            format_args!("{pen}{} {}", PixelNumber(x), PixelNumber(y)),
        );
    }
    path.push('z');
    path
}

fn strokes(lines: &[(PixelPoint, PixelPoint)]) -> String {
    let mut path = String::new();
    for &((x1, y1), (x2, y2)) in lines {
        put(
            &mut path,
            format_args!(
                "M{} {}L{} {}",
                PixelNumber(x1),
                PixelNumber(y1),
                PixelNumber(x2),
                PixelNumber(y2)
            ),
        );
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_differ_in_colour_mark_and_dashes() {
        for (index, a) in STYLES.iter().enumerate() {
            for b in &STYLES[..index] {
                assert!(a.0 != b.0 && a.1 != b.1 && a.2 != b.2, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn styles_repeat_after_the_last() {
        assert_eq!(
            SeriesStyle(1).mark((5.0, 5.0), 3.0),
            SeriesStyle(1 + SeriesStyle::COUNT).mark((5.0, 5.0), 3.0)
        );
    }
}
