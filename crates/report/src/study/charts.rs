//! The pictures that a world draws in addition to the pictures that an experiment lists.

use tollgate_study::chart::{AxisSpacing, ChartTable, SeriesKind, WorldChart};
use tollgate_study::keyword::Keyword;

use crate::axis::{AxisExtent, ChartAxis};
use crate::line_chart::{LineChart, LineInterpolation, LinePoint, LineSeries};
use crate::page::{PageBlock, PageCell, PageFigure, PageSection, PageTable};
use crate::series_style::SeriesStyle;

/// Builds one section per heading, in the order of the first picture of each heading. Pictures come
/// before their tables.
pub(super) fn sections(charts: &[WorldChart]) -> Vec<PageSection> {
    let mut sections: Vec<(String, Vec<PageFigure>, Vec<PageBlock>)> = Vec::new();
    for chart in charts {
        let at = sections
            .iter()
            .position(|(known, ..)| *known == chart.heading);
        let at = at.unwrap_or_else(|| {
            sections.push((chart.heading.clone(), Vec::new(), Vec::new()));
            sections.len() - 1
        });
        let (_, figures, tables) = &mut sections[at];
        if !chart.series.is_empty() {
            figures.push(PageFigure::new(&chart.id, line_chart(chart).to_svg()));
        }
        tables.extend(chart.sheet.as_ref().map(table));
    }
    let section = |(heading, figures, tables): (String, Vec<PageFigure>, Vec<PageBlock>)| {
        let pictures = (!figures.is_empty()).then_some(PageBlock::Figures { figures });
        PageSection {
            heading,
            blocks: pictures.into_iter().chain(tables).collect(),
        }
    };
    sections.into_iter().map(section).collect()
}

/// Builds a table. A column of numbers is set as numbers.
fn table(sheet: &ChartTable) -> PageBlock {
    let cell = |text: &String| match text.parse::<f64>() {
        Ok(_) => PageCell::number(text),
        Err(_) => PageCell::text(text),
    };
    let first = sheet.rows.first();
    let head = sheet.head.iter().enumerate().map(|(column, text)| {
        let numbers = first.and_then(|row| row.get(column)?.parse::<f64>().ok());
        match numbers {
            Some(_) => PageCell::number(text),
            None => PageCell::text(text),
        }
    });
    PageBlock::Table(PageTable {
        caption: sheet.caption.clone(),
        head: head.collect(),
        rows: sheet
            .rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect(),
    })
}

fn line_chart(chart: &WorldChart) -> LineChart {
    let axis = |label: &str, extent, spacing: Keyword<AxisSpacing>| ChartAxis {
        label: label.to_owned(),
        unit: None,
        extent,
        spacing: spacing.0,
    };
    let extent = match chart.from_zero {
        true => AxisExtent::AtLeast {
            low: 0.0,
            high: 0.0,
        },
        false => AxisExtent::Fitted,
    };
    let series = chart
        .series
        .iter()
        .enumerate()
        .map(|(at, series)| LineSeries {
            name: series.name.clone(),
            style: SeriesStyle(at),
            interpolation: match series.drawn {
                SeriesKind::Lines => LineInterpolation::Marked,
                SeriesKind::Curve => LineInterpolation::Plain,
                SeriesKind::Steps => LineInterpolation::Steps,
                SeriesKind::Points => LineInterpolation::Apart,
                SeriesKind::FaintPoints => LineInterpolation::Faint,
            },
            points: series.points.iter().map(point).collect(),
            labels: series.labels.clone(),
        });
    LineChart {
        title: chart.title.clone(),
        x: axis(&chart.x, AxisExtent::Fitted, chart.x_spacing),
        y: axis(&chart.y, extent, chart.y_spacing),
        series: series.collect(),
    }
}

fn point(&[x, y]: &[f64; 2]) -> LinePoint {
    LinePoint {
        x,
        y: Some(y),
        interval: None,
    }
}
