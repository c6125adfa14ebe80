//! Charts of a series of jobs: forecasts, actual run times, and changes of mode.

use crate::axis::{AxisExtent, ChartAxis};
use crate::legend::draw_mark;
use crate::line_chart::polyline;
use crate::plot_area::{ChartDecor, PlotArea};
use crate::series_style::SeriesStyle;
use crate::svg::{PixelNumber, SvgBuilder};
use tollgate_study::chart::AxisSpacing;

/// A chart of forecasts and actual run times, one job after the other, as in Figures 5 and 6 of
/// Lazarevic et al. (2005). Points are run times, the line is the forecast, and the band reaches
/// from the forecast to the bound. Diamonds are alarms. An upright line marks the start of a new
/// mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastChart {
    /// The text above the chart.
    pub title: String,
    /// The jobs in order of submission.
    pub steps: Vec<ForecastChartJob>,
}

/// One job of a series. Times that are not positive are left out of the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastChartJob {
    /// The actual run time of the job, in seconds.
    pub actual_s: f64,
    /// The forecast run time of the job, in seconds.
    pub forecast_s: f64,
    /// The quoted upper bound of the run time, in seconds.
    pub bound_s: f64,
    /// The effect of the job on the mode of its series.
    pub sign: ModeMarker,
}

/// The effect of a job on the mode of its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModeMarker {
    /// The job fits the current mode.
    Usual,
    /// The job is unusual for the current mode.
    Alarm,
    /// The job starts a new mode.
    NewMode,
}

/// The styles of run times, forecasts, alarms and new modes, in this order.
const ACTUAL: SeriesStyle = SeriesStyle(7);
const FORECAST: SeriesStyle = SeriesStyle(0);
const ALARM: SeriesStyle = SeriesStyle(3);
const MODE: SeriesStyle = SeriesStyle(1);

impl ForecastChart {
    /// Returns the chart as an SVG document with a logarithmic axis of time.
    pub fn to_svg(&self) -> String {
        let x = ChartAxis {
            label: "job of the series, the last ones".to_owned(),
            unit: None,
            extent: AxisExtent::Fitted,
            spacing: AxisSpacing::Linear,
        };
        let y = ChartAxis {
            label: "run time, as a power of ten".to_owned(),
            unit: Some("s".to_owned()),
            extent: AxisExtent::Fitted,
            spacing: AxisSpacing::Linear,
        };
        let around = ChartDecor {
            title: &self.title,
            x: &x,
            y: &y,
            names: vec![
                ("run time", ACTUAL),
                ("forecast, up to its 0.90 bound", FORECAST),
                ("alarm", ALARM),
                ("new mode", MODE),
            ],
            notes: Vec::new(),
        };
        let corners = (1..).zip(&self.steps).flat_map(|(nth, step)| {
            let times = [step.actual_s, step.forecast_s, step.bound_s];
            times.map(|secs| (f64::from(nth), log(secs)))
        });
        let (mut svg, frame) = PlotArea::start(&around, corners);
        self.draw_modes(&mut svg, &frame);
        self.draw_forecasts(&mut svg, &frame);
        self.draw_jobs(&mut svg, &frame);
        svg.finish()
    }

    fn positions(
        &self,
        frame: &PlotArea,
        secs: impl Fn(&ForecastChartJob) -> f64,
    ) -> Vec<(f64, f64)> {
        let places = (1..).zip(&self.steps);
        places
            .filter_map(|(nth, step)| frame.position((f64::from(nth), log(secs(step)))))
            .collect()
    }

    fn draw_modes(&self, svg: &mut SvgBuilder, frame: &PlotArea) {
        let (low, high) = frame.y.ends();
        let new = (1..)
            .zip(&self.steps)
            .filter(|(_, step)| step.sign == ModeMarker::NewMode);
        let lines: String = new
            .filter_map(|(nth, _)| {
                let from = frame.position((f64::from(nth), low))?;
                let to = frame.position((f64::from(nth), high))?;
                Some(format!(
                    "M{} {}V{}",
                    PixelNumber(from.0),
                    PixelNumber(from.1),
                    PixelNumber(to.1)
                ))
            })
            .collect();
        if !lines.is_empty() {
            svg.open(MODE.group());
            let dashes = MODE.dashes();
            svg.path(
                format!("stroke=\"currentColor\" stroke-width=\"1.5\"{dashes}"),
                &lines,
                None,
            );
            svg.close();
        }
    }

    fn draw_forecasts(&self, svg: &mut SvgBuilder, frame: &PlotArea) {
        let forecast = self.positions(frame, |step| step.forecast_s);
        let bound = self.positions(frame, |step| step.bound_s);
        if forecast.is_empty() {
            return;
        }
        let band = polyline(forecast.iter().copied().chain(bound.into_iter().rev())) + "z";
        svg.open(FORECAST.group());
        svg.path("fill=\"currentColor\" fill-opacity=\"0.16\"", &band, None);
        let line = polyline(forecast.into_iter());
        svg.path(
            "fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\"",
            &line,
            None,
        );
        svg.close();
    }

    fn draw_jobs(&self, svg: &mut SvgBuilder, frame: &PlotArea) {
        let dots: String = self
            .positions(frame, |step| step.actual_s)
            .into_iter()
            .map(|(x, y)| format!("M{} {}h0", PixelNumber(x), PixelNumber(y)))
            .collect();
        svg.open(ACTUAL.group());
        svg.path(
            "fill=\"none\" stroke=\"currentColor\" stroke-width=\"3\" stroke-linecap=\"round\"",
            &dots,
            None,
        );
        svg.close();
        svg.open(ALARM.group());
        for (nth, step) in (1..).zip(&self.steps) {
            if step.sign == ModeMarker::Alarm
                && let Some(place) = frame.position((f64::from(nth), log(step.actual_s)))
            {
                let words = format!("alarm at job {nth}: {:.0} s", step.actual_s);
                draw_mark(svg, ALARM, place, 0, Some(&words));
            }
        }
        svg.close();
    }
}

/// Returns the decimal logarithm. The result is not finite, and so not drawn, for a time that is
/// not positive.
fn log(secs: f64) -> f64 {
    if secs > 0.0 {
        secs.log10()
    } else {
        f64::INFINITY
    }
}
