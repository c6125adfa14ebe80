//! The pictures that a world draws beside those that an experiment lists.

use tollgate_study::chart::{Chart, Drawn};

use crate::axis::{Axis, Extent};
use crate::line_chart::{Joined, LineChart, Point, Series};
use crate::look::Look;
use crate::page::{Block, Figure, Section};

/// A section a heading, in the order in which the first picture of each comes.
pub(super) fn sections(charts: &[Chart]) -> Vec<Section> {
    let mut sections: Vec<(String, Vec<Figure>)> = Vec::new();
    for chart in charts {
        let figure = Figure::new(&chart.id, line_chart(chart).to_svg());
        match sections
            .iter_mut()
            .find(|(heading, _)| *heading == chart.heading)
        {
            Some((_, figures)) => figures.push(figure),
            None => sections.push((chart.heading.clone(), vec![figure])),
        }
    }
    let section = |(heading, figures)| Section {
        heading,
        blocks: vec![Block::Figures { figures }],
    };
    sections.into_iter().map(section).collect()
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
