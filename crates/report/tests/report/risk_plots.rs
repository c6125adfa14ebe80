//! Risk analysis plots.

use proptest::prelude::*;
use tollgate_report::{AxisExtent, RiskPlot, RiskPoint, RiskSeries, SeriesStyle};
use tollgate_risk::Risk;

use crate::xml::{drawn, texts};

fn series(name: &str, look: usize, points: &[(f64, f64)]) -> RiskSeries {
    let point = |(index, &(volatility, performance)): (usize, &(f64, f64))| RiskPoint {
        scenario: format!("scenario {}", index + 1),
        risk: Risk {
            performance,
            volatility,
        },
    };
    RiskSeries {
        name: name.to_owned(),
        style: SeriesStyle(look),
        points: points.iter().enumerate().map(point).collect(),
    }
}

fn plot(series: Vec<RiskSeries>) -> RiskPlot {
    RiskPlot {
        title: "wait, SLA".to_owned(),
        volatility: AxisExtent::AtLeast {
            low: 0.0,
            high: 0.1,
        },
        series,
    }
}

#[test]
fn a_small_plot() {
    let plot = plot(vec![
        series("libra", 0, &[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]),
        series("edf-bf", 1, &[(0.1, 0.8), (0.3, 0.4), (0.2, 0.5)]),
    ]);
    let svg = plot.to_svg();
    assert_eq!(svg, plot.to_svg());
    let labels = texts(&svg);
    let ideal = "libra, performance 1.000, volatility 0.000: scenario 1; scenario 2; scenario 3";
    assert!(labels.contains(&ideal.to_owned()), "{labels:?}");
    drawn(&svg);
    insta::assert_snapshot!(svg);
}

#[test]
fn degenerate_points_have_no_trend_line() {
    for points in [
        &[][..],
        &[(0.2, 0.5)],
        &[(0.2, 0.5), (0.2, 0.7)],
        &[(f64::NAN, 0.5), (0.1, f64::INFINITY)],
    ] {
        let svg = plot(vec![series("one", 0, points)]).to_svg();
        texts(&svg);
        drawn(&svg);
        assert_eq!(
            svg.matches("stroke-width=\"1.6\"").count(),
            1,
            "only the legend has a line"
        );
    }
}

proptest! {
    #[test]
    fn any_points_give_a_well_formed_plot(
        points in prop::collection::vec((0.0..=0.5f64, 0.0..=1.0f64), 0..13),
    ) {
        texts(&plot(vec![series("any", 2, &points)]).to_svg());
    }
}
