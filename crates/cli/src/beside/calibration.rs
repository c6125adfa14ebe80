//! `tollgate beside calibration`.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use tollgate_beside::{KeptTally, QueueFollower, StatedQuantity};
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_model::{Instant, Span};
use tollgate_sites::{FollowerStore, StoredFollower};

use super::engine::FollowedEngine;
use super::error::BesideError;
use super::follow::drift_lines;
use super::shadow::StoredShadow;
use super::state_dir;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::format::{self, format_local_time};
use crate::output::messages::pluralise;
use crate::output::table::{Column, FigureLayout, render_figures};
use crate::parse;

/// The levels of the table.
const SHOWN_LEVELS: [usize; 3] = [2, 3, 4];
/// The index of .9 among the levels.
const LEVEL_90: usize = 3;

/// Compare stated probabilities with how many statements were kept.
///
/// Counts the statements of the follower and of `tollgate eta` about jobs that have started or ended since, by
/// queue and number of processors.
#[derive(Debug, clap::Args)]
pub(super) struct BesideCalibrationArgs {
    /// Time back from the last observation that counts
    #[arg(long, value_name = "SPAN", default_value = "28d", value_parser = parse::parse_span)]
    since: f64,
    /// Directory of what was learned; by default in the user's cache
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Scheduler that was followed; by default the first with knowledge
    #[arg(long, value_enum)]
    engine: Option<FollowedEngine>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The output.
#[derive(Serialize)]
struct CalibrationAnswer {
    waits_learned: u64,
    is_guess: bool,
    cancelled: u64,
    overdue: usize,
    drift: Vec<String>,
    /// The guesses before enough waits were known.
    guesses: GuessesKept,
    /// The statements of forests.
    groups: Vec<CalibrationRow>,
    /// Results of other policies on the jobs. None unless a follower tries some.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<StoredShadow>,
}

/// The statements about a quantity of the jobs of a queue and a width.
#[derive(Serialize)]
struct CalibrationRow {
    quantity: &'static str,
    queue: String,
    procs: &'static str,
    statements: u64,
    /// The part that was kept, by level.
    kept: Vec<LevelKept>,
}

#[derive(Serialize)]
struct GuessesKept {
    statements: u64,
    kept: Vec<LevelKept>,
}

#[derive(Serialize)]
struct LevelKept {
    level: f64,
    part: f64,
}

/// `tollgate beside calibration`.
pub(super) fn run(args: &BesideCalibrationArgs) -> Result<(), CliFailure> {
    let (store, stored) = stored(args)?;
    let mut answer = answer(&stored.follower, args.since);
    answer.shadow = StoredShadow::read(&store)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &answer)?,
        OutputFormat::Csv => {
            let rows: Vec<CsvRow> = answer.groups.iter().map(CsvRow::of).collect();
            crate::output::csv_rows::write(&mut out, &rows)?;
        }
        OutputFormat::Table => {
            out.write_all(text(&answer).as_bytes())?;
            if let Some(shadow) = &answer.shadow {
                out.write_all(shadow_text(shadow).as_bytes())?;
            }
        }
    }
    Ok(())
}

/// Returns what was learned: of the named engine, else of the first one that something was learned of. No engine is asked.
fn stored(args: &BesideCalibrationArgs) -> Result<(FollowerStore, StoredFollower), BesideError> {
    let engines = match args.engine {
        Some(engine) => vec![engine],
        None => FollowedEngine::found()
            .into_iter()
            .chain(FollowedEngine::ALL)
            .collect(),
    };
    let mut first = None;
    for engine in engines {
        let store = state_dir::find(args.state.as_deref(), engine)?;
        if let Some(stored) = store.read()? {
            return Ok((store, stored));
        }
        first = first.or(Some(store));
    }
    let path = first.map_or_else(PathBuf::new, |store| store.dir().to_owned());
    Err(BesideError::NothingLearned(path))
}

/// A row of the answer as a line of CSV.
#[derive(Serialize)]
struct CsvRow {
    quantity: &'static str,
    queue: String,
    procs: &'static str,
    statements: u64,
    kept_50: f64,
    kept_90: f64,
    kept_95: f64,
}

