//! `tollgate site status`, and the rows of `tollgate site list`.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use tollgate_batch::EngineKind;
use tollgate_client::timestamp::format_iso;
use tollgate_model::{Instant, Probability};
use tollgate_sites::{
    CoreSpeed, LogEntry, PilotCounts, PilotPhase, PilotRecord, PilotWork, SiteControl, SiteError,
    SiteJournal, SiteSettings, SiteState, SitesFile, state_dir,
};

use super::opened;
use super::pilot_service::report_moved_ends;
use super::service_work::ServiceWork;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, write_list};

/// How long another command at the site is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of lines of the log in an answer.
const LOG_LINES: usize = 8;

/// Show the pilots of a site, and what was done last.
#[derive(Debug, clap::Args)]
pub(super) struct SiteStatusArgs {
    /// Name of the site
    name: String,
    /// Show the pilots as they were last seen, without asking
    #[arg(long)]
    cached: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// The sites of a user.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SiteListing {
    /// The sites, in the order of the file.
    pub(super) sites: Vec<SiteEntry>,
}

/// A site, with the numbers of its pilots as they were last seen.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SiteEntry {
    /// Name of the site.
    pub(super) name: String,
    /// Engine of the site.
    #[schemars(schema_with = "engine_schema")]
    pub(super) engine: EngineKind,
    /// Host on which the engine's commands run; none for this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) via: Option<String>,
    /// Number of cores of a pilot.
    pub(super) cores: u32,
    /// Time limit of a pilot.
    pub(super) time_s: f64,
    /// Shapes of pilots to choose from; none if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) shapes: Vec<String>,
    /// Wanted number of pilots.
    #[serde(rename = "wanted")]
    pub(super) target: u32,
    /// Number of pilots that wait.
    pub(super) pending: usize,
    /// Number of pilots that run.
    pub(super) running: usize,
    /// Number of pilots that are cancelled and have not ended yet.
    pub(super) ending: usize,
}

/// The levels between which a pilot starts nine times in ten.
const START_LEVELS: [Probability; 2] = [
    Probability::new(0.05).expect("a probability"),
    Probability::new(0.95).expect("a probability"),
];

/// A site with its pilots.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SiteReport {
    /// The site.
    #[serde(flatten)]
    site: SiteEntry,
    /// Mean time that the pilots waited that started; none if none has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_wait_s: Option<f64>,
    /// Number of the pilots so far that the engine ended before their time; of the last ones, if they are many.
    #[serde(skip_serializing_if = "is_zero")]
    ended_early: u32,
    /// Speed of a core, in millions of floating-point operations a second; none if `tollgate site check` never measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_mflops: Option<u64>,
    /// Last decision of `tollgate site keep`; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<KeepView>,
    /// Pilots that wait or run, and those that ended lately.
    pilots: Vec<PilotView>,
    /// The last actions and their reasons, oldest first.
    log: Vec<LogLine>,
}

/// A decision of `tollgate site keep`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct KeepView {
    /// Instant of the decision.
    at: String,
    /// The decision, and why.
    text: String,
    /// End of the site's pause; none if it is not paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_until: Option<String>,
}

/// The interval in which a pilot starts with a probability of nine tenths.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ExpectedPilotStart {
    /// One in twenty starts before.
    earliest_at: String,
    /// One in twenty starts after.
    latest_at: String,
}

/// A pilot.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct PilotView {
    /// Number of the pilot.
    number: u32,
    /// Name of its job at the engine.
    job: String,
    /// Id of its job; none if the engine has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Phase of the pilot.
    state: PilotPhase,
    /// Whether it runs and the service did not have its worker when it was last looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_joined: bool,
    /// Number of its cores.
    cores: u32,
    /// Its time limit.
    time_s: f64,
    /// Instant at which it was submitted.
    submitted_at: String,
    /// Instant of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// Of a pilot that waits: between when it starts, nine times in ten. It is by the jobs of all users of its queue where
    /// these are seen, else by the pilots so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_start: Option<ExpectedPilotStart>,
    /// Start that the engine expects of a pilot that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_start_at: Option<String>,
    /// Instant of its end, or of the end of its time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<String>,
    /// Time in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_s: Option<f64>,
    /// Why it waits or ended, in the engine's words; empty if there is no reason.
    reason: String,
}

/// A line of the log of a site.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct LogLine {
    /// Instant of the line.
    at: String,
    /// The action, and its reason.
    text: String,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Returns the schema of the word for an engine. The crate of the engines is free of schemas.
fn engine_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": EngineKind::ALL.map(EngineKind::name) })
}

