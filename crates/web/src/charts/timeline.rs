//! Nodes over time: jobs that ran, that run and what is expected of them; below, a row for each job that waits.

use tollgate_client::timestamp::format_iso;
use tollgate_model::Instant;
use tollgate_report::font::{self, truncated};
use tollgate_report::svg::{SvgBuilder, TextAnchor};

use super::ChartWidth;
use super::time_axis::ticks;
use tollgate_overview::words::{clock, seconds};

/// The size of the style sheet's text in pictures.
const TEXT: f64 = 12.0;
/// The widths of the fonts of browsers, relative to the one that is measured here.
const FONT_WIDTH: f64 = 1.17;
/// The height of the axis above the rows.
const HEAD: f64 = 28.0;
/// The height of a row of a job that waits, and of the line between both parts.
const WAIT_ROW: f64 = 24.0;
const WAIT_HEAD: f64 = 26.0;
/// Space of a label of a tick on both sides of its middle.
const TICK_ROOM: f64 = 58.0;

/// The promise behind a bar, which gives its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarPromise {
    /// Promised, and in time by what is known.
    InTime,
    /// Promised, with a chance below 0.8.
    AtRisk,
    /// Not promised.
    NotPromised,
}

/// A row: a node under its long name, and its short one where there is little room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineRow {
    /// The name with that of its host.
    pub long: String,
    /// The number.
    pub short: String,
}

/// A job on a node.
#[derive(Clone, Debug)]
pub struct TimelineBar {
    /// Number of the row.
    pub row: usize,
    /// Address of the page of the job; None if its user is another one.
    pub address: Option<String>,
    /// The job in words, for tooltips and readers.
    pub title: String,
    /// Its number.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Start.
    pub from: Instant,
    /// End; the present if the job runs.
    pub until: Instant,
    /// Whether the job runs.
    pub is_running: bool,
    /// Colour.
    pub promise: BarPromise,
    /// Deadline; of several bars of a job only the first has one.
    pub due: Option<Instant>,
    /// Whether the job ran past its promised deadline.
    pub late_from: Option<Instant>,
    /// Expected end.
    pub expected_end: Option<Instant>,
    /// The bounds between which the end lies eight times in ten; of several bars only the first has them.
    pub interval: Option<(Instant, Instant)>,
    /// Whether the bar is the first of its job, which has the label.
    pub is_first: bool,
}

/// A job that waits.
#[derive(Clone, Debug)]
pub struct WaitingBar {
    /// Address of the page of the job.
    pub address: String,
    /// The job in words.
    pub title: String,
    /// Its number.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Expected start and end.
    pub expected: Option<(Instant, Instant)>,
    /// The end is later once in ten times.
    pub latest_end: Option<Instant>,
    /// Deadline.
    pub due: Option<Instant>,
    /// Colour.
    pub promise: BarPromise,
    /// The probability in words, or that there is no promise.
    pub words: String,
}

/// The chart.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The beginning of the chart.
    pub from: Instant,
    /// The present.
    pub now: Instant,
    /// The end of the chart.
    pub until: Instant,
    /// The rows: nodes.
    pub rows: Vec<TimelineRow>,
    /// Jobs on the rows.
    pub bars: Vec<TimelineBar>,
    /// Jobs that wait, next first.
    pub waiting: Vec<WaitingBar>,
    /// Words about what is left out; may be empty.
    pub left_out: String,
    /// The zone of the browser, in seconds east of UTC.
    pub offset_s: i64,
}

/// The places of a chart in pixels.
struct TimelineLayout {
    width: f64,
    left: f64,
    right: f64,
    row: f64,
    is_wide: bool,
    from: Instant,
    span_s: f64,
}

