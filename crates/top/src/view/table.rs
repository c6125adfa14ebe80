//! The table of jobs.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use tollgate_client::types::{JobDetails, JobState};
use tollgate_overview::job_facts::{WordTone, is_promised, job_id, outcome};
use tollgate_overview::outlook::OpenPromise;
use tollgate_overview::words::percent;
use unicode_width::UnicodeWidthStr;

use super::cells::fitted;
use super::palette::{ScreenColours, column_names, selected};
use super::times::ShownClock;
use crate::groups::groups;
use crate::safe_text::safe_line;
use crate::state::{TopState, job_key};

/// The widths of columns.
const STATE: usize = 9;
const PROMISE: usize = 12;
const USER: usize = 8;
const LEAST_NAME: usize = 10;
const MOST_NAME: usize = 24;
const LEAST_WHY: usize = 16;
/// The width from which the table has a column of users.
const USER_FROM: usize = 100;
/// The columns before the table with the mark of the selected job.
const MARK: usize = 2;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverviewColumn {
    Job,
    Name,
    User,
    State,
    Start,
    End,
    Due,
    Promise,
    Why,
}

/// The columns with their widths.
struct OverviewLayout(Vec<(OverviewColumn, usize)>);

/// A row: a heading, or a job with its cells.
struct OverviewRow<'a> {
    job: Option<&'a JobDetails>,
    line: Line<'static>,
}

/// Returns the lines of the table around the selected job, and the number of rows on the screen. `size` is the width
/// and the number of lines.
pub(super) fn screen_lines(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    (width, room): (usize, usize),
) -> (Vec<Line<'static>>, usize) {
    let (names, mut rows) = table(state, colours, clock, width);
    let page = room.saturating_sub(1).max(1);
    let at = rows.iter().position(|row| {
        let key = row.job.map(job_key);
        key.is_some() && key == state.selected
    });
    if let Some(row) = at.and_then(|at| rows.get_mut(at)) {
        let old = std::mem::take(&mut row.line);
        let mut spans = old.spans;
        spans[0] = Span::raw("> ");
        row.line = Line::from(spans).style(selected());
    }
    // The selected job stays in the middle, as far as the table has rows on both sides.
    let first = at.map_or(0, |at| at.saturating_sub(page / 2));
    let first = first.min(rows.len().saturating_sub(page));
    let shown = rows.into_iter().skip(first).take(page);
    let lines = names.into_iter().chain(shown.map(|row| row.line));
    (lines.collect(), page)
}

/// Returns all lines of the table.
pub(super) fn all_lines(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Vec<Line<'static>> {
    let (names, rows) = table(state, colours, clock, width);
    let rows = rows.into_iter().map(|row| row.line);
    names.into_iter().chain(rows).collect()
}

/// Returns the line of names and the rows. There is no line of names without jobs.
fn table<'a>(
    state: &'a TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> (Option<Line<'static>>, Vec<OverviewRow<'a>>) {
    let Some(answers) = &state.answers else {
        return (None, Vec::new());
    };
    let heading = |words: String| OverviewRow {
        job: None,
        line: Line::styled(words, colours.heading()),
    };
    let groups = groups(&answers.live.jobs);
    if groups.is_empty() {
        let words = match state.user() {
            Some(user) => format!("No job of {} runs or waits.", safe_line(user)),
            None => "No job runs or waits.".to_owned(),
        };
        return (None, vec![heading(words)]);
    }
    let layout = OverviewLayout::of(&answers.live.jobs, clock, width);
    let mut rows = Vec::new();
    for group in groups {
        rows.push(heading(format!("{} ({})", group.heading, group.jobs.len())));
        rows.extend(group.jobs.into_iter().map(|job| OverviewRow {
            job: Some(job),
            line: layout.row(job, colours, clock),
        }));
    }
    if answers.live.more {
        let words = "There are more: these are the latest. `tollgate jobs` lists others.";
        rows.push(heading(words.to_owned()));
    }
    (Some(layout.names()), rows)
}

