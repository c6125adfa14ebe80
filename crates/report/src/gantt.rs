//! Gantt charts: which nodes each job had, from when to when, and what became of the rest.

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
/// Left of the nodes, for their numbers and for labels.
const LEFT: f64 = 64.0;
/// Right of the nodes.
const RIGHT: f64 = 16.0;
const TITLE_SIZE: f64 = 16.0;
/// From the top edge to the first line.
const TOP: f64 = 62.0;
/// About as many jobs a line can hold and still be told apart.
const JOBS_PER_LINE: usize = 500;
/// More lines than this make a chart that nobody scrolls through.
const MAX_LINES: i64 = 16;

/// A chart of a schedule: nodes down, time across. A long one is broken into lines, as a text
/// is, so that jobs stay wide enough to be seen.
///
/// In each line, from the top: a tick for each rejected job at the instant of its decision;
/// nodes with jobs on them; how many processors the jobs that wait ask for. A job that misses its
/// deadline has another colour, a darker one from the deadline on; a dark line across its nodes
/// marks the instant for which they were last reserved for it. Where nodes are shared, jobs
/// are see-through.
#[derive(Clone, Copy, Debug)]
pub struct GanttChart<'a> {
    /// What is shown, in words.
    pub title: &'a str,
    /// How many nodes there are; what is said to run beyond them is left out.
    pub nodes: u32,
    /// What became of every job.
    pub jobs: &'a [Outcome],
}

/// Where a job ran, and what was reserved for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct GanttPlacement<'a> {
    /// Its nodes; empty for a job that never ran.
    pub nodes: &'a [NodeRange],
    /// For when processors were last reserved for it before it started.
    pub reserved: Option<Instant>,
}

/// How jobs share nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GanttSharing {
    /// One job a node at a time.
    Space,
    /// Several.
    Time,
}

/// What a chart shows, laid out in time.
struct GanttLines {
    start: Instant,
    span: Span,
    count: i64,
    step: TimeTickStep,
}

impl GanttChart<'_> {
    /// The chart as an SVG document. For the job at a position of [`GanttChart::jobs`], `number_of`
    /// gives the number by which users know it, and `place_of` where it ran.
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

    /// Lines from the first instant at which anything happens to the last, all of the same
    /// span: so many marks of the axis that the last line is about as full as the others.
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

/// A stretch of time, laid out across the page.
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
    /// The end, which belongs to the next window.
    fn to(&self) -> Instant {
        self.from + self.span
    }

    /// Where an instant lies, moved to the nearer edge if it is outside.
    fn position(&self, instant: Instant) -> f64 {
        let part = instant.since(self.from).as_secs_f64() / self.span.as_secs_f64();
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// Whether an instant lies within; the end of the last line counts as its own.
    fn contains(&self, instant: Instant) -> bool {
        self.from <= instant && instant < self.to()
    }
}