impl TimelineLayout {
    fn of(chart: &Timeline, width: ChartWidth) -> Self {
        let is_wide = width == ChartWidth::Wide;
        let (width, margin, most) = match is_wide {
            true => (1160.0, 12.0, 150.0),
            false => (350.0, 6.0, 64.0),
        };
        let row_names = chart.rows.iter().map(|row| width_of(row.name(is_wide)));
        let waiting = chart
            .waiting
            .iter()
            .map(|bar| width_of(&bar.label(is_wide)));
        let widest = row_names.chain(waiting).fold(24.0, f64::max);
        let row = match chart.rows.len() {
            few if few <= 16 => 24.0,
            some if some <= 32 => 16.0,
            _ => 9.0,
        };
        Self {
            width,
            left: widest.min(most) + 8.0,
            right: width - margin,
            row,
            is_wide,
            from: chart.from,
            span_s: seconds(chart.from, chart.until).max(1e-6),
        }
    }

    /// Returns the place of an instant, which may lie outside the chart.
    fn x(&self, at: Instant) -> f64 {
        self.left + (self.right - self.left) * seconds(self.from, at) / self.span_s
    }

    /// Returns the place of an instant, or the edge of the chart if it lies outside.
    fn edge(&self, at: Instant) -> f64 {
        self.x(at).clamp(self.left, self.right)
    }

    /// Returns whether an instant lies within the chart.
    fn holds(&self, at: Instant) -> bool {
        (self.left..=self.right).contains(&self.x(at))
    }
}

impl TimelineRow {
    fn name(&self, is_wide: bool) -> &str {
        if is_wide { &self.long } else { &self.short }
    }
}

impl WaitingBar {
    fn label(&self, is_wide: bool) -> String {
        match is_wide {
            true => format!("#{} {}", self.id, self.name),
            false => format!("#{}", self.id),
        }
    }
}

impl BarPromise {
    const fn class(self) -> &'static str {
        match self {
            Self::InTime => "kept",
            Self::AtRisk => "risk",
            Self::NotPromised => "free",
        }
    }
}

impl Timeline {
    /// Draws the chart.
    pub fn draw(&self, width: ChartWidth) -> String {
        let layout = TimelineLayout::of(self, width);
        let bottom_of_rows = HEAD + layout.row * self.rows.len() as f64;
        let n_waiting = self.waiting.len() as f64;
        let has_waiting = !self.waiting.is_empty();
        let waiting_height = match has_waiting {
            true => WAIT_HEAD + WAIT_ROW * n_waiting,
            false => 0.0,
        };
        let note = if self.left_out.is_empty() { 0.0 } else { 20.0 };
        let bottom = bottom_of_rows + waiting_height;
        let mut svg = SvgBuilder::in_page(
            layout.width,
            bottom + note + 4.0,
            width.class(),
            &self.title(),
        );
        self.draw_axis(&mut svg, &layout, bottom);
        for (index, row) in self.rows.iter().enumerate() {
            let top = HEAD + layout.row * index as f64;
            if layout.row >= TEXT {
                let name = row.name(layout.is_wide);
                let name = truncated(name, TEXT, (layout.left - 8.0) / FONT_WIDTH);
                let place = (layout.left - 8.0, top + layout.row / 2.0 + 4.0);
                svg.label("class=\"axis\"", place, TextAnchor::End, &name);
            }
            let line = top + layout.row;
            svg.line(
                "class=\"grid faint\"",
                (layout.left, line),
                (layout.right, line),
            );
        }
        for bar in &self.bars {
            draw_bar(&mut svg, &layout, bar, self.now);
        }
        if has_waiting {
            let head = bottom_of_rows + WAIT_HEAD - 8.0;
            let words = "wait, next first: expected start to end";
            svg.label(
                "class=\"axis strong\"",
                (layout.left, head),
                TextAnchor::Start,
                words,
            );
            for (index, bar) in self.waiting.iter().enumerate() {
                let top = bottom_of_rows + WAIT_HEAD + WAIT_ROW * index as f64;
                draw_waiting(&mut svg, &layout, bar, top);
            }
        }
        let now = layout.x(self.now);
        svg.line("class=\"now-line\"", (now, HEAD - 4.0), (now, bottom));
        if !self.left_out.is_empty() {
            let place = (layout.left, bottom + 16.0);
            svg.label("class=\"axis\"", place, TextAnchor::Start, &self.left_out);
        }
        svg.finish()
    }

