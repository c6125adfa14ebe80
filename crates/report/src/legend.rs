//! The legend, in as many rows above the data as the names need. The legend never covers the data.

use crate::font;
use crate::series_style::SeriesStyle;
use crate::svg::{PixelNumber, SvgBuilder, TextAnchor, put};

/// The font size of the legend, in pixels.
const SIZE: f64 = 11.5;
/// The distance from one row to the next.
const ROW: f64 = 17.0;
/// The length of the sample of a line.
const SAMPLE: f64 = 28.0;
/// The gap between a sample and its name.
const GAP: f64 = 5.0;
/// The gap between a name and the next sample.
const SPACE: f64 = 16.0;

/// Names and styles, arranged in rows.
pub(crate) struct ChartLegend<'a> {
    entries: Vec<LegendEntry<'a>>,
    rows: usize,
}

struct LegendEntry<'a> {
    name: &'a str,
    style: SeriesStyle,
    x: f64,
    row: usize,
}

impl<'a> ChartLegend<'a> {
    /// Arranges entries from left to right within `width`, like words in a text. A name wider than
    /// `width` has a row of its own.
    pub(crate) fn arranged(
        names: impl Iterator<Item = (&'a str, SeriesStyle)>,
        width: f64,
    ) -> Self {
        let mut entries: Vec<LegendEntry<'a>> = Vec::new();
        let (mut x, mut row) = (0.0, 0);
        for (name, look) in names {
            let needed = SAMPLE + GAP + font::width(name, SIZE);
            if x > 0.0 && x + needed > width {
                (x, row) = (0.0, row + 1);
            }
            entries.push(LegendEntry {
                name,
                style: look,
                x,
                row,
            });
            x += needed + SPACE;
        }
        let rows = entries.last().map_or(0, |entry| entry.row + 1);
        Self { entries, rows }
    }

    /// Returns the height of the legend in pixels.
    pub(crate) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    /// Draws the legend with its top left corner at a point.
    pub(crate) fn draw(&self, svg: &mut SvgBuilder, (left, top): (f64, f64)) {
        for (order, entry) in self.entries.iter().enumerate() {
            let x = left + entry.x;
            let y = top + (entry.row as f64 + 0.5) * ROW;
            svg.open(entry.style.group());
            draw_line(
                svg,
                entry.style,
                &format!(
                    "M{} {}h{}",
                    PixelNumber(x),
                    PixelNumber(y),
                    PixelNumber(SAMPLE)
                ),
                1.0,
            );
            draw_mark(svg, entry.style, (x + SAMPLE / 2.0, y), order, None);
            svg.close();
            svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
            let base = y + SIZE * 0.35;
            svg.text(
                (x + SAMPLE + GAP, base),
                TextAnchor::Start,
                SIZE,
                entry.name,
            );
            svg.close();
        }
    }
}

/// Draws a line in the style `look` with an opacity of 0 to 1. Its group gives the colour.
pub(crate) fn draw_line(svg: &mut SvgBuilder, look: SeriesStyle, data: &str, opacity: f64) {
    let mut dashes = look.dashes();
    if opacity < 1.0 {
        put(&mut dashes, format_args!(" stroke-opacity=\"{opacity}\""));
    }
    let attributes = format_args!(
        "fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\" \
         stroke-linejoin=\"round\"{dashes}"
    );
    svg.path(attributes, data, None);
}

/// Draws a mark in the style `look`. Marks are translucent, so that marks close together can all be
/// seen. `order` is the position of the series of the mark. Later marks are drawn on top and are
/// smaller, so that the marks of several policies at one place can all be seen.
pub(crate) fn draw_mark(
    svg: &mut SvgBuilder,
    look: SeriesStyle,
    at: (f64, f64),
    order: usize,
    title: Option<&str>,
) {
    const ATTRIBUTES: &str = "fill=\"currentColor\" fill-opacity=\"0.25\" \
                              stroke=\"currentColor\" stroke-width=\"1.3\"";
    let radius = (MAX_MARK_RADIUS - 0.55 * order as f64).max(MIN_MARK_RADIUS);
    svg.path(ATTRIBUTES, &look.mark(at, radius), title);
}

/// Draws a small outlined mark that other marks stand out from.
pub(crate) fn draw_faint_mark(
    svg: &mut SvgBuilder,
    look: SeriesStyle,
    at: (f64, f64),
    title: &str,
) {
    const ATTRIBUTES: &str = "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.35\"";
    svg.path(ATTRIBUTES, &look.mark(at, MIN_MARK_RADIUS), Some(title));
}

/// The radius of the marks of the first series, in pixels.
const MAX_MARK_RADIUS: f64 = 4.6;
/// The minimum radius at which a mark can be made out, in pixels.
const MIN_MARK_RADIUS: f64 = 2.6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_wrap_to_the_next_row() {
        let names = ["edf", "libra", "libra-risk"];
        let looks = || {
            names
                .iter()
                .enumerate()
                .map(|(i, name)| (*name, SeriesStyle(i)))
        };
        assert_eq!(ChartLegend::arranged(looks(), 400.0).rows, 1);
        assert_eq!(ChartLegend::arranged(looks(), 150.0).rows, 2);
        assert_eq!(ChartLegend::arranged(looks(), 1.0).rows, 3);
        assert_eq!(ChartLegend::arranged(looks().take(0), 1.0).height(), 0.0);
    }
}
