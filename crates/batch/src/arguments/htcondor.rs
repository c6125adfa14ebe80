//! The options of `condor_submit`: words behind one or two dashes, which may be abbreviated, and the statements
//! that `-append` adds to the submit file.

use super::options::{
    AGAIN, ANSWER, ARRAY, CORES, DIRECTORY, ELSEWHERE, MEMORY, NAME, OUTPUT, OptionRow,
    OptionValue, SCRIPT, TIME, VARIABLES, WAITING, matching,
};
use super::{PassedArguments, RejectedArgument, rejected};

const fn flag(name: &'static str) -> OptionRow {
    OptionRow::flag(name)
}

const fn valued(name: &'static str) -> OptionRow {
    OptionRow::valued(name)
}

/// The options of `condor_submit`. Others pass, with a word behind them that begins with no dash.
pub(super) const OPTIONS: &[OptionRow] = &[
    valued("addr").rejected(ELSEWHERE),
    valued("append").letter('a'),
    valued("batch-name").rejected(NAME),
    valued("capabilities").rejected(ANSWER),
    flag("debug").rejected(ANSWER),
    flag("disable").letter('d'),
    valued("dry-run").rejected(ANSWER),
    flag("factory").rejected(ARRAY),
    valued("file").rejected(SCRIPT),
    flag("help").letter('h').rejected(ANSWER),
    flag("interactive").letter('i').rejected(WAITING),
    valued("maxjobs"),
    valued("name").letter('n').rejected(ELSEWHERE),
    valued("password"),
    valued("pool").rejected(ELSEWHERE),
    valued("queue").letter('q').rejected(ARRAY),
    valued("remote").letter('r').rejected(ELSEWHERE),
    flag("single-cluster"),
    flag("spool").letter('s').rejected(ELSEWHERE),
    valued("stm"),
    flag("terse").letter('t'),
    flag("unused"),
    flag("verbose").letter('v').rejected(ANSWER),
];

/// The statements that others take the place of, in lower case.
pub(super) const STATEMENTS: &[(&str, &str)] = &[
    ("allowed_execute_duration", TIME),
    ("allowed_job_duration", TIME),
    ("arguments", SCRIPT),
    ("batch_name", NAME),
    ("environment", VARIABLES),
    ("error", OUTPUT),
    ("executable", SCRIPT),
    ("getenv", VARIABLES),
    ("include", SCRIPT),
    ("initialdir", DIRECTORY),
    ("input", SCRIPT),
    ("max_retries", AGAIN),
    ("on_exit_remove", AGAIN),
    ("output", OUTPUT),
    ("queue", ARRAY),
    ("request_cpus", CORES),
    ("request_memory", MEMORY),
    ("should_transfer_files", SCRIPT),
    ("transfer_executable", SCRIPT),
    ("universe", SCRIPT),
    ("+tollgatename", NAME),
    ("my.tollgatename", NAME),
];

/// Reads arguments of `condor_submit`.
pub(super) fn read(words: &[String]) -> Result<PassedArguments, RejectedArgument> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(rejected(word, SCRIPT));
        };
        let is_letter =
            |row: &&OptionRow| row.letter.is_some_and(|letter| name == letter.to_string());
        let rows = match OPTIONS.iter().find(is_letter) {
            Some(row) => vec![row],
            None => matching(OPTIONS, name),
        };
        if let Some(reason) = rows.iter().find_map(|row| row.reason()) {
            return Err(rejected(word, reason));
        }
        let has_value = match rows.first() {
            Some(row) => matches!(row.value, OptionValue::Required(_)),
            None => {
                let next = rest.as_slice().first();
                next.is_some_and(|next| !next.starts_with('-'))
            }
        };
        let value = if has_value { rest.next() } else { None };
        if rows.first().is_some_and(|row| row.name == "append") {
            check_statement(value.map_or("", String::as_str))?;
        }
    }
    Ok(PassedArguments::default())
}

fn check_statement(statement: &str) -> Result<(), RejectedArgument> {
    let lower = statement.trim().to_lowercase();
    let name = lower
        .split(['=', ' ', '\t', ':'])
        .next()
        .unwrap_or_default();
    let row = STATEMENTS.iter().find(|(known, _)| *known == name);
    match row {
        Some((_, reason)) => Err(rejected(&format!("-append {statement}"), reason)),
        None => Ok(()),
    }
}