    /// Returns the chart in a sentence for readers.
    fn title(&self) -> String {
        let n_jobs = self.bars.iter().filter(|bar| bar.is_first).count();
        format!(
            "Nodes over time: {n_jobs} jobs that ran or run on {} nodes, and {} that wait. The table below has the same.",
            self.rows.len(),
            self.waiting.len()
        )
    }

    fn draw_axis(&self, svg: &mut SvgBuilder, layout: &TimelineLayout, bottom: f64) {
        let now = layout.x(self.now);
        let future = (layout.right - now, bottom - HEAD + 4.0);
        svg.rect("class=\"future\"", (now, HEAD - 4.0), future);
        let most = if layout.is_wide { 12 } else { 3 };
        let ticks = ticks(self.from, self.until, most, self.offset_s);
        for at in &ticks.instants {
            let x = layout.x(*at);
            svg.line("class=\"grid\"", (x, HEAD - 4.0), (x, bottom));
            let is_free = (x - now).abs() > TICK_ROOM + 26.0;
            if is_free && x - TICK_ROOM / 2.0 >= 0.0 && x + TICK_ROOM / 2.0 <= layout.width {
                let marks = format!(
                    "class=\"axis\" data-at=\"{}\" data-form=\"{}\"",
                    format_iso(*at),
                    ticks.form
                );
                svg.label(marks, (x, HEAD - 12.0), TextAnchor::Middle, &clock(*at));
            }
        }
        let marks = format!(
            "class=\"now-text\" data-at=\"{}\" data-form=\"near\"",
            format_iso(self.now)
        );
        let x = now.clamp(TICK_ROOM / 2.0, layout.width - TICK_ROOM / 2.0);
        svg.label(
            marks,
            (x, HEAD - 12.0),
            TextAnchor::Middle,
            &clock(self.now),
        );
    }
}

/// Draws a job on a node: its past, the part past its deadline, the expected rest, interval and deadline.
fn draw_bar(svg: &mut SvgBuilder, layout: &TimelineLayout, bar: &TimelineBar, now: Instant) {
    let top = HEAD + layout.row * bar.row as f64 + layout.row * 0.13;
    let height = layout.row * 0.74;
    let (from, until) = (layout.edge(bar.from), layout.edge(bar.until));
    let width = (until - from).max(1.0);
    match &bar.address {
        Some(address) => svg.open_link(address, &bar.title),
        None => svg.open_titled(&bar.title),
    }
    let class = match (bar.is_running, bar.promise) {
        (false, BarPromise::InTime | BarPromise::AtRisk) => "past",
        (_, promise) => promise.class(),
    };
    svg.rect(
        format_args!("class=\"{class}\" rx=\"2\""),
        (from, top),
        (width, height),
    );
    if let Some(late) = bar.late_from {
        let late = layout.edge(late).max(from);
        svg.rect(
            "class=\"late\" rx=\"2\"",
            (late, top),
            ((until - late).max(1.0), height),
        );
    }
    if let Some(end) = bar.expected_end.filter(|end| *end > now) {
        let marks = format!("class=\"{} rest\" rx=\"2\"", bar.promise.class());
        svg.rect(marks, (until, top), (layout.edge(end) - until, height));
    }
    if bar.is_first && layout.row >= 16.0 {
        let long = format!("#{} {}", bar.id, bar.name);
        let room = width - 8.0;
        let fits = |text: &str| width_of(text) <= room;
        let label = [long, bar.id.clone()].into_iter().find(|label| fits(label));
        if let Some(label) = label.filter(|_| bar.late_from.is_none()) {
            let place = (from + 4.0, top + height / 2.0 + 4.0);
            svg.label(
                "class=\"on-bar\" aria-hidden=\"true\"",
                place,
                TextAnchor::Start,
                &label,
            );
        }
    }
    match &bar.address {
        Some(_) => svg.close_link(),
        None => svg.close(),
    }
    let middle = top + height / 2.0;
    if let Some((low, high)) = bar.interval {
        draw_whisker(svg, layout, (low, high), middle);
    }
    if let Some(due) = bar.due.filter(|due| layout.holds(*due)) {
        draw_flag(svg, layout.x(due), top - 1.0, height + 2.0);
    }
}

