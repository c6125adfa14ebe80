//! Gantt charts: the nodes and times of every job, and the outcome of jobs that never ran.

use tollgate_model::{Decision, Instant, NodeRange, Outcome, Span};

mod bars;
mod legend;
mod panel;
mod time_axis;
mod waiting;

use self::bars::JobBar;
use self::panel::GanttPanel;
use self::time_axis::TimeTickStep;
use self::waiting::WaitingCurve;
use crate::font;
use crate::svg::{SvgBuilder, TextAnchor};

/// The width of a chart in pixels.
const WIDTH: f64 = 1440.0;
/// The margin left of the nodes, for their numbers and for labels.
const LEFT: f64 = 64.0;
/// The margin right of the nodes.
const RIGHT: f64 = 16.0;
const TITLE_SIZE: f64 = 16.0;
/// The size of the title of a schedule among several, and the height of its line.
const LABEL_SIZE: f64 = 13.0;
const LABEL_HEIGHT: f64 = 18.0;
const INK: &str = "class=\"ink\" color=\"#222222\" fill=\"currentColor\"";
/// The distance from the top edge to the first line.
const TOP: f64 = 62.0;
/// The approximate number of jobs on one line that can still be told apart.
const JOBS_PER_LINE: usize = 500;
/// The maximum number of lines. A longer chart would be scrolled past instead of read.
const MAX_LINES: i64 = 16;

/// A chart of a schedule, with nodes down and time across. A long chart is broken into lines, like
/// a text, so that jobs stay wide enough to be seen.
///
/// Each line has three parts, from the top. They are a tick for each rejected job at the instant of its
/// decision, the nodes with their jobs, and the number of processors that waiting jobs ask for. A job that
/// misses its deadline has another colour, and a darker colour from the deadline on. A dark line across the
/// nodes of a job marks the instant for which the nodes were last reserved. Where nodes are shared, jobs are
/// translucent.
#[derive(Clone, Copy, Debug)]
pub struct GanttChart<'a> {
    /// The text above the chart.
    pub title: &'a str,
    /// The number of nodes. Jobs or parts of jobs on nodes beyond this number are left out.
    pub nodes: u32,
    /// The outcome of every job.
    pub jobs: &'a [Outcome],
}

/// The placement of a job, and its last reservation.
#[derive(Clone, Copy, Debug, Default)]
pub struct GanttPlacement<'a> {
    /// The nodes of the job. Empty for a job that never ran.
    pub nodes: &'a [NodeRange],
    /// The instant for which processors were last reserved before the job started.
    pub reserved: Option<Instant>,
}

/// The way in which jobs share nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GanttSharing {
    /// A node runs one job at a time.
    Space,
    /// A node runs several jobs at a time.
    Time,
}

/// The lines of a chart, laid out in time.
struct GanttLines {
    start: Instant,
    span: Span,
    count: i64,
    step: TimeTickStep,
}

/// Several schedules of the same jobs over one another, with the same time axis. Each line has every
/// schedule under its title.
#[derive(Clone, Copy, Debug)]
pub struct GanttStack<'a> {
    /// The text above the charts.
    pub title: &'a str,
    /// The schedules. At least one.
    pub charts: &'a [GanttChart<'a>],
}

/// A schedule, ready to be drawn a line at a time.
struct GanttDrawing<'a> {
    chart: &'a GanttChart<'a>,
    bars: Vec<JobBar>,
    waiting: WaitingCurve,
    panel: GanttPanel,
}

impl GanttChart<'_> {
    /// Returns the chart as an SVG document. For the job at a position of [`GanttChart::jobs`],
    /// `number_of` gives the number that users know, and `place_of` gives the placement.
    pub fn to_svg<'a>(
        &self,
        number_of: impl Fn(usize) -> u64,
        place_of: impl Fn(usize) -> GanttPlacement<'a>,
    ) -> String {
        let lines = GanttLines::of(&[*self]);
        let drawing = self.drawing(number_of, place_of);
        let height = TOP + drawing.panel.height() * lines.count as f64 + 10.0;
        let mut svg = begin(self.title, height);
        for line in 0..lines.count {
            let top = TOP + drawing.panel.height() * line as f64;
            drawing.draw_line(&mut svg, top, &lines, line);
        }
        svg.finish()
    }

    fn drawing<'a>(
        &self,
        number_of: impl Fn(usize) -> u64,
        place_of: impl Fn(usize) -> GanttPlacement<'a>,
    ) -> GanttDrawing<'_> {
        let bars = bars::of(self, number_of, place_of);
        let waiting = WaitingCurve::of(self.jobs);
        GanttDrawing {
            panel: GanttPanel::sized(self.nodes, bars::sharing(&bars), waiting.most()),
            chart: self,
            bars,
            waiting,
        }
    }

    fn rejections(&self) -> impl Iterator<Item = Instant> {
        let rejected = |job: &&Outcome| matches!(job.decision, Decision::Rejected(_));
        self.jobs.iter().filter(rejected).map(|job| job.decided)
    }
}

