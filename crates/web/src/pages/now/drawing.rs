//! The chart of nodes over time.

use std::collections::BTreeMap;

use tollgate_client::types::{JobDetails, JobForecast, Placement};
use tollgate_model::{Instant, Span};

use super::rows::ChartNodeRows;
use super::{NowAnswers, future_s, past_s};
use crate::charts::timeline::{BarPromise, Timeline, TimelineBar, WaitingBar};
use tollgate_overview::job_facts::{is_promised, job_id};
use tollgate_overview::outlook::waiting_jobs;
use tollgate_overview::words::{self, instant, percent, seconds, span};

/// Maximum number of jobs that wait in the chart.
const SHOWN_WAITING: usize = 12;
/// The part of the time before the present that is shown at least, however late the first job began.
const LEAST_PAST: f64 = 0.3;

/// Returns the chart.
pub(super) fn timeline(answers: &NowAnswers, rows: ChartNodeRows, now: Instant) -> Timeline {
    let live = &answers.live.jobs;
    let future_s = future_s(live, now);
    let past_s = past_s(future_s);
    let known = live.iter().chain(&answers.ended);
    let known: BTreeMap<u64, &JobDetails> = known.map(|job| (job.id, job)).collect();
    let mut placements: Vec<&Placement> = answers.placements.placements.iter().collect();
    placements.sort_by_key(|placed| (instant(&placed.from_at), placed.job, placed.task));
    let bars: Vec<TimelineBar> = placements
        .into_iter()
        .flat_map(|placed| {
            let job = placed.job.and_then(|job| known.get(&job)).copied();
            bars(&PlacedJob { placed, job }, &rows, now)
        })
        .collect();
    let first = bars.iter().map(|bar| bar.from).min().unwrap_or(now);
    let shown_s = seconds(first, now).clamp(past_s * LEAST_PAST, past_s);
    let waiting = waiting_jobs(live);
    let n_more = waiting.len().saturating_sub(SHOWN_WAITING);
    let shown = waiting.into_iter().take(SHOWN_WAITING);
    Timeline {
        from: shifted(now, -shown_s * 1.04),
        now,
        until: shifted(now, future_s),
        bars,
        waiting: shown.map(|job| waiting_bar(job, now)).collect(),
        left_out: left_out(n_more),
        rows: rows.rows,
        offset_s: answers.offset_s,
    }
}

/// The nodes of a job or task, with what is known of it. Of jobs of others only the nodes are known.
struct PlacedJob<'a> {
    placed: &'a Placement,
    job: Option<&'a JobDetails>,
}

impl PlacedJob<'_> {
    fn id(&self) -> Option<String> {
        let job = self.placed.job?;
        Some(match self.placed.task {
            Some(task) => format!("{job}_{task}"),
            None => job.to_string(),
        })
    }

    /// Returns the forecast of the job. A task has none: that of its array is about the last task.
    fn expected(&self) -> Option<&JobForecast> {
        self.job?
            .expected
            .as_ref()
            .filter(|_| self.placed.task.is_none())
    }

    fn promise(&self) -> BarPromise {
        match self.job {
            Some(job) => promise(job, self.expected()),
            None => BarPromise::NotPromised,
        }
    }

    /// Returns the job in words that need no time of day.
    fn title(&self, (from, until): (Instant, Instant), now: Instant) -> String {
        let procs: u64 = self
            .placed
            .nodes
            .iter()
            .map(|span| u64::from(span.last - span.first) + 1)
            .sum();
        let procs = words::count(procs, "node");
        let name = self.placed.name.as_deref().unwrap_or_default();
        let subject = match self.id() {
            Some(id) => format!("#{id} {}", clipped(name)),
            None => "a job of another user".to_owned(),
        };
        let run = match self.placed.to_at {
            Some(_) => format!("ran {}", span(seconds(from, until))),
            None => format!("runs since {}", span(seconds(from, now))),
        };
        let due = self.placed.deadline_at.as_deref().and_then(instant);
        format!(
            "{subject}, {procs}: {run}{}",
            due_words(due, self.expected(), now)
        )
    }
}

fn shifted(at: Instant, by_s: f64) -> Instant {
    let by = Span::from_secs_f64(by_s.abs()).as_micros();
    Instant::from_micros(match by_s < 0.0 {
        true => at.as_micros() - by,
        false => at.as_micros() + by,
    })
}

