//! Texts of jobs that are stored once each: scripts, environments and long commands.
//!
//! A text is named by its SHA-256. It stays as long as an unfinished job has it. Afterwards it counts against
//! the user of the job, once for all jobs of the user; above the user's limit the texts go first whose last
//! job ended first. Triggers keep the books, so that a text never goes while a job needs it.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tollgate_engine::LaunchScript;
use tollgate_engine::script::sha256;

use crate::error::{StoreError, sqlite};
use crate::job_program::JobProgram;
use crate::read::StoreReader;
use crate::row_values::program_of;
use crate::statement::run;
use crate::store::Store;

/// Maximum size of a command, in bytes of JSON, that is part of the record of its job. A longer one is a text
/// of its own.
const MAX_COMMAND: usize = 1_024;

/// Maximum length of the word that stays of a longer command.
const MAX_WORD: usize = 255;

/// The columns of a job that name its texts.
const TEXTS: [&str; 3] = ["script", "environment", "command"];

/// The stored program of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredProgram {
    /// The program with all of its texts.
    Whole(Box<JobProgram>),
    /// A text of the program is not there as it came with the job: `script`, `environment` or `command`.
    Missing(&'static str),
}

/// A text and its name.
type Named = (String, String);

/// The texts of a program that are stored apart from it.
#[derive(Debug, Default)]
pub(crate) struct ProgramTexts {
    pub(crate) script: Option<String>,
    script_text: Option<String>,
    environment: Option<Named>,
    command: Option<Named>,
}

impl ProgramTexts {
    /// Returns the texts of a program; none of a job without one.
    pub(crate) fn of(program: Option<&JobProgram>) -> serde_json::Result<Self> {
        let Some(program) = program else {
            return Ok(Self::default());
        };
        let named = |text: String| (sha256(&text), text);
        let environment = match program.env.is_empty() {
            true => None,
            false => Some(named(serde_json::to_string(&program.env)?)),
        };
        let command = serde_json::to_string(&program.argv)?;
        let script = program.script.as_ref();
        Ok(Self {
            script: script.map(|script| script.sha256().to_owned()),
            script_text: script
                .and_then(LaunchScript::text)
                .map(|text| text.to_string()),
            environment,
            command: Some(command)
                .filter(|command| command.len() > MAX_COMMAND)
                .map(named),
        })
    }

    pub(crate) fn environment(&self) -> Option<&str> {
        self.environment.as_ref().map(|(name, _)| name.as_str())
    }

    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns the program without these texts, as JSON.
    pub(crate) fn rest(&self, program: Option<&JobProgram>) -> serde_json::Result<String> {
        let rest = program.map(|program| JobProgram {
            script: program.script.as_ref().map(LaunchScript::without_text),
            env: Vec::new(),
            argv: match self.command {
                Some(_) => program
                    .argv
                    .iter()
                    .take(1)
                    .map(|word| short(word))
                    .collect(),
                None => program.argv.clone(),
            },
            ..program.clone()
        });
        serde_json::to_string(&rest)
    }

    /// Stores the texts of an unfinished job.
    pub(crate) fn insert(&self, to: &Transaction<'_>) -> rusqlite::Result<()> {
        let script = self.script.as_ref().zip(self.script_text.as_ref());
        let named = [&self.environment, &self.command].into_iter().flatten();
        let named = named.map(|(name, text)| (name, text));
        for (name, text) in script.into_iter().chain(named) {
            let sql = "INSERT OR IGNORE INTO content (sha256, text) VALUES (?1, ?2)";
            run(to, sql, params![name, text])?;
        }
        Ok(())
    }
}

impl StoreReader {
    /// Returns the program of a job with its texts; None if the job was rejected or does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn program(&self, job: u64) -> Result<Option<StoredProgram>, StoreError> {
        self.with_connection(|connection| program(connection, job))
    }
}

impl Store {
    /// Returns the program of a job with its texts; None if the job was rejected or does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn program(&self, job: u64) -> Result<Option<StoredProgram>, StoreError> {
        program(&self.connection, job).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// Limits the texts that each user keeps of jobs that are over, in bytes, and drops those above the limit.
    /// Without this call there is no limit.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn limit_kept(&mut self, max: u64) -> Result<(), StoreError> {
        self.max_kept = i64::try_from(max).unwrap_or(i64::MAX);
        let failed = sqlite(&self.path, "cannot be written");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        drop_above(&transaction, self.max_kept).map_err(failed)?;
        transaction.commit().map_err(failed)
    }
}

/// Drops the texts that users keep above their limit, those first whose last job ended first.
pub(crate) fn drop_above(from: &Transaction<'_>, max: i64) -> rusqlite::Result<()> {
    let mut statement =
        from.prepare_cached("SELECT user, bytes FROM kept_by_user WHERE bytes > ?1 ORDER BY user")?;
    let users = statement.query_map([max], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (user, bytes) in users.collect::<Result<Vec<(u32, i64)>, _>>()? {
        let mut above = bytes - max;
        let mut oldest = from.prepare_cached(
            "SELECT sha256, bytes FROM kept WHERE user = ?1 ORDER BY last, sha256",
        )?;
        let kept = oldest.query_map([user], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut dropped: Vec<String> = Vec::new();
        for text in kept {
            let (name, bytes): (String, i64) = text?;
            dropped.push(name);
            above -= bytes;
            if above <= 0 {
                break;
            }
        }
        for name in dropped {
            let sql = "DELETE FROM kept WHERE user = ?1 AND sha256 = ?2";
            run(from, sql, params![user, name])?;
        }
    }
    Ok(())
}

fn program(connection: &Connection, job: u64) -> rusqlite::Result<Option<StoredProgram>> {
    let texts = TEXTS
        .map(|column| format!("{column}, (SELECT text FROM content WHERE sha256 = job.{column})"));
    let sql = format!(
        "SELECT program, {} FROM job WHERE id = ?1",
        texts.join(", ")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row([job], |row| {
        let Some(program) = program_of(row, 0)? else {
            return Ok(None);
        };
        let mut texts = TEXTS.map(|_| None);
        for (place, column) in TEXTS.into_iter().enumerate() {
            let name: Option<String> = row.get(1 + 2 * place)?;
            let text: Option<String> = row.get(2 + 2 * place)?;
            let is_whole = name == text.as_deref().map(sha256);
            if !is_whole {
                return Ok(Some(StoredProgram::Missing(column)));
            }
            texts[place] = text;
        }
        Ok(Some(whole(program, texts)))
    })
}

/// Returns a program with its texts: script, environment, command.
fn whole(mut program: JobProgram, texts: [Option<String>; 3]) -> StoredProgram {
    let [script, environment, command] = texts;
    if let Some(script) = script {
        program.script = Some(LaunchScript::new(script));
    }
    match parsed(environment.as_deref()) {
        Ok(environment) => program.env = environment.unwrap_or(program.env),
        Err(_) => return StoredProgram::Missing("environment"),
    }
    match parsed(command.as_deref()) {
        Ok(command) => program.argv = command.unwrap_or(program.argv),
        Err(_) => return StoredProgram::Missing("command"),
    }
    StoredProgram::Whole(Box::new(program))
}

fn parsed<T: serde::de::DeserializeOwned>(text: Option<&str>) -> serde_json::Result<Option<T>> {
    text.map(serde_json::from_str).transpose()
}

/// Returns the beginning of a word.
fn short(word: &str) -> String {
    word.chars().take(MAX_WORD).collect()
}
