//! The panes that cover the list of jobs: an explanation, an output, or the keys.

use ratatui_core::text::Line;
use tollgate_client::types::JobExplanation;
use tollgate_overview::job_facts::{WordTone, command_line, is_promised, job_id, outcome, state};
use tollgate_overview::words::percent;

use super::cells::{broken, wrapped};
use super::details::sentence;
use super::palette::ScreenColours;
use super::times::ShownClock;
use crate::safe_text::safe_line;
use crate::state::{TopPane, TopState};

/// The keys, with what they do.
const KEYS: [(&str, &str); 12] = [
    ("up, down, k, j", "select the job above or below; scroll"),
    ("PgUp, PgDn, space", "a page up or down"),
    (
        "Home, End, g, G",
        "the first or the last; an output is followed at its end",
    ),
    (
        "Enter, e",
        "explain why the job waits, and when it should end",
    ),
    ("l", "show the last lines of its output"),
    ("c", "cancel it"),
    ("h", "hold it: it does not start"),
    ("r", "release it"),
    ("m", "list the jobs of one user, or of all"),
    ("Esc, q", "go back; q in the list quits"),
    ("Ctrl-L, Ctrl-Z", "paint the screen again; stop until `fg`"),
    ("Ctrl-C", "quit"),
];

/// The meaning of the words in the table.
const LEGEND: [&str; 5] = [
    "START and END of a job that waits are expected; a running job has started at START.",
    "PROMISE 97 %: the deadline is promised, and kept with this probability.",
    "at risk 61 %: promised, and kept with less than 80 %. These jobs come first.",
    "none, 20 %: not promised; the job may be in time all the same.",
    "Cancel, hold and release ask before they change anything.",
];

/// Returns all lines of the pane.
pub(super) fn lines(
    state: &TopState,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Vec<Line<'static>> {
    match &state.pane {
        TopPane::Jobs => Vec::new(),
        TopPane::Help => help(colours, width),
        TopPane::Explanation(None) | TopPane::Output(None) => {
            vec![Line::styled(
                "asking the service",
                colours.of_tone(WordTone::Dim),
            )]
        }
        TopPane::Explanation(Some(explained)) => explanation(explained, colours, clock, width),
        TopPane::Output(Some((lines, note))) => {
            let id = state.pane_job.as_deref().unwrap_or_default();
            let title = format!("Output of job {id}: {}", safe_line(note));
            let title = wrapped(&title, width, 2).into_iter();
            let mut shown: Vec<Line<'static>> = title
                .map(|line| Line::styled(line, colours.heading()))
                .collect();
            let parts = lines.iter().flat_map(|line| broken(line, width));
            shown.extend(parts.map(Line::raw));
            shown
        }
    }
}

fn help(colours: ScreenColours, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("Keys", colours.heading())];
    for (keys, meaning) in KEYS {
        let line = format!("{keys:<18} {meaning}");
        lines.extend(wrapped(&line, width, 19).into_iter().map(Line::raw));
    }
    lines.push(Line::styled("The table", colours.heading()));
    lines.extend(LEGEND.iter().flat_map(|words| sentence(words, width)));
    lines
}

fn explanation(
    explained: &JobExplanation,
    colours: ScreenColours,
    clock: &ShownClock,
    width: usize,
) -> Vec<Line<'static>> {
    let job = &explained.job;
    let title = format!("Job {} {}", job_id(job), safe_line(&job.name));
    let tag = outcome(job).unwrap_or_else(|| state(job));
    let mut lines: Vec<Line<'static>> = wrapped(&title, width, 2)
        .into_iter()
        .map(|line| Line::styled(line, colours.heading()))
        .collect();
    lines.push(Line::styled(
        safe_line(&tag.text),
        colours.of_tone(tag.class),
    ));
    for words in &explained.words {
        lines.extend(sentence(words, width));
    }
    let mut fact = |name: &str, value: Option<String>| {
        let Some(value) = value else { return };
        let line = format!("{name:<10} {}", safe_line(&value));
        lines.extend(wrapped(&line, width, 11).into_iter().map(Line::raw));
    };
    let at = |at: &String| clock.short(at);
    fact("submitted", Some(at(&job.submitted_at)));
    fact("started", job.started_at.as_ref().map(at));
    if let Some(expected) = &explained.expected {
        if job.started_at.is_none() {
            fact(
                "start",
                Some(format!("expected {}", at(&expected.expected_start_at))),
            );
        }
        fact(
            "end",
            Some(format!(
                "expected {}; 8 in 10 end between {} and {}",
                at(&expected.expected_finish_at),
                at(&expected.earliest_finish_at),
                at(&expected.latest_finish_at)
            )),
        );
        let promised = match is_promised(job) {
            true => "promised; kept with",
            false => "not promised; in time with",
        };
        let chance = expected.probability.map(percent);
        fact(
            "promise",
            chance.map(|chance| format!("{promised} {chance}")),
        );
    }
    fact("ended", job.finished_at.as_ref().map(at));
    fact("due", job.deadline_at.as_ref().map(at));
    fact("user", Some(job.user.clone()));
    fact("processors", Some(job.procs.to_string()));
    fact("host", job.hosts.clone().or_else(|| job.host.clone()));
    fact("command", Some(command_line(&job.command)));
    fact("directory", Some(job.dir.clone()));
    fact("output", job.output.clone());
    lines
}