impl SiteEntry {
    pub(super) fn new(settings: &SiteSettings, state: &SiteState) -> Self {
        let counts = state.counts();
        Self {
            name: settings.name.clone(),
            engine: settings.engine,
            via: settings.via.clone(),
            cores: settings.cores,
            time_s: settings.time().as_secs_f64(),
            shapes: settings.shapes.iter().map(ToString::to_string).collect(),
            target: state.target,
            pending: counts.pending,
            running: counts.running,
            ending: counts.ending,
        }
    }
}

impl PilotView {
    fn new(pilot: &PilotRecord, site: &SiteSettings, state: &SiteState, now: Instant) -> Self {
        let shape = pilot.shape(site);
        let (waits, age) = state.waits_of_pending(pilot, site, now);
        let starts = |level| Some(format_iso(now + waits.rest(level, age)?));
        let [earliest_at, latest_at] = START_LEVELS.map(starts);
        let expected_start =
            earliest_at
                .zip(latest_at)
                .map(|(earliest_at, latest_at)| ExpectedPilotStart {
                    earliest_at,
                    latest_at,
                });
        Self {
            number: pilot.number,
            job: pilot.job.to_string(),
            id: pilot.id.map(|id| id.0),
            state: pilot.phase,
            not_joined: pilot.phase == PilotPhase::Runs && pilot.was_missed && !pilot.has_joined,
            cores: shape.cores,
            time_s: shape.time.as_secs_f64(),
            submitted_at: format_iso(pilot.offered_at),
            started_at: pilot.started_at.map(format_iso),
            expected_start: expected_start.filter(|_| pilot.is_pending()),
            engine_start_at: pilot.expected_start.map(format_iso),
            ends_at: pilot.ends_at.map(format_iso),
            waited_s: pilot.waited(now).map(|span| span.as_secs_f64()),
            reason: pilot.reason.clone(),
        }
    }

    /// Returns the columns of the pilots of a site.
    fn columns<'a>(site: &'a str, now: &'a jiff::Zoned) -> [Column<'a, Self>; 9] {
        let local = |at: &Option<String>| Some(format::format_short_time(at.as_ref()?, now));
        [
            Column::new("pilot", move |pilot: &Self| {
                format!("{site}.{}", pilot.number)
            }),
            Column::optional("job", |pilot: &Self| Some(pilot.id?.to_string())),
            Column::new("shape", |pilot: &Self| {
                let time = format::format_span(pilot.time_s);
                format!("{}x{time}", pilot.cores)
            }),
            Column::new("state", |pilot: &Self| match pilot.not_joined {
                true => format!("{}, not joined", pilot.state.name()),
                false => pilot.state.name().to_owned(),
            }),
            Column::optional("waited", |pilot: &Self| {
                pilot.waited_s.map(format::format_span)
            }),
            Column::optional("started", move |pilot: &Self| local(&pilot.started_at)),
            Column::optional("starts (9 in 10)", move |pilot: &Self| {
                let expected = pilot.expected_start.as_ref()?;
                let [earliest, latest] = [&expected.earliest_at, &expected.latest_at];
                let short = |at| format::format_short_time(at, now);
                Some(format!("{} to {}", short(earliest), short(latest)))
            }),
            Column::optional("ends", move |pilot: &Self| local(&pilot.ends_at)),
            Column::new("reason", |pilot: &Self| pilot.reason.clone()).flexible(),
        ]
    }
}

impl SiteReport {
    /// Returns the report on a site as it was last seen, with the last `log_lines` lines of its log.
    pub(crate) fn new(site: &SiteControl, now: Instant, log_lines: usize) -> Self {
        let log = site.log_tail(log_lines);
        Self::of_parts(site.settings(), site.state(), log, now)
    }

    /// Returns the report on a site as it was last seen, without its lock: another command may hold it while
    /// an engine does not answer.
    pub(crate) fn last_seen(
        settings: &SiteSettings,
        state_dir: &Path,
        now: Instant,
        log_lines: usize,
    ) -> Result<Self, SiteError> {
        let dir = state_dir.join(&settings.name);
        let (state, log) = (
            SiteJournal::read(&dir)?,
            SiteJournal::read_log(&dir, log_lines),
        );
        Ok(Self::of_parts(settings, &state, log, now))
    }

