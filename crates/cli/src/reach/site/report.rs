//! `tollgate site report`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_model::Instant;
use tollgate_sites::{SiteJournal, SiteSettings, SiteState, SitesFile, state_dir};

use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;

/// The seconds of an hour.
const HOUR_S: f64 = 3600.0;

/// Show the core hours of pilots, and their use.
///
/// Asks no engine. What pilots did is known for as long as `site keep` or a session looked at them.
#[derive(Debug, clap::Args)]
pub(super) struct SiteReportArgs {
    /// Name of the site [default: all]
    name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The core hours of sites.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SiteUsageReport {
    /// The sites, in the order of the file.
    sites: Vec<SiteCoreHours>,
}

/// The core hours of a site.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct SiteCoreHours {
    /// Name of the site.
    site: String,
    /// Number of pilots that ran and ended.
    pilots: u64,
    /// Core hours of all pilots, also of those that run.
    core_hours: f64,
    /// Maximum of core hours; none if there is no maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_core_hours: Option<u64>,
    /// Core hours with a task.
    tasks_core_hours: f64,
    /// Core hours without a task.
    idle_core_hours: f64,
    /// Parts of these. The latest idle time of a pilot that runs is in none of them.
    idle_parts: IdleCoreHours,
    /// Core hours of pilots that had not joined the service.
    not_joined_core_hours: f64,
    /// Core hours of pilots that were about to leave.
    leaving_core_hours: f64,
    /// Numbers of pilots by how they ended, in the engine's words.
    ends: BTreeMap<String, u64>,
}

/// The core hours without a task, by what the pilot did before and afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
struct IdleCoreHours {
    /// Before the first task of a pilot.
    before_core_hours: f64,
    /// Between two tasks of a pilot.
    between_core_hours: f64,
    /// On other cores, while a pilot ran a task.
    beside_core_hours: f64,
    /// After the last task of a pilot.
    after_core_hours: f64,
    /// Of pilots that never had a task.
    unused_core_hours: f64,
}

/// `tollgate site report`.
pub(super) fn run(args: &SiteReportArgs) -> Result<(), CliFailure> {
    let file = SitesFile::read(&SitesFile::path()?)?;
    let settings: Vec<&SiteSettings> = match &args.name {
        Some(name) => vec![file.site(name)?],
        None => file.sites.iter().collect(),
    };
    let state = state_dir()?;
    let now = Instant::from_micros(format::now().timestamp().as_microsecond());
    let mut sites = Vec::new();
    for site in settings {
        let pilots = SiteJournal::read(&state.join(&site.name))?;
        sites.push(SiteCoreHours::new(site, &pilots, now));
    }
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &SiteUsageReport { sites })?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            for site in &sites {
                site.write(&mut out)?;
            }
        }
    }
    Ok(())
}

impl SiteCoreHours {
    fn new(settings: &SiteSettings, state: &SiteState, now: Instant) -> Self {
        let usage = &state.usage;
        let hours = |core_s: u64| core_s as f64 / HOUR_S;
        let ends = usage.ends.iter().map(|(word, number)| {
            let word = if word.is_empty() { "by itself" } else { word };
            (word.to_owned(), *number)
        });
        Self {
            site: settings.name.clone(),
            pilots: usage.pilots,
            core_hours: hours(usage.core_s_until(now, &state.pilots, settings.cores)),
            budget_core_hours: settings.core_hours,
            tasks_core_hours: hours(usage.busy_core_s),
            idle_core_hours: hours(usage.idle_core_s),
            idle_parts: IdleCoreHours {
                before_core_hours: hours(usage.idle.before_core_s),
                between_core_hours: hours(usage.idle.between_core_s),
                beside_core_hours: hours(usage.idle.beside_core_s),
                after_core_hours: hours(usage.idle.after_core_s),
                unused_core_hours: hours(usage.idle.unused_core_s),
            },
            not_joined_core_hours: hours(usage.unjoined_core_s),
            leaving_core_hours: hours(usage.leaving_core_s),
            ends: ends.collect(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let budget = match self.budget_core_hours {
            Some(most) => format!(" of {most}"),
            None => String::new(),
        };
        writeln!(
            out,
            "site {}: {:.2}{budget} core hours; {} pilots ended",
            self.site, self.core_hours, self.pilots
        )?;
        for (label, hours) in [
            ("tasks", self.tasks_core_hours),
            ("idle", self.idle_core_hours),
            ("  before", self.idle_parts.before_core_hours),
            ("  between", self.idle_parts.between_core_hours),
            ("  beside", self.idle_parts.beside_core_hours),
            ("  after", self.idle_parts.after_core_hours),
            ("  unused", self.idle_parts.unused_core_hours),
            ("not joined", self.not_joined_core_hours),
            ("leaving", self.leaving_core_hours),
        ] {
            writeln!(out, "  {label:<11} {hours:.2}")?;
        }
        for (word, number) in &self.ends {
            writeln!(out, "  ended       {number}: {word}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tollgate_batch::EngineKind;
    use tollgate_sites::{IdleParts, SiteUsage};

    use super::*;

    #[test]
    fn report_divides_the_core_hours_by_use() {
        let mut settings = SiteSettings::new("lab", EngineKind::Slurm, "7f3a", "tollgate");
        settings.core_hours = Some(100);
        let state = SiteState {
            usage: SiteUsage {
                pilots: 3,
                core_s: 9000,
                busy_core_s: 5400,
                idle_core_s: 1800,
                idle: IdleParts {
                    before_core_s: 36,
                    between_core_s: 360,
                    beside_core_s: 720,
                    after_core_s: 540,
                    unused_core_s: 144,
                },
                unjoined_core_s: 900,
                leaving_core_s: 90,
                ends: [(String::new(), 2), ("PREEMPTED".to_owned(), 1)].into(),
                sampled_at: None,
            },
            ..SiteState::default()
        };
        let mut out = Vec::new();
        let report = SiteCoreHours::new(&settings, &state, Instant::ZERO);
        report.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "site lab: 2.50 of 100 core hours; 3 pilots ended\n  \
             tasks       1.50\n  idle        0.50\n    before    0.01\n    between   0.10\n    \
             beside    0.20\n    after     0.15\n    unused    0.04\n  not joined  0.25\n  leaving     0.03\n  \
             ended       1: PREEMPTED\n  ended       2: by itself\n"
        );
    }
}