impl CsvRow {
    fn of(row: &CalibrationRow) -> Self {
        let [half, high, highest] = SHOWN_LEVELS.map(|idx| row.kept[idx].part);
        Self {
            quantity: row.quantity,
            queue: row.queue.clone(),
            procs: row.procs,
            statements: row.statements,
            kept_50: half,
            kept_90: high,
            kept_95: highest,
        }
    }
}

fn answer(follower: &QueueFollower, since: f64) -> CalibrationAnswer {
    let at = follower.at().unwrap_or(Instant::ZERO);
    let since = at - Span::from_secs_f64(since);
    let groups = StatedQuantity::ALL.into_iter().flat_map(|quantity| {
        let groups = follower.kept_by_group(quantity, since);
        groups
            .into_iter()
            .map(move |(queue, width, tally)| CalibrationRow {
                quantity: quantity.key(),
                queue,
                procs: width.key(),
                statements: tally.n,
                kept: kept(&tally),
            })
    });
    let guesses = follower.calibration().guesses(since);
    CalibrationAnswer {
        guesses: GuessesKept {
            statements: guesses.n,
            kept: kept(&guesses),
        },
        waits_learned: follower.n_waits(),
        is_guess: follower.is_guessing(),
        cancelled: follower.calibration().n_cancelled(),
        overdue: follower.n_overdue(),
        drift: drift_lines(follower),
        groups: groups.collect(),
        shadow: None,
    }
}

fn shadow_text(shadow: &StoredShadow) -> String {
    let at = format_local_time(&shadow.at, &format::now());
    format!(
        "\nOther policies on the jobs that were over at {at}: {}.\n\n{}",
        shadow.summary, shadow.table
    )
}

fn kept(tally: &KeptTally) -> Vec<LevelKept> {
    let kept = |(idx, level): (usize, f64)| LevelKept {
        level,
        part: tally.coverage(idx).unwrap_or(0.0),
    };
    WAIT_LEVELS.into_iter().enumerate().map(kept).collect()
}

fn text(answer: &CalibrationAnswer) -> String {
    let learned = pluralise(answer.waits_learned as usize, "wait");
    let mut lines = vec![match answer.is_guess {
        true => format!("{learned} learned: statements are guesses below 300."),
        false => format!("{learned} learned."),
    }];
    if answer.overdue > 0 {
        lines.push(format!(
            "{} beyond the bound at 0.95 and not started: not counted yet.",
            pluralise(answer.overdue, "job")
        ));
    }
    if answer.cancelled > 0 {
        lines.push(format!(
            "{} cancelled while waiting: neither kept nor broken.",
            pluralise(answer.cancelled as usize, "job")
        ));
    }
    if answer.guesses.statements > 0 {
        lines.push(format!(
            "{} before enough was known, of which {:.3} kept at 0.9.",
            pluralise(answer.guesses.statements as usize, "guess statement"),
            answer.guesses.kept[LEVEL_90].part
        ));
    }
    lines.extend(answer.drift.iter().cloned());
    if answer.groups.is_empty() {
        lines.push("No statement of a forest was judged yet.".to_owned());
        return lines.join("\n") + "\n";
    }
    let mut columns = vec![
        Column::new("about", |row: &CalibrationRow| row.quantity.to_owned()),
        Column::new("queue", |row: &CalibrationRow| row.queue.clone()),
        Column::figure("procs", |row: &CalibrationRow| row.procs.to_owned()),
        Column::figure("statements", |row: &CalibrationRow| {
            row.statements.to_string()
        }),
    ];
    columns.extend(SHOWN_LEVELS.into_iter().map(|idx| {
        let heading = format!("kept ({})", WAIT_LEVELS[idx]);
        Column::figure(heading, move |row: &CalibrationRow| {
            format!("{:.3}", row.kept[idx].part)
        })
    }));
    let table = render_figures(&columns, &answer.groups, FigureLayout::Open);
    format!("{}\n\n{table}", lines.join("\n"))
}
