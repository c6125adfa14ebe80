//! `tollgate explain site NAME`: why pilots are submitted at a site, or are not.

use std::io::{self, Write};

use jiff::Zoned;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{AcquisitionPolicy, SiteSupply};
use tollgate_sites::{
    PilotWork, SiteControl, SiteSettings, SitesFile, decide, describe_changes, state_dir,
};

use super::opened;
use super::service_work::{MisfitJob, ServiceWork};
use super::status::SiteReport;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::pluralise;

/// The number of lines of the log.
const LOG_LINES: usize = 5;
/// The maximum number of jobs that are named because no pilot can hold them.
const MAX_MISFITS: usize = 5;

/// Why pilots are submitted at a site, or are not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SiteExplanation {
    /// Number of pilots that `tollgate site keep` would submit now.
    submit: u32,
    /// Number of pilots that it would cancel.
    cancel: usize,
    /// Why.
    reason: String,
    /// Maximum number of pilots that wait or run.
    at_most: u32,
    /// Maximum number of pilots that wait; none if there is no maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_at_most: Option<u32>,
    /// Time in which a pilot can run tasks.
    usable_s: f64,
    /// Time within which a pilot that is submitted now starts with a probability of .8; none if nothing is known of its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_wait_s: Option<f64>,
    /// Number of waits of jobs of all users from which a forest states the waits of pilots; none if the last jobs or the pilots
    /// of the site do.
    #[serde(skip_serializing_if = "Option::is_none")]
    forest_waits: Option<u64>,
    /// Whether the waits are those of jobs of all users; else of the pilots of the site.
    sees_all_jobs: bool,
    /// Time from the start of a pilot until the service has it.
    joining_s: f64,
    /// Shapes in which the site takes pilots.
    shapes: Vec<ShapeView>,
    /// How often the engine ended pilots before their time.
    preemptions: PreemptionView,
    /// Choice among several shapes, and its reason; none without new pilots.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<String>,
    /// Number of idle pilots that would be asked to leave.
    release: usize,
    /// Jobs that wait and that no pilot of this site can hold, the first ones.
    too_large: Vec<MisfitJob>,
    /// The site.
    report: SiteReport,
}

/// A shape in which a site takes pilots.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ShapeView {
    /// Shape as the user wrote it.
    shape: String,
    /// Number of cores of a pilot.
    cores: u32,
    /// Longest time of a pilot.
    time_s: f64,
    /// Time within which a pilot that is submitted now starts with a probability of .8; none if nothing is known of its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_wait_s: Option<f64>,
}

/// How often the engine ended pilots before their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
struct PreemptionView {
    /// Number of preemptions, node failures and returns to the queue among the last pilots.
    preemptions: u32,
    /// Hours that these pilots ran.
    pilot_hours: f64,
    /// Number in an hour that the true rate exceeds with a probability of at most one fifth.
    at_most_per_hour: f64,
}

impl ShapeView {
    fn all(settings: &SiteSettings, supply: &SiteSupply) -> Vec<Self> {
        let words = settings.shapes.iter().map(ToString::to_string);
        let words = words.chain(std::iter::repeat_n(String::new(), supply.shapes.len()));
        let views = supply.shapes.iter().zip(words).map(|(kind, shape)| Self {
            shape,
            cores: kind.shape.cores,
            time_s: kind.shape.time.as_secs_f64(),
            expected_wait_s: kind.expected_wait.map(Span::as_secs_f64),
        });
        views.collect()
    }
}

impl PreemptionView {
    fn new(supply: &SiteSupply) -> Self {
        Self {
            preemptions: supply.hazard.preemptions,
            pilot_hours: supply.hazard.exposed.as_secs_f64() / 3600.0,
            at_most_per_hour: supply.hazard.cautious_per_hour(),
        }
    }
}

