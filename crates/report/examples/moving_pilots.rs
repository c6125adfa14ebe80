//! Charts of an experiment with pilots that move, after Figures 9 and 10 of Walker (2009):
//!
//! ```sh
//! .ci/parts/engines/agents.sh target/release/tollgate FOLDER
//! cargo run -p tollgate-report --example moving_pilots -- FOLDER/results docs/figures
//! ```
//!
//! It reads `pilots.csv` and `jobs.csv`, and writes `pilots-of-sites` (the first run with moves) and
//! `jobs-with-moves` (all runs) as SVG documents.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use tollgate_report::{
    AxisExtent, ChartAxis, LineChart, LineInterpolation, LinePoint, LineSeries, SeriesStyle,
};
use tollgate_risk::Interval;
use tollgate_study::chart::AxisSpacing;

/// The number of seconds of which the mean is a point.
const WINDOW_S: usize = 20;
/// The runs with moves, and those without: the beginning of their names, and their style.
const KINDS: [(&str, &str, SeriesStyle); 2] = [
    ("moves", "with moves", SeriesStyle(0)),
    ("none", "without", SeriesStyle(1)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(results), Some(figures)) = (arguments.next(), arguments.next()) else {
        return Err("expected the folder of the results, and one for the charts".into());
    };
    fs::create_dir_all(&figures)?;
    let pilots = pilots(&fs::read_to_string(results.join("pilots.csv"))?)?;
    fs::write(figures.join("pilots-of-sites.svg"), pilots.to_svg())?;
    let jobs = jobs(&fs::read_to_string(results.join("jobs.csv"))?)?;
    fs::write(figures.join("jobs-with-moves.svg"), jobs.to_svg())?;
    Ok(())
}

/// Returns the lines of a file of values with a comma between them, without the first one.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// Draws the number of pilots of each site over time.
fn pilots(text: &str) -> Result<LineChart, Box<dyn Error>> {
    let mut sites: Vec<(&str, Vec<LinePoint>)> = Vec::new();
    for row in rows(text).filter(|row| row[0] == "moves-1") {
        let point = LinePoint {
            x: row[1].parse()?,
            y: Some(row[3].parse()?),
            interval: None,
        };
        match sites.iter_mut().find(|(name, _)| *name == row[2]) {
            Some((_, points)) => points.push(point),
            None => sites.push((row[2], vec![point])),
        }
    }
    let series = sites.into_iter().enumerate();
    let series = series.map(|(at, (name, points))| LineSeries {
        name: name.to_owned(),
        style: SeriesStyle(at),
        interpolation: LineInterpolation::Steps,
        points,
        labels: Vec::new(),
    });
    Ok(LineChart {
        title: "Pilots of each site; north is full of other users' jobs".to_owned(),
        x: time(),
        y: from_zero("pilots that wait or run"),
        series: series.collect(),
    })
}

/// Draws the number of jobs that ended a second: the mean of the runs, and their range.
fn jobs(text: &str) -> Result<LineChart, Box<dyn Error>> {
    let mut runs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows(text) {
        runs.entry(row[0]).or_default().push(row[2].parse()?);
    }
    let mut series = Vec::new();
    for (prefix, name, style) in KINDS {
        let runs: Vec<Vec<f64>> = runs
            .iter()
            .filter(|(run, _)| run.starts_with(prefix))
            .map(|(_, ended)| windows(ended))
            .collect();
        let n_points = runs.iter().map(Vec::len).min().unwrap_or(0);
        let points = (0..n_points).map(|at| {
            let rates = || runs.iter().map(|run| run[at]);
            LinePoint {
                x: (at as f64 + 0.5) * WINDOW_S as f64,
                y: Some(rates().sum::<f64>() / runs.len() as f64),
                interval: Some(Interval {
                    low: rates().fold(f64::INFINITY, f64::min),
                    high: rates().fold(0.0, f64::max),
                }),
            }
        });
        series.push(LineSeries {
            name: name.to_owned(),
            style,
            interpolation: LineInterpolation::Plain,
            points: points.collect(),
            labels: Vec::new(),
        });
    }
    Ok(LineChart {
        title: "Jobs of one second that ended a second".to_owned(),
        x: time(),
        y: from_zero("jobs a second"),
        series,
    })
}

/// Returns the mean of each window.
fn windows(ended: &[f64]) -> Vec<f64> {
    let windows = ended.chunks_exact(WINDOW_S);
    windows
        .map(|window| window.iter().sum::<f64>() / window.len() as f64)
        .collect()
}

fn time() -> ChartAxis {
    ChartAxis {
        label: "time".to_owned(),
        unit: Some("s".to_owned()),
        extent: AxisExtent::Fitted,
        spacing: AxisSpacing::Linear,
    }
}

fn from_zero(label: &str) -> ChartAxis {
    ChartAxis {
        label: label.to_owned(),
        unit: None,
        extent: AxisExtent::AtLeast {
            low: 0.0,
            high: 1.0,
        },
        spacing: AxisSpacing::Linear,
    }
}
