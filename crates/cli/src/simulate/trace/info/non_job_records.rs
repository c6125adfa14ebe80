//! Records of something other than jobs: round-robin databases, and log-ins.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::{Instant, Span};
use tollgate_trace::error::NonJobRecords;
use tollgate_trace::logins::{self, ComputerPresence, LoginTrace};
use tollgate_trace::rrd::{self, RrdDatabase};

use super::format;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// The contents of such a record.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum NonJobKeys {
    RoundRobinDatabase(DatabaseKeys),
    Logins(LoginsKeys),
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DatabaseKeys {
    source: String,
    step_s: f64,
    /// In UTC.
    last_update: Option<String>,
    sources: Vec<SourceKeys>,
    archives: Vec<ArchiveKeys>,
}

#[derive(Serialize, JsonSchema)]
struct SourceKeys {
    name: String,
    /// `GAUGE`, `COUNTER`, ..
    measures: String,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct ArchiveKeys {
    /// How a value sums up: `AVERAGE`, `MAX`, ..
    function: String,
    resolution_s: f64,
    rows: usize,
    /// Values of all sources that are known.
    known_values: usize,
    /// In UTC.
    end: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct LoginsKeys {
    source: String,
    sessions: usize,
    places: usize,
    /// In UTC.
    first: Option<String>,
    last: Option<String>,
    /// Sessions by what was during them.
    presences: BTreeMap<&'static str, usize>,
    /// Sessions whose end is known.
    ended: usize,
    mean_session_s: Option<f64>,
}

impl NonJobKeys {
    /// Reads the records at `path`, which are known to be of `kind`.
    pub(super) fn read(
        path: &Path,
        kind: NonJobRecords,
        verbosity: Verbosity,
    ) -> Result<Self, CliFailure> {
        match kind {
            NonJobRecords::Rrd => {
                let database = rrd::open(path)?;
                Ok(Self::RoundRobinDatabase(DatabaseKeys::new(path, &database)))
            }
            NonJobRecords::Logins => {
                let logins = logins::open(path)?;
                for line in logins.diagnostics.to_string().lines() {
                    verbosity.note(format_args!("{}: {line}", logins.source));
                }
                Ok(Self::Logins(LoginsKeys::new(&logins)))
            }
        }
    }

    /// Writes the records as text.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::RoundRobinDatabase(database) => database.write(out),
            Self::Logins(logins) => logins.write(out),
        }
    }

    /// Returns the number of rows or sessions.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::RoundRobinDatabase(database) => {
                database.archives.iter().map(|archive| archive.rows).sum()
            }
            Self::Logins(logins) => logins.sessions,
        }
    }
}

impl DatabaseKeys {
    fn new(path: &Path, database: &RrdDatabase) -> Self {
        let sources = database.sources.iter().map(|source| SourceKeys {
            name: source.name.clone(),
            measures: source.kind.clone(),
            min: source.min,
            max: source.max,
        });
        let archives = database.archives.iter().map(|archive| ArchiveKeys {
            function: archive.function.clone(),
            resolution_s: archive.resolution.as_secs_f64(),
            rows: archive.len(),
            known_values: archive.n_known(),
            end: date(archive.end),
        });
        Self {
            source: path.display().to_string(),
            step_s: database.step.as_secs_f64(),
            last_update: date(database.last_update),
            sources: sources.collect(),
            archives: archives.collect(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.source)?;
        let last = self.last_update.as_deref().unwrap_or("unknown");
        let step = format::format_span(self.step_s);
        writeln!(
            out,
            "  format          round-robin database, a step every {step}"
        )?;
        writeln!(out, "  last update     {last}")?;
        for source in &self.sources {
            writeln!(
                out,
                "  measured        {} ({})",
                source.name, source.measures
            )?;
        }
        for archive in &self.archives {
            let values = archive.rows * self.sources.len();
            writeln!(
                out,
                "  archive         {} every {}, {} over {}, {} of the values known",
                archive.function,
                format::format_span(archive.resolution_s),
                pluralise(archive.rows, "row"),
                format::format_span(archive.resolution_s * archive.rows as f64),
                format::format_percent(archive.known_values as f64 / values.max(1) as f64),
            )?;
        }
        Ok(())
    }
}

impl LoginsKeys {
    fn new(logins: &LoginTrace) -> Self {
        let mut presences = BTreeMap::new();
        for session in &logins.sessions {
            *presences.entry(word(session.presence)).or_default() += 1;
        }
        let spans = logins.sessions.iter().filter_map(|session| session.span());
        let spans_s: Vec<f64> = spans.map(Span::as_secs_f64).collect();
        let mean = || spans_s.iter().sum::<f64>() / spans_s.len() as f64;
        let from = |session: Option<&logins::LoginSession>| date(session?.from);
        Self {
            source: logins.source.clone(),
            sessions: logins.sessions.len(),
            places: logins.places().len(),
            first: from(logins.sessions.first()),
            last: from(logins.sessions.last()),
            presences,
            ended: spans_s.len(),
            mean_session_s: (!spans_s.is_empty()).then(mean),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.source)?;
        writeln!(out, "  format          log-ins or availability")?;
        if let Some((first, last)) = self.first.as_deref().zip(self.last.as_deref()) {
            writeln!(out, "  began           {first} to {last}")?;
        }
        let presences = self.presences.iter();
        let presences: Vec<String> = presences
            .map(|(word, sessions)| format!("{} {sessions}", word.replace('_', " ")))
            .collect();
        writeln!(
            out,
            "  sessions        {} ({})",
            self.sessions,
            presences.join(", ")
        )?;
        writeln!(out, "  places          {}", self.places)?;
        if let Some(mean_s) = self.mean_session_s {
            let mean = format::format_span(mean_s);
            writeln!(
                out,
                "  length          {mean} on average, of {} that ended",
                self.ended
            )?;
        }
        Ok(())
    }
}

const fn word(presence: ComputerPresence) -> &'static str {
    match presence {
        ComputerPresence::LoggedIn => "logged_in",
        ComputerPresence::Available => "available",
        ComputerPresence::Unavailable => "unavailable",
    }
}

fn date(at: Instant) -> Option<String> {
    let seconds = at.as_micros().div_euclid(1_000_000);
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
