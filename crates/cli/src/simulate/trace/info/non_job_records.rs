//! Records of something other than jobs: log-ins.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::{Instant, Span};
use tollgate_trace::logins::{self, ComputerPresence, LoginTrace};

use super::format;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

/// The contents of such a record.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum NonJobKeys {
    Logins(LoginsKeys),
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
    /// Reads the log-ins at `path`.
    pub(super) fn read(path: &Path, verbosity: Verbosity) -> Result<Self, CliFailure> {
        let logins = logins::open(path)?;
        for line in logins.diagnostics.to_string().lines() {
            verbosity.note(format_args!("{}: {line}", logins.source));
        }
        Ok(Self::Logins(LoginsKeys::new(&logins)))
    }

    /// Writes the records as text.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self::Logins(logins) = self;
        logins.write(out)
    }

    /// Returns the number of sessions.
    pub(super) const fn len(&self) -> usize {
        let Self::Logins(logins) = self;
        logins.sessions
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