/// `tollgate explain site NAME`. Asks the engine of this site, and decides as `tollgate site keep` would.
pub(crate) fn explain(
    name: &str,
    address: &ServiceAddressArgs,
    format: OutputFormat,
) -> Result<(), CliFailure> {
    let sites = SitesFile::read(&SitesFile::path()?)?;
    let at = sites.sites.iter().position(|site| site.name == name);
    sites.site(name)?;
    let (state, program) = (state_dir()?, opened::program()?);
    let work = ServiceWork::query(&mut address.connect()?)?;
    let mut opened = Vec::new();
    let mut supplies = Vec::new();
    for (settings, own) in sites.sites.iter().zip(0..) {
        let mut site = SiteControl::open(settings.clone(), &state, &program)?;
        if at == Some(own) {
            site.refresh()?;
        }
        let is_base = site
            .state()
            .keep
            .as_ref()
            .is_some_and(|keep| keep.key == "base");
        let supply = site.supply(&|name| work.worker(name));
        let base = if is_base { settings.pilots } else { 0 };
        supplies.push((settings, SiteSupply { base, ..supply }));
        opened.push(site);
    }
    let demands = decide(AcquisitionPolicy::DEFAULT, &work, &supplies);
    let chosen = opened.iter().zip(&supplies).zip(&demands);
    let chosen = chosen.filter(|((site, _), _)| site.settings().name == name);
    let mut out = io::stdout().lock();
    let now = format::now();
    for ((site, (_, supply)), demand) in chosen {
        let plan = site.follow_plan(demand);
        let instant = Instant::from_micros(now.timestamp().as_microsecond());
        // Where the jobs of others say nothing about such pilots, the waits are those of the site's own.
        let first = supply.shapes.first().map(|kind| kind.shape);
        let outlook = site.state().valid_outlook(instant);
        let outlook =
            outlook.filter(|found| first.is_some_and(|of| found.outlook.of_new(of).is_some()));
        let explanation = SiteExplanation {
            submit: plan.submit,
            cancel: plan.cancel.len(),
            reason: demand.reason.to_string(),
            at_most: supply.at_most,
            queue_at_most: supply.queue_at_most,
            usable_s: supply.usable().as_secs_f64(),
            expected_wait_s: supply.expected_wait().map(Span::as_secs_f64),
            forest_waits: outlook.and_then(|outlook| outlook.outlook.forest()),
            sees_all_jobs: outlook.is_some(),
            joining_s: supply.joining.as_secs_f64(),
            shapes: ShapeView::all(site.settings(), supply),
            preemptions: PreemptionView::new(supply),
            choice: demand.choice.as_ref().map(ToString::to_string),
            release: demand.released.len(),
            too_large: work.misfits(supply, MAX_MISFITS),
            report: SiteReport::new(site, instant, LOG_LINES),
        };
        match format {
            OutputFormat::Json => format::write_json(&mut out, &explanation)?,
            OutputFormat::Csv => return Err(CsvUnsupported.into()),
            OutputFormat::Table => explanation.write_table(&mut out, &now)?,
        }
    }
    Ok(())
}

impl SiteExplanation {
    fn write_table(&self, out: &mut impl Write, now: &Zoned) -> io::Result<()> {
        let done = match describe_changes(self.submit as usize, self.cancel) {
            Some(done) => format!("`tollgate site keep` would have {done}"),
            None => "`tollgate site keep` would change nothing".to_owned(),
        };
        writeln!(out, "{done}: {}", self.reason)?;
        if let Some(choice) = &self.choice {
            writeln!(out, "  chosen    {choice}")?;
        }
        if self.release > 0 {
            let idle = pluralise(self.release, "idle pilot");
            writeln!(
                out,
                "  leaving   {idle}: no task that is known can run there"
            )?;
        }
        let queue = match self.queue_at_most {
            Some(most) => format!("at most {most} of them waiting"),
            None => "any number of them waiting".to_owned(),
        };
        let pilots = pluralise(self.at_most as usize, "pilot");
        writeln!(out, "  limits    {pilots}, {queue}")?;
        let usable = format::format_span(self.usable_s);
        writeln!(out, "  a pilot   has {usable} for tasks")?;
        if let Some(wait) = self.expected_wait_s {
            let wait = format::format_span(wait);
            let joining = format::format_span(self.joining_s);
            writeln!(
                out,
                "  a new one starts within {wait} four times in five, and joins {joining} later"
            )?;
        }
        let basis = match (self.forest_waits, self.sees_all_jobs) {
            (Some(waits), _) => format!("a forest of {waits} waits of all users' jobs"),
            (None, true) => "the last jobs of all users that are like a pilot".to_owned(),
            (None, false) => "the pilots of this site alone".to_owned(),
        };
        writeln!(out, "  waits     known from {basis}")?;
        for shape in self.shapes.iter().filter(|_| self.shapes.len() > 1) {
            let time = format::format_span(shape.time_s);
            let cores = pluralise(shape.cores as usize, "core");
            let wait = match shape.expected_wait_s.map(format::format_span) {
                Some(wait) => format!("starts within {wait} four times in five"),
                None => "nothing is known of its wait".to_owned(),
            };
            writeln!(
                out,
                "  {:<9} {cores} for at most {time}: {wait}",
                shape.shape
            )?;
        }
        let early = self.preemptions;
        if early.preemptions > 0 {
            writeln!(
                out,
                "  ended early {} in {:.1} pilot hours: at most {:.2} an hour, four times in five",
                early.preemptions, early.pilot_hours, early.at_most_per_hour
            )?;
        }
        for job in &self.too_large {
            writeln!(out, "  job {}: {}", job.id, job.why)?;
        }
        self.report.write_table(out, now)
    }
}
