//! The reliability diagram: promised probabilities against kept shares.

use tollgate_client::types::{CalibrationFigures, CalibrationReport};
use tollgate_report::svg::{SvgBuilder, TextAnchor};

use super::ChartWidth;

/// The margins of the square of percentages.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 48.0;
/// The number of promises from which a bin has a label, and from which it is drawn large.
const LABELLED: u64 = 5;
const LARGE: u64 = 30;

/// A bin that has a point.
struct BinPoint<'a> {
    promised: f64,
    kept: f64,
    figures: &'a CalibrationFigures,
}

/// The size of a diagram.
#[derive(Clone, Copy)]
struct Size {
    width: f64,
    height: f64,
}

impl Size {
    fn x(self, part: f64) -> f64 {
        LEFT + (self.width - RIGHT - LEFT) * part
    }

    fn y(self, part: f64) -> f64 {
        self.height - BOTTOM - (self.height - BOTTOM - TOP) * part
    }
}

/// Draws the diagram.
pub(crate) fn draw(report: &CalibrationReport, width: ChartWidth) -> String {
    let (w, h) = match width {
        ChartWidth::Wide => (520.0, 330.0),
        ChartWidth::Narrow => (330.0, 260.0),
    };
    let size = Size {
        width: w,
        height: h,
    };
    let points: Vec<BinPoint<'_>> = report
        .bins
        .iter()
        .filter_map(|bin| {
            Some(BinPoint {
                promised: bin.figures.promised?,
                kept: bin.figures.kept_part?,
                figures: &bin.figures,
            })
        })
        .collect();
    let n_promises: u64 = points.iter().map(|point| point.figures.promises).sum();
    let title = format!("Reliability diagram of {n_promises} promises");
    let mut svg = SvgBuilder::in_page(w, h, width.class(), &title);
    draw_axes(&mut svg, size);
    for point in &points {
        draw_point(&mut svg, size, point);
    }
    svg.finish()
}

fn draw_axes(svg: &mut SvgBuilder, size: Size) {
    let (right, bottom) = (size.x(1.0), size.y(0.0));
    for fifth in 0..=5 {
        let part = f64::from(fifth) / 5.0;
        let label = format!("{}", fifth * 20);
        svg.line(
            "class=\"grid\"",
            (LEFT, size.y(part)),
            (right, size.y(part)),
        );
        svg.label(
            "class=\"axis\"",
            (LEFT - 8.0, size.y(part) + 4.0),
            TextAnchor::End,
            &label,
        );
        svg.label(
            "class=\"axis\"",
            (size.x(part), bottom + 18.0),
            TextAnchor::Middle,
            &label,
        );
    }
    svg.line(
        "class=\"ideal\"",
        (size.x(0.0), size.y(0.0)),
        (size.x(1.0), size.y(1.0)),
    );
    svg.label(
        "class=\"axis\"",
        (4.0, TOP - 12.0),
        TextAnchor::Start,
        "kept, %",
    );
    let caption = (right, bottom + 36.0);
    svg.label(
        "class=\"axis\"",
        caption,
        TextAnchor::End,
        "promised with, %",
    );
}

fn draw_point(svg: &mut SvgBuilder, size: Size, point: &BinPoint<'_>) {
    let (at_x, at_y) = (size.x(point.promised), size.y(point.kept));
    let figures = point.figures;
    if let (Some(low), Some(high)) = (figures.kept_part_low, figures.kept_part_high) {
        svg.line(
            "class=\"interval\"",
            (at_x, size.y(low)),
            (at_x, size.y(high)),
        );
    }
    let radius = match figures.promises {
        large if large >= LARGE => 7.0,
        labelled if labelled >= LABELLED => 5.5,
        _ => 3.5,
    };
    svg.circle("class=\"kept\"", (at_x, at_y), radius);
    if figures.promises >= LABELLED {
        // The label stands beside the point, on the side with more room.
        let (anchor, shift) = match point.promised > 0.7 {
            true => (TextAnchor::End, -11.0),
            false => (TextAnchor::Start, 11.0),
        };
        let label = format!("{} of {}", figures.kept, figures.promises);
        svg.label("", (at_x + shift, at_y + 4.0), anchor, &label);
    }
}
