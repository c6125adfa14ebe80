//! Gantt charts: the nodes and times of every job, and the outcome of jobs that never ran.

use tollgate_model::{Decision, Instant, NodeRange, Outcome, Span};

mod bars;
mod legend;
mod panel;
mod time_axis;
mod waiting;

use self::panel::GanttPanel;
use self::time_axis::TimeTickStep;
use crate::font;
use crate::svg::{SvgBuilder, TextAnchor};

/// The width of a chart in pixels.
const WIDTH: f64 = 1440.0;
/// The margin left of the nodes, for their numbers and for labels.
const LEFT: f64 = 64.0;
/// The margin right of the nodes.
const RIGHT: f64 = 16.0;
const TITLE_SIZE: f64 = 16.0;
/// The distance from the top edge to the first line.
const TOP: f64 = 62.0;
/// The approximate number of jobs on one line that can still be told apart.
const JOBS_PER_LINE: usize = 500;
/// The maximum number of lines. A longer chart would be scrolled past instead of read.
const MAX_LINES: i64 = 16;

/// A chart of a schedule, with nodes down and time across. A long chart is broken into lines, like
/// a text, so that jobs stay wide enough to be seen.
///
/// Each line has three parts, from the top: a tick for each rejected job at the instant of its
/// decision, the nodes with their jobs, and the number of processors that waiting jobs ask for. A
/// job that misses its deadline has another colour, and a darker colour from the deadline on. A
/// dark line across the nodes of a job marks the instant for which the nodes were last reserved.
/// Where nodes are shared, jobs are translucent.
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

impl GanttChart<'_> {
    /// Returns the chart as an SVG document. For the job at a position of [`GanttChart::jobs`],
    /// `number_of` gives the number that users know, and `place_of` gives the placement.
    pub fn to_svg<'a>(
        &self,
        number_of: impl Fn(usize) -> u64,
        place_of: impl Fn(usize) -> GanttPlacement<'a>,
    ) -> String {
        let lines = self.lines();
        let bars = bars::of(self, number_of, place_of);
        let waiting = waiting::WaitingCurve::of(self.jobs);
        let system = GanttPanel::sized(self.nodes, bars::sharing(&bars), waiting.most());
        let height = TOP + system.height() * lines.count as f64 + 10.0;
        let mut svg = SvgBuilder::new(WIDTH, height, self.title);
        self.draw_title(&mut svg);
        legend::draw(&mut svg, TOP - 18.0);
        for line in 0..lines.count {
            let top = TOP + system.height() * line as f64;
            let window = lines.window(line);
            system.draw_frame(&mut svg, top, &window, lines.start, lines.step);
            system.draw_bars(&mut svg, top, &window, &bars);
            system.draw_reservations(&mut svg, top, &window, &bars);
            system.draw_rejections(&mut svg, top, &window, self.rejections());
            system.draw_waiting(&mut svg, top, &window, &waiting);
        }
        svg.finish()
    }

    fn draw_title(&self, svg: &mut SvgBuilder) {
        svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
        let title = font::truncated(self.title, TITLE_SIZE, WIDTH - 20.0);
        svg.text((10.0, 24.0), TextAnchor::Start, TITLE_SIZE, &title);
        svg.close();
    }

    fn rejections(&self) -> impl Iterator<Item = Instant> {
        let rejected = |job: &&Outcome| matches!(job.decision, Decision::Rejected(_));
        self.jobs.iter().filter(rejected).map(|job| job.decided)
    }

    /// Divides the time from the first event to the last into lines of the same span. The span is
    /// chosen so that the last line is about as full as the others.
    fn lines(&self) -> GanttLines {
        let instants = || {
            self.jobs.iter().flat_map(|job| {
                let ran = job.ran.map(|ran| [ran.start, ran.finish]);
                [job.submit, job.decided]
                    .into_iter()
                    .chain(ran.into_iter().flatten())
            })
        };
        let start = instants().min().unwrap_or(Instant::ZERO);
        let end = instants().max().unwrap_or(start);
        let total = end.since(start).max(Span::from_secs(1));
        let wanted = (self.jobs.len().div_ceil(JOBS_PER_LINE) as i64).clamp(1, MAX_LINES);
        let least = Span::from_micros((total.as_micros() - 1) / wanted + 1);
        let step = TimeTickStep::dividing(least);
        let span = if wanted == 1 {
            total
        } else {
            step.rounded_up(least)
        };
        GanttLines {
            start,
            span,
            count: (total.as_micros() - 1) / span.as_micros() + 1,
            step,
        }
    }
}

/// A span of time, laid out across the page.
#[derive(Clone, Copy, Debug)]
struct GanttWindow {
    from: Instant,
    span: Span,
}

impl GanttLines {
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