/// Draws a job that waits, with the probability beside it.
fn draw_waiting(svg: &mut SvgBuilder, layout: &TimelineLayout, bar: &WaitingBar, top: f64) {
    let middle = top + WAIT_ROW / 2.0;
    svg.open_link(&bar.address, &bar.title);
    let label = bar.label(layout.is_wide);
    let label = truncated(&label, TEXT, (layout.left - 8.0) / FONT_WIDTH);
    svg.label(
        "",
        (layout.left - 8.0, middle + 4.0),
        TextAnchor::End,
        &label,
    );
    let mut taken = (layout.left, layout.left);
    if let Some((start, end)) = bar.expected {
        let (from, until) = (layout.edge(start), layout.edge(end));
        let marks = format!("class=\"waits {}\" rx=\"3\"", bar.promise.class());
        svg.rect(
            marks,
            (from, top + 4.0),
            ((until - from).max(2.0), WAIT_ROW - 8.0),
        );
        taken = (from, until);
    }
    svg.close_link();
    if let (Some((_, end)), Some(latest)) = (bar.expected, bar.latest_end) {
        draw_whisker(svg, layout, (end, latest), middle);
        taken.1 = taken.1.max(layout.edge(latest));
    }
    if let Some(due) = bar.due.filter(|due| layout.holds(*due)) {
        let flag = layout.x(due);
        draw_flag(svg, flag, top + 3.0, WAIT_ROW - 6.0);
        taken = (taken.0.min(flag), taken.1.max(flag + 6.0));
    }
    let class = match bar.promise {
        BarPromise::AtRisk => "at-risk",
        BarPromise::InTime | BarPromise::NotPromised => "axis",
    };
    if bar.expected.is_none() && bar.promise != BarPromise::NotPromised {
        return;
    }
    // Behind the row, before it, or nowhere: over other things it would not be read.
    let room = width_of(&bar.words) + 10.0;
    let (x, anchor) = if taken.1 + room <= layout.right {
        (taken.1 + 8.0, TextAnchor::Start)
    } else if taken.0 - room >= layout.left {
        (taken.0 - 6.0, TextAnchor::End)
    } else {
        return;
    };
    svg.label(
        format_args!("class=\"{class}\""),
        (x, middle + 4.0),
        anchor,
        &bar.words,
    );
}

/// Returns the width of a text in a browser, in pixels.
fn width_of(text: &str) -> f64 {
    font::width(text, TEXT) * FONT_WIDTH
}

fn draw_whisker(
    svg: &mut SvgBuilder,
    layout: &TimelineLayout,
    (low, high): (Instant, Instant),
    y: f64,
) {
    let (from, until) = (layout.edge(low), layout.edge(high));
    if until - from < 1.0 {
        return;
    }
    svg.line("class=\"whisker\"", (from, y), (until, y));
    if layout.holds(high) {
        svg.line("class=\"whisker\"", (until, y - 4.0), (until, y + 4.0));
    }
}

fn draw_flag(svg: &mut SvgBuilder, x: f64, top: f64, height: f64) {
    svg.line("class=\"flag-pole\"", (x, top), (x, top + height));
    let data = format!("M{x:.1} {top:.1}l6 3l-6 3z");
    svg.path("class=\"flag\"", &data, None);
}