fn left_out(n_waiting: usize) -> String {
    match n_waiting {
        0 => String::new(),
        more => format!("{more} more wait, and start later"),
    }
}

/// Returns the bars of a job that has nodes, one a node.
fn bars(placed: &PlacedJob<'_>, rows: &ChartNodeRows, now: Instant) -> Vec<TimelineBar> {
    let Some(from) = instant(&placed.placed.from_at) else {
        return Vec::new();
    };
    let left = placed.placed.to_at.as_deref().and_then(instant);
    let until = left.unwrap_or(now).max(from);
    let due = placed.placed.deadline_at.as_deref().and_then(instant);
    let promise = placed.promise();
    let is_late = promise != BarPromise::NotPromised && due.is_some_and(|due| due < until);
    let expected = placed.expected();
    let interval = expected.and_then(|expected| {
        let ends = (
            instant(&expected.earliest_finish_at)?,
            instant(&expected.latest_finish_at)?,
        );
        Some((ends.0.max(now), ends.1))
    });
    let id = placed.id();
    let bar = |(index, row): (usize, usize)| TimelineBar {
        row,
        address: id.as_ref().map(|id| format!("job?id={id}")),
        title: placed.title((from, until), now),
        id: id.clone().unwrap_or_default(),
        name: clipped(placed.placed.name.as_deref().unwrap_or_default()),
        from,
        until,
        is_running: left.is_none(),
        promise,
        due: due.filter(|_| index == 0 && (left.is_none() || is_late)),
        late_from: due.filter(|_| is_late),
        expected_end: expected.and_then(|expected| instant(&expected.expected_finish_at)),
        interval: interval.filter(|_| index == 0),
        is_first: index == 0,
    };
    rows.of_spans(&placed.placed.nodes)
        .into_iter()
        .enumerate()
        .map(bar)
        .collect()
}

fn promise(job: &JobDetails, expected: Option<&JobForecast>) -> BarPromise {
    if !is_promised(job) {
        return BarPromise::NotPromised;
    }
    match expected.and_then(|expected| expected.probability) {
        Some(chance) if chance < words::AT_RISK => BarPromise::AtRisk,
        Some(_) | None => BarPromise::InTime,
    }
}

fn clipped(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Returns the deadline as a phrase: `; due in 1 min, 93 % sure`.
fn due_words(due: Option<Instant>, expected: Option<&JobForecast>, now: Instant) -> String {
    let mut words = match due {
        Some(due) if due >= now => format!("; due in {}", span(seconds(now, due))),
        Some(due) => format!("; was due {} ago", span(seconds(due, now))),
        None => "; no deadline".to_owned(),
    };
    if let Some(chance) = expected.and_then(|expected| expected.probability) {
        words.push_str(&format!(", {} sure", percent(chance)));
    }
    words
}

fn waiting_bar(job: &JobDetails, now: Instant) -> WaitingBar {
    let expected = job.expected.as_ref();
    let due = job.deadline_at.as_deref().and_then(instant);
    let chance = expected.and_then(|expected| expected.probability);
    let (promise, words) = match (promise(job, expected), chance) {
        (BarPromise::NotPromised, Some(chance)) => (
            BarPromise::NotPromised,
            format!("no promise, {}", percent(chance)),
        ),
        (BarPromise::NotPromised, None) => (BarPromise::NotPromised, "no promise".to_owned()),
        (promise, Some(chance)) => (promise, percent(chance)),
        (promise, None) => (promise, "promised".to_owned()),
    };
    WaitingBar {
        address: format!("job?id={}", job_id(job)),
        title: format!(
            "#{} {}, {}: waits{}",
            job_id(job),
            clipped(&job.name),
            words::count(job.procs.into(), "processor"),
            due_words(due, expected, now)
        ),
        id: job_id(job),
        name: clipped(&job.name),
        expected: expected.and_then(|expected| {
            let start = instant(&expected.expected_start_at)?;
            Some((start, instant(&expected.expected_finish_at)?))
        }),
        latest_end: expected.and_then(|expected| instant(&expected.latest_finish_at)),
        due,
        promise,
        words,
    }
}