    fn of_parts(
        settings: &SiteSettings,
        state: &SiteState,
        log: Vec<LogEntry>,
        now: Instant,
    ) -> Self {
        let waits: Vec<f64> = state
            .waits(now)
            .iter()
            .map(|span| span.as_secs_f64())
            .collect();
        let mean_wait = waits.iter().sum::<f64>() / waits.len() as f64;
        let decision = state.keep.as_ref().filter(|record| !record.text.is_empty());
        let line = |entry: LogEntry| LogLine {
            at: format_iso(entry.at),
            text: entry.text,
        };
        Self {
            site: SiteEntry::new(settings, state),
            mean_wait_s: (!waits.is_empty()).then_some(mean_wait),
            ended_early: state.preemptions(now).preemptions,
            speed_mflops: state.speed.map(CoreSpeed::as_mflops),
            keep: decision.map(|record| KeepView {
                at: format_iso(record.at),
                text: record.text.clone(),
                paused_until: record
                    .paused_until
                    .filter(|_| record.is_paused(now))
                    .map(format_iso),
            }),
            pilots: state
                .pilots
                .iter()
                .map(|pilot| PilotView::new(pilot, settings, state, now))
                .collect(),
            log: log.into_iter().map(line).collect(),
        }
    }
}

/// `tollgate site status`.
pub(super) fn run(args: &SiteStatusArgs) -> Result<(), CliFailure> {
    let (report, refreshed) = look(args)?;
    let now = format::now();
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &report)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => report.write_table(&mut out, &now)?,
    }
    Ok(refreshed?)
}

/// Asks the engine for the pilots of a site, and the service for their workers. A site at which another command
/// is at work, or whose engine does not answer, is reported as it was last seen.
fn look(args: &SiteStatusArgs) -> Result<(SiteReport, Result<(), SiteError>), CliFailure> {
    let settings = SitesFile::read(&SitesFile::path()?)?
        .site(&args.name)?
        .clone();
    let state = state_dir()?;
    let now = || Instant::from_micros(format::now().timestamp().as_microsecond());
    let program = opened::program()?;
    let opened = match args.cached {
        true => None,
        false => Some(SiteControl::open_within(
            settings.clone(),
            &state,
            &program,
            LOCK_TIMEOUT,
        )),
    };
    match opened {
        None => {}
        Some(Ok(mut site)) => {
            let refreshed = site.refresh();
            if refreshed.is_ok() {
                note_joined(&mut site, &args.address)?;
            }
            return Ok((SiteReport::new(&site, now(), LOG_LINES), refreshed));
        }
        Some(Err(SiteError::Busy(_))) => Verbosity::Notes.note(
            "another command asks the engine now: the pilots are shown as they were last seen",
        ),
        Some(Err(error)) => return Err(error.into()),
    }
    let report = SiteReport::last_seen(&settings, &state, now(), LOG_LINES)?;
    Ok((report, Ok(())))
}

/// Asks the service which pilots have joined it, and tells it which ends have moved. Without an answer nothing is
/// noted.
pub(crate) fn note_joined(
    site: &mut SiteControl,
    address: &ServiceAddressArgs,
) -> Result<(), SiteError> {
    let client = address.connect().ok();
    let work = client.and_then(|mut client| ServiceWork::query_nodes(&mut client).ok());
    let Some(work) = work else {
        return Ok(());
    };
    report_moved_ends(&work, site, address);
    site.note_joined(&|name| work.worker(name))
}

impl SiteReport {
    /// Writes the report as text.
    pub(crate) fn write_table(&self, out: &mut impl Write, now: &jiff::Zoned) -> io::Result<()> {
        let site = &self.site;
        let waited = match self.mean_wait_s {
            Some(mean) => format!("; started after {} on average", format::format_span(mean)),
            None => String::new(),
        };
        let waited = match self.ended_early {
            0 => waited,
            early => format!("{waited}; {early} ended early by the engine"),
        };
        let waited = match self.speed_mflops {
            None => waited,
            Some(speed) => format!("{waited}; {:.2} GFLOPS a core", speed as f64 / 1000.0),
        };
        let counts = PilotCounts {
            pending: site.pending,
            running: site.running,
            ending: site.ending,
        };
        writeln!(
            out,
            "site {}: {} wanted, {}{waited}",
            site.name, site.target, counts
        )?;
        if let Some(keep) = &self.keep {
            let at = format::format_short_time(&keep.at, now);
            let until = keep.paused_until.as_ref();
            let until = until.map(|until| format::format_short_time(until, now));
            let pause =
                until.map_or_else(String::new, |until| format!("; no pilots until {until}"));
            writeln!(out, "keep {at}: {}{pause}", keep.text)?;
        }
        let live: Vec<&PilotView> = (self.pilots.iter())
            .filter(|pilot| pilot.state != PilotPhase::Over)
            .collect();
        if !live.is_empty() {
            write_list(out, &PilotView::columns(&site.name, now), live)?;
        }
        for line in &self.log {
            writeln!(
                out,
                "{}  {}",
                format::format_short_time(&line.at, now),
                line.text
            )?;
        }
        Ok(())
    }
}