impl GanttStack<'_> {
    /// Returns the charts as an SVG document. `number_of` is that of [`GanttChart::to_svg`], and
    /// `place_of` gives the placement in the schedule and for the job at these positions.
    pub fn to_svg<'a>(
        &self,
        number_of: impl Fn(usize) -> u64,
        place_of: impl Fn(usize, usize) -> GanttPlacement<'a>,
    ) -> String {
        let lines = GanttLines::of(self.charts);
        let drawings: Vec<GanttDrawing<'_>> = self
            .charts
            .iter()
            .enumerate()
            .map(|(n, chart)| chart.drawing(&number_of, |job| place_of(n, job)))
            .collect();
        let heights = drawings
            .iter()
            .map(|drawing| LABEL_HEIGHT + drawing.panel.height());
        let height = TOP + heights.sum::<f64>() * lines.count as f64 + 10.0;
        let mut svg = begin(self.title, height);
        let mut top = TOP;
        for line in 0..lines.count {
            for drawing in &drawings {
                let title = font::truncated(drawing.chart.title, LABEL_SIZE, WIDTH - LEFT - RIGHT);
                svg.open(INK);
                svg.text((LEFT, top + 8.0), TextAnchor::Start, LABEL_SIZE, &title);
                svg.close();
                top += LABEL_HEIGHT;
                drawing.draw_line(&mut svg, top, &lines, line);
                top += drawing.panel.height();
            }
        }
        svg.finish()
    }
}

impl GanttDrawing<'_> {
    fn draw_line(&self, svg: &mut SvgBuilder, top: f64, lines: &GanttLines, line: i64) {
        let window = lines.window(line);
        let panel = &self.panel;
        panel.draw_frame(svg, top, &window, lines.start, lines.step);
        panel.draw_bars(svg, top, &window, &self.bars);
        panel.draw_reservations(svg, top, &window, &self.bars);
        panel.draw_rejections(svg, top, &window, self.chart.rejections());
        panel.draw_waiting(svg, top, &window, &self.waiting);
    }
}

/// Begins a document with a title and the legend.
fn begin(title: &str, height: f64) -> SvgBuilder {
    let mut svg = SvgBuilder::new(WIDTH, height, title);
    svg.open(INK);
    let title = font::truncated(title, TITLE_SIZE, WIDTH - 20.0);
    svg.text((10.0, 24.0), TextAnchor::Start, TITLE_SIZE, &title);
    svg.close();
    legend::draw(&mut svg, TOP - 18.0);
    svg
}

/// A span of time, laid out across the page.
#[derive(Clone, Copy, Debug)]
struct GanttWindow {
    from: Instant,
    span: Span,
}

impl GanttLines {
    /// Divides the time from the first event to the last into lines of the same span. The span is
    /// chosen so that the last line is about as full as the others.
    fn of(charts: &[GanttChart<'_>]) -> Self {
        let instants = || {
            charts.iter().flat_map(|chart| chart.jobs).flat_map(|job| {
                let ran = job.ran.map(|ran| [ran.start, ran.finish]);
                [job.submit, job.decided]
                    .into_iter()
                    .chain(ran.into_iter().flatten())
            })
        };
        let start = instants().min().unwrap_or(Instant::ZERO);
        let end = instants().max().unwrap_or(start);
        let total = end.since(start).max(Span::from_secs(1));
        let jobs = charts.iter().map(|chart| chart.jobs.len()).max();
        let lines = jobs.unwrap_or_default().div_ceil(JOBS_PER_LINE);
        let n_lines = (lines as i64).clamp(1, MAX_LINES);
        let least = Span::from_micros((total.as_micros() - 1) / n_lines + 1);
        let step = TimeTickStep::dividing(least);
        let span = if n_lines == 1 {
            total
        } else {
            step.rounded_up(least)
        };
        Self {
            start,
            span,
            count: (total.as_micros() - 1) / span.as_micros() + 1,
            step,
        }
    }

    fn window(&self, line: i64) -> GanttWindow {
        let offset = Span::from_micros(self.span.as_micros().saturating_mul(line));
        GanttWindow {
            from: self.start + offset,
            span: self.span,
        }
    }
}

impl GanttWindow {
    /// Returns the end of the window. The end belongs to the next window.
    fn to(&self) -> Instant {
        self.from + self.span
    }

    /// Returns the pixel of an instant. An instant outside the window moves to the nearer edge.
    fn position(&self, instant: Instant) -> f64 {
        let part = instant.since(self.from).as_secs_f64() / self.span.as_secs_f64();
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// Returns whether an instant lies in the window, whose end is excluded.
    fn contains(&self, instant: Instant) -> bool {
        self.from <= instant && instant < self.to()
    }
}
