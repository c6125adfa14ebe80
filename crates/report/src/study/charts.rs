//! The pictures that a world draws beside those that an experiment lists.

use tollgate_study::chart::{Chart, Drawn, Sheet};

use crate::axis::{Axis, Extent};
use crate::line_chart::{Joined, LineChart, Point, Series};
use crate::look::Look;
use crate::page::{Block, Cell, Figure, Section, Table};

/// A section a heading, in the order in which the first picture of each comes: pictures, then
/// their tables.
pub(super) fn sections(charts: &[Chart]) -> Vec<Section> {
    let mut sections: Vec<(String, Vec<Figure>, Vec<Block>)> = Vec::new();
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
            figures.push(Figure::new(&chart.id, line_chart(chart).to_svg()));
        }
        tables.extend(chart.sheet.as_ref().map(table));
    }
    let section = |(heading, figures, tables): (String, Vec<Figure>, Vec<Block>)| {
        let pictures = (!figures.is_empty()).then_some(Block::Figures { figures });
        Section {
            heading,
            blocks: pictures.into_iter().chain(tables).collect(),
        }
    };
    sections.into_iter().map(section).collect()
}

/// A column of numbers is set as one.
fn table(sheet: &Sheet) -> Block {
    let cell = |text: &String| match text.parse::<f64>() {
        Ok(_) => Cell::number(text),
        Err(_) => Cell::words(text),
    };
    let first = sheet.rows.first();
    let head = sheet.head.iter().enumerate().map(|(column, text)| {
        let numbers = first.and_then(|row| row.get(column)?.parse::<f64>().ok());
        match numbers {
            Some(_) => Cell::number(text),
            None => Cell::words(text),
        }
    });
    Block::Table(Table {
        caption: sheet.caption.clone(),
        head: head.collect(),
        rows: sheet
            .rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect(),
    })
}

fn line_chart(chart: &Chart) -> LineChart {
    let axis = |label: &str, extent| Axis {
        label: label.to_owned(),
        unit: None,
        extent,
    };
    let extent = match chart.from_zero {
        true => Extent::AtLeast {
            low: 0.0,
            high: 0.0,
        },
        false => Extent::Fitted,
    };
    let series = chart.series.iter().enumerate().map(|(at, series)| Series {
        name: series.name.clone(),
        look: Look(at),
        joined: match series.drawn {
            Drawn::Lines => Joined::Marked,
            Drawn::Curve => Joined::Plain,
            Drawn::Steps => Joined::Steps,
            Drawn::Points => Joined::Apart,
        },
        points: series.points.iter().map(point).collect(),
        labels: series.labels.clone(),
    });
    LineChart {
        title: chart.title.clone(),
        x: axis(&chart.x, Extent::Fitted),
        y: axis(&chart.y, extent),
        series: series.collect(),
    }
}

fn point(&[x, y]: &[f64; 2]) -> Point {
    Point {
        x,
        y: Some(y),
        interval: None,
    }
}