impl OverviewLayout {
    /// Chooses the columns that this width has room for.
    fn of(jobs: &[JobDetails], clock: &ShownClock, width: usize) -> Self {
        let widest = |text: fn(&JobDetails, &ShownClock) -> [Option<String>; 3]| {
            let cells = jobs.iter().flat_map(|job| text(job, clock)).flatten();
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let time = widest(|job, clock| [start(job, clock), end(job, clock), due(job, clock)]);
        let time = time.max(8);
        let id = widest(|job, _| [Some(job_id(job)), None, None]).max(3);
        let fixed = [
            (OverviewColumn::State, STATE),
            (OverviewColumn::End, time),
            (OverviewColumn::Promise, PROMISE),
            (OverviewColumn::Due, time),
            (OverviewColumn::Start, time),
        ];
        let mut room = width.saturating_sub(MARK + id + 1 + LEAST_NAME);
        let mut has = Vec::new();
        for (column, columns) in fixed {
            if columns < room {
                room -= columns + 1;
                has.push((column, columns));
            }
        }
        if width >= USER_FROM && USER < room {
            room -= USER + 1;
            has.push((OverviewColumn::User, USER));
        }
        let names = jobs.iter().map(|job| safe_line(&job.name).width());
        let needed = names.max().unwrap_or(0).clamp(LEAST_NAME, MOST_NAME);
        let mut name = LEAST_NAME + room;
        if has.len() >= fixed.len() && name > needed + LEAST_WHY {
            has.push((OverviewColumn::Why, name - needed - 1));
            name = needed;
        }
        let order = [
            OverviewColumn::User,
            OverviewColumn::State,
            OverviewColumn::Start,
            OverviewColumn::End,
            OverviewColumn::Due,
            OverviewColumn::Promise,
            OverviewColumn::Why,
        ];
        let mut columns = vec![(OverviewColumn::Job, id), (OverviewColumn::Name, name)];
        for column in order {
            columns.extend(has.iter().find(|(found, _)| *found == column));
        }
        Self(columns)
    }

    fn names(&self) -> Line<'static> {
        let name = |column| match column {
            OverviewColumn::Job => "JOB",
            OverviewColumn::Name => "NAME",
            OverviewColumn::User => "USER",
            OverviewColumn::State => "STATE",
            OverviewColumn::Start => "START",
            OverviewColumn::End => "END",
            OverviewColumn::Due => "DUE",
            OverviewColumn::Promise => "PROMISE",
            OverviewColumn::Why => "WHY IT WAITS",
        };
        let mut spans = vec![Span::raw(" ".repeat(MARK))];
        for (column, width) in &self.0 {
            spans.push(Span::styled(fitted(name(*column), *width), column_names()));
            spans.push(Span::raw(" "));
        }
        spans.pop();
        Line::from(spans)
    }

    fn row(&self, job: &JobDetails, colours: ScreenColours, clock: &ShownClock) -> Line<'static> {
        let mut spans = vec![Span::raw(" ".repeat(MARK))];
        for (column, width) in &self.0 {
            let (text, style) = cell(*column, job, colours, clock);
            spans.push(Span::styled(fitted(&text, *width), style));
            spans.push(Span::raw(" "));
        }
        spans.pop();
        Line::from(spans)
    }
}

fn cell(
    column: OverviewColumn,
    job: &JobDetails,
    colours: ScreenColours,
    clock: &ShownClock,
) -> (String, Style) {
    let plain = |text: Option<String>| (text.unwrap_or_default(), Style::new());
    match column {
        OverviewColumn::Job => plain(Some(job_id(job))),
        OverviewColumn::Name => plain(Some(name(job))),
        OverviewColumn::User => plain(Some(safe_line(&job.user))),
        OverviewColumn::State => {
            let tone = match job.state.known() {
                Some(JobState::Running) => WordTone::Good,
                _ => WordTone::Plain,
            };
            (safe_line(&job.state.to_string()), colours.of_tone(tone))
        }
        OverviewColumn::Start => plain(start(job, clock)),
        OverviewColumn::End if job.state == JobState::Reserved => plain(None),
        OverviewColumn::End => plain(end(job, clock).or_else(|| Some("unknown".to_owned()))),
        OverviewColumn::Due => plain(due(job, clock)),
        OverviewColumn::Promise => {
            let (text, tone) = promise(job);
            (text, colours.of_tone(tone))
        }
        OverviewColumn::Why => plain(job.waits_for.as_ref().map(|waits| safe_line(&waits.text))),
    }
}

/// Returns the name of a job, of an array with its tasks.
fn name(job: &JobDetails) -> String {
    let name = safe_line(&job.name);
    match &job.array {
        Some(array) => format!("{name} [{}]", safe_line(&array.tasks)),
        None => name,
    }
}

fn start(job: &JobDetails, clock: &ShownClock) -> Option<String> {
    let expected = job.expected.as_ref().map(|all| &all.expected_start_at);
    let start = job.started_at.as_ref().or(expected);
    start.map(|at| safe_line(&clock.short(at)))
}

fn end(job: &JobDetails, clock: &ShownClock) -> Option<String> {
    let expected = job.expected.as_ref()?;
    Some(safe_line(&clock.short(&expected.expected_finish_at)))
}

fn due(job: &JobDetails, clock: &ShownClock) -> Option<String> {
    let due = job.deadline_at.as_ref();
    due.map(|at| safe_line(&clock.short(at)))
}

/// Returns what is promised, and with which probability the deadline is met.
fn promise(job: &JobDetails) -> (String, WordTone) {
    if let Some(became) = outcome(job) {
        return (safe_line(&became.text), became.class);
    }
    let chance = job.expected.as_ref().and_then(|all| all.probability);
    match (OpenPromise::of(job), chance) {
        (Some(open), _) if open.is_at_risk() => (
            format!("at risk {}", percent(open.probability)),
            WordTone::Bad,
        ),
        (Some(open), _) => (percent(open.probability), WordTone::Good),
        (None, _) if is_promised(job) => ("promised".to_owned(), WordTone::Plain),
        (None, _) if job.deadline_at.is_none() => (String::new(), WordTone::Plain),
        (None, Some(chance)) => (format!("none, {}", percent(chance)), WordTone::Dim),
        (None, None) => ("none".to_owned(), WordTone::Dim),
    }
}
