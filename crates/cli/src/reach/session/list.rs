//! `tollgate session list`.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::timestamp::format_iso;
use tollgate_session::{SessionFolder, holder_process, service_process};
use tollgate_sites::SiteJournal;

use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{Column, write_list};

/// List the sessions, with the pilots as they were last seen.
#[derive(Debug, clap::Args)]
pub(super) struct SessionListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The sessions of a user.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// The sessions, by name.
    sessions: Vec<SessionEntry>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct SessionEntry {
    /// Name of the session.
    name: String,
    /// State of the session.
    state: SessionState,
    /// Instant of its start.
    started_at: String,
    /// Instant of its end; none if it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Names of its sites.
    sites: Vec<String>,
    /// Number of pilots that wait.
    pending: usize,
    /// Number of pilots that run.
    running: usize,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SessionState {
    /// Its service and its terminal run.
    Running,
    /// Its service or its terminal does not run.
    Stopped,
    /// Has ended.
    Ended,
}

/// Writes the word in JSON.
impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Ended => "ended",
        })
    }
}

impl SessionEntry {
    /// Returns what is known of a session. None if it was removed meanwhile.
    fn read(folder: &SessionFolder) -> Result<Option<Self>, CliFailure> {
        let Some(record) = folder.record()? else {
            return Ok(None);
        };
        let runs = || service_process(folder).is_some() && holder_process(folder).is_some();
        let state = match record.goes_on() {
            false => SessionState::Ended,
            true if runs() => SessionState::Running,
            true => SessionState::Stopped,
        };
        let (mut pending, mut running) = (0, 0);
        let sites = folder.sites()?.sites;
        for site in &sites {
            let counts = SiteJournal::read(&folder.sites_dir().join(&site.name))?.counts();
            pending += counts.pending;
            running += counts.running;
        }
        Ok(Some(Self {
            name: folder.name().to_owned(),
            state,
            started_at: format_iso(record.started_at),
            ended_at: record.ended_at.map(format_iso),
            sites: sites.into_iter().map(|site| site.name).collect(),
            pending,
            running,
        }))
    }
}

/// `tollgate session list`.
pub(super) fn run(args: &SessionListArgs) -> Result<(), CliFailure> {
    let mut sessions = Vec::new();
    for folder in SessionFolder::all()? {
        sessions.extend(SessionEntry::read(&folder)?);
    }
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &SessionList { sessions })?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let now = format::now();
            let short = |at: &str| format::format_short_time(at, &now);
            let columns = [
                Column::new("session", |session: &SessionEntry| session.name.clone()),
                Column::new("state", |session: &SessionEntry| session.state.to_string()),
                Column::new("started", |session: &SessionEntry| {
                    short(&session.started_at)
                }),
                Column::new("sites", |session: &SessionEntry| session.sites.join(", ")).flexible(),
                Column::new("pending", |session: &SessionEntry| {
                    session.pending.to_string()
                }),
                Column::new("running", |session: &SessionEntry| {
                    session.running.to_string()
                }),
            ];
            write_list(&mut out, &columns, &sessions)?;
        }
    }
    Ok(())
}
