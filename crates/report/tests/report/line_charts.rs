//! Line charts with bands.

use proptest::prelude::*;
use tollgate_report::{
    AxisExtent, ChartAxis, LineChart, LineInterpolation, LinePoint, LineSeries, SeriesStyle,
};
use tollgate_risk::Interval;
use tollgate_study::chart::AxisSpacing;

use crate::xml::{drawn, texts};

fn axis(label: &str, unit: Option<&str>) -> ChartAxis {
    ChartAxis {
        label: label.to_owned(),
        unit: unit.map(str::to_owned),
        spacing: AxisSpacing::Linear,
        extent: AxisExtent::Fitted,
    }
}

fn point(x: f64, y: f64) -> LinePoint {
    LinePoint {
        x,
        y: Some(y),
        interval: None,
    }
}

fn chart(series: Vec<LineSeries>) -> LineChart {
    LineChart {
        title: "Jobs fulfilled".to_owned(),
        x: axis("arrival delay factor", None),
        y: axis("jobs", Some("%")),
        series,
    }
}

fn series(name: &str, look: usize, points: Vec<LinePoint>) -> LineSeries {
    LineSeries {
        name: name.to_owned(),
        style: SeriesStyle(look),
        interpolation: LineInterpolation::Marked,
        labels: Vec::new(),
        points,
    }
}

fn small() -> LineChart {
    let sure = |x, y, low, high| LinePoint {
        interval: Some(Interval { low, high }),
        ..point(x, y)
    };
    let libra = vec![
        sure(0.0, 20.0, 18.0, 22.0),
        sure(0.5, 50.0, 48.0, 52.0),
        sure(1.0, 60.0, 60.0, 61.0),
    ];
    let gap = LinePoint {
        y: None,
        ..point(0.5, 0.0)
    };
    let edf = vec![point(0.0, 30.0), gap, point(1.0, 40.0)];
    chart(vec![series("libra", 0, libra), series("edf", 1, edf)])
}

#[test]
fn a_small_chart() {
    let svg = small().to_svg();
    assert_eq!(svg, small().to_svg());
    texts(&svg);
    drawn(&svg);
    insta::assert_snapshot!(svg);
}

#[test]
fn line_has_a_gap_at_a_missing_value() {
    let svg = small().to_svg();
    let labels = texts(&svg);
    assert!(
        labels.contains(&"libra at 0.500: 50.0 (48.0 to 52.0)".to_owned()),
        "{labels:?}"
    );
    assert_eq!(
        labels
            .iter()
            .filter(|words| words.starts_with("edf at"))
            .count(),
        2
    );
    let lines = svg.matches("stroke-width=\"1.6\"").count();
    assert_eq!(
        lines, 3,
        "two in the legend, and none joins two lone points"
    );
}

#[test]
fn markup_in_names_is_escaped() {
    let name = "a<b> & \"c\" <script>alert('x')</script>";
    let mut chart = small();
    name.clone_into(&mut chart.title);
    name.clone_into(&mut chart.x.label);
    name.clone_into(&mut chart.series[0].name);
    let labels = texts(&chart.to_svg());
    assert!(
        labels.iter().filter(|words| words.contains(name)).count() >= 3,
        "{labels:?}"
    );
}

#[test]
fn degenerate_series_give_a_well_formed_chart() {
    let inputs = [
        vec![],
        vec![series("none", 0, vec![])],
        vec![series("one", 0, vec![point(3.0, 7.0)])],
        vec![series("equal", 0, vec![point(1.0, 5.0); 3])],
        vec![series(
            "nan",
            0,
            vec![point(f64::NAN, 1.0), point(1.0, f64::INFINITY)],
        )],
        vec![series(
            "huge",
            0,
            vec![point(-1e300, 1.0), point(1e99, -1e99)],
        )],
    ];
    for input in inputs {
        let svg = chart(input).to_svg();
        texts(&svg);
        drawn(&svg);
    }
}

proptest! {
    #[test]
    fn any_points_give_a_well_formed_chart(
        points in prop::collection::vec((any::<f64>(), prop::option::of(any::<f64>()), any::<(f64, f64)>()), 0..20),
        name in "\\PC{0,40}",
    ) {
        let points = points.into_iter().map(|(x, y, (a, b))| LinePoint {
            x,
            y,
            interval: Some(Interval { low: a.min(b), high: a.max(b) }),
        });
        let svg = chart(vec![series(&name, 3, points.collect())]).to_svg();
        texts(&svg);
    }
}
