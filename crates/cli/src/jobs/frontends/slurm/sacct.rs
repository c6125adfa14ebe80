//! `sacct`.

use std::io::{self, Write};

use jiff::{SignedDuration, Timestamp, Zoned};
use tollgate_client::ApiClient;
use tollgate_frontends::slurm::getopt::{OptionRule, OptionValue, TypedOption, rule};
use tollgate_frontends::slurm::sacct_format::{
    BRIEF_FIELDS, DEFAULT_FIELDS, has_batch_step, help_format,
};
use tollgate_frontends::slurm::time::parse_query_instant;
use tollgate_frontends::slurm::{
    MemoryUnit, SacctFormat, SacctLayout, SacctRowKind, SlurmError, SlurmJobName, SlurmRow,
    SlurmState, check_clusters, mark_arrays,
};

use super::failure::SlurmFailure;
use super::fetch::{self, RowFilter, RowSelection};
use super::steps::JobSteps;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::output::format;
use OptionValue::{Bare, Required};

/// The name of the command in its messages.
const TOOL: &str = "sacct";

const RULES: &[OptionRule] = &[
    rule("account", None, Required),
    rule("accounts", Some('A'), Required),
    rule("allclusters", Some('L'), Bare),
    rule("allocations", Some('X'), Bare),
    rule("allusers", Some('a'), Bare),
    rule("array", None, Bare),
    rule("brief", Some('b'), Bare),
    rule("clusters", Some('M'), Required),
    rule("completion", Some('c'), Bare),
    rule("constraints", Some('C'), Required),
    rule("delimiter", None, Required),
    rule("duplicates", Some('D'), Bare),
    rule("endtime", Some('E'), Required),
    rule("federation", None, Bare),
    rule("format", Some('o'), Required),
    rule("gid", Some('g'), Required),
    rule("group", None, Required),
    rule("help", Some('h'), Bare),
    rule("helpformat", Some('e'), Bare),
    rule("job", None, Required),
    rule("jobs", Some('j'), Required),
    rule("json", None, Bare),
    rule("local", None, Bare),
    rule("long", Some('l'), Bare),
    rule("name", None, Required),
    rule("ncpus", Some('I'), Required),
    rule("nnodes", Some('i'), Required),
    rule("noconvert", None, Bare),
    rule("nodelist", Some('N'), Required),
    rule("noheader", Some('n'), Bare),
    rule("parsable", Some('p'), Bare),
    rule("parsable2", Some('P'), Bare),
    rule("partition", Some('r'), Required),
    rule("qos", Some('q'), Required),
    rule("starttime", Some('S'), Required),
    rule("state", Some('s'), Required),
    rule("timelimit-max", Some('K'), Required),
    rule("timelimit-min", Some('k'), Required),
    rule("truncate", Some('T'), Bare),
    rule("uid", None, Required),
    rule("units", None, Required),
    rule("usage", Some('U'), Bare),
    rule("user", Some('u'), Required),
    rule("verbose", Some('v'), Bare),
    rule("version", Some('V'), Bare),
    rule("wckeys", Some('W'), Required),
    rule("whole-hetjob", None, OptionValue::Optional),
    rule("yaml", None, Bare),
];

/// The records to print.
#[derive(Debug, Default)]
struct SacctCall {
    filter: RowFilter,
    jobs: Vec<SlurmJobName>,
    has_jobs: bool,
    all_users: bool,
    without_steps: bool,
    headless: bool,
    parsable: Option<bool>,
    delimiter: Option<String>,
    fields: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    units: MemoryUnit,
    version: bool,
    help: bool,
    help_format: bool,
}

/// Lists the records of jobs.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let parsed = super::parse(TOOL, RULES, words)?;
    // Callers without a shell pass on what was for one, and expect a failure.
    if !parsed.operands.is_empty() {
        let lines = parsed.operands.iter().map(|word| format!("\n {word}"));
        let text = format!("Unknown arguments:{}", lines.collect::<String>());
        return Err(SlurmError::new(text, 1).into());
    }
    let now = format::now();
    let mut call = SacctCall::default();
    for typed in &parsed.options {
        call.add(typed, &now)?;
    }
    let mut out = io::stdout().lock();
    if call.version {
        return super::print_version();
    }
    if call.help_format {
        return Ok(write!(out, "{}", help_format())?);
    }
    if call.help {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Sacct);
        return Ok(writeln!(out, "Usage: sacct [OPTIONS]\n\n{help}")?);
    }
    let layout = match call.parsable {
        None => SacctLayout::Columns,
        Some(ends_lines) => SacctLayout::Delimited {
            delimiter: call.delimiter.clone().unwrap_or_else(|| "|".to_owned()),
            ends_lines,
        },
    };
    let format = SacctFormat::parse(call.fields.as_deref().unwrap_or(DEFAULT_FIELDS), layout)?;
    let rows = call.rows(address, &now)?;
    if !call.headless {
        writeln!(out, "{}", format.header())?;
    }
    let context = super::context(call.units);
    for (row, kind) in rows {
        writeln!(out, "{}", format.row(&row, kind, &context))?;
    }
    Ok(())
}

impl SacctCall {
    fn add(&mut self, typed: &TypedOption, now: &Zoned) -> Result<(), SlurmError> {
        let text = typed.text();
        let list = || fetch::words(text);
        let instant = || {
            let wrong = || SlurmError::of(TOOL, format!("Invalid time specification: {text}"));
            parse_query_instant(text, now).ok_or_else(wrong)
        };
        match typed.name {
            "account" | "accounts" => self.filter.accounts = list(),
            "name" => self.filter.names = list(),
            "partition" => self.filter.partitions = list(),
            "nodelist" => self.filter.hosts = list(),
            "user" | "uid" => self.filter.users = list(),
            "allusers" => self.all_users = true,
            "state" => {
                let states = SlurmState::parse_list(text)
                    .map_err(|word| SlurmError::of(TOOL, format!("Invalid state: {word}")))?;
                self.filter.states = Some(states);
            }
            "job" | "jobs" => {
                let jobs = SlurmJobName::parse_list(text).map_err(|word| {
                    SlurmError::of(TOOL, format!("Bad job/step specified: {word}"))
                })?;
                self.jobs.extend(jobs);
                self.has_jobs = true;
            }
            "allocations" => self.without_steps = true,
            "brief" => self.fields = Some(BRIEF_FIELDS.to_owned()),
            "format" => match &mut self.fields {
                Some(fields) => *fields = format!("{fields},{text}"),
                None => self.fields = typed.value.clone(),
            },
            "long" => {
                let long = "jobid,jobidraw,jobname,partition,maxrss,ntasks,alloccpus,elapsed,state,exitcode,reqmem";
                self.fields = Some(long.to_owned());
            }
            "noheader" => self.headless = true,
            "parsable" => self.parsable = Some(true),
            "parsable2" => self.parsable = Some(false),
            "delimiter" => self.delimiter = typed.value.clone(),
            "starttime" => self.since = Some(instant()?),
            "endtime" => self.until = Some(instant()?),
            "units" => {
                let wrong = || SlurmError::of(TOOL, format!("Invalid units: {text}"));
                self.units = MemoryUnit::parse(text).ok_or_else(wrong)?;
            }
            "clusters" => check_clusters(TOOL, text)?,
            "version" => self.version = true,
            "helpformat" => self.help_format = true,
            "help" | "usage" => self.help = true,
            "json" | "yaml" => {
                let message = format!(
                    "--{}: not supported; use --parsable2, or tollgate jobs --format json",
                    typed.name
                );
                return Err(SlurmError::of(TOOL, message));
            }
            // These choose among what exists once here.
            _ => {}
        }
        Ok(())
    }

    /// Returns the rows: each job, behind it the step of its script, and then those of `srun`.
    fn rows(
        &self,
        address: &ServiceAddressArgs,
        now: &Zoned,
    ) -> Result<Vec<(SlurmRow, SacctRowKind)>, SlurmFailure> {
        let mut client = address.connect()?;
        // Each row with the step that is named, if only that is.
        let mut jobs: Vec<(SlurmRow, Option<&str>)> = Vec::new();
        match self.has_jobs {
            true => {
                for name in &self.jobs {
                    let mut found = fetch::named(&mut client, name, true)?.unwrap_or_default();
                    if name.tasks.is_none() {
                        mark_arrays(&mut found);
                    }
                    let found = found.into_iter().filter(|row| self.filter.accepts(row));
                    jobs.extend(found.map(|row| (row, name.step.as_deref())));
                }
            }
            false => {
                let found = self.of_period(&mut client, now)?;
                jobs.extend(found.into_iter().map(|row| (row, None)));
            }
        }
        let names_steps = self.jobs.iter().any(|name| name.step.is_some());
        let steps = match self.without_steps && !names_steps {
            true => JobSteps::default(),
            false => {
                let rows: Vec<SlurmRow> = jobs.iter().map(|(row, _)| row.clone()).collect();
                JobSteps::of(&mut client, &rows)?
            }
        };
        let rows = jobs.into_iter();
        Ok(rows
            .flat_map(|(row, step)| self.steps_of(row, step, &steps))
            .collect())
    }

    /// Returns the rows of the jobs of the period, since midnight if none is given.
    fn of_period(
        &self,
        client: &mut ApiClient,
        now: &Zoned,
    ) -> Result<Vec<SlurmRow>, SlurmFailure> {
        let midnight = now
            .start_of_day()
            .map_or_else(|_| now.timestamp(), |day| day.timestamp());
        let selection = RowSelection {
            joins_waiting: true,
            over_since: Some(self.since.unwrap_or(midnight)),
        };
        let mut filter = self.filter.clone();
        if filter.users.is_empty() && !self.all_users && !rustix::process::geteuid().is_root() {
            filter.users = vec![fetch::own_user()];
        }
        let mut found = fetch::all(client, selection, &filter)?;
        mark_arrays(&mut found);
        found.retain(|row| filter.accepts(row) && self.is_before_end(row));
        Ok(found)
    }

    /// Returns whether a job was submitted before the end of the period.
    fn is_before_end(&self, row: &SlurmRow) -> bool {
        let submitted = row.job.submitted_at.parse::<Timestamp>().ok();
        // Clocks differ by less than this in a call with `now`.
        let slack = SignedDuration::from_secs(1);
        self.until
            .is_none_or(|until| submitted.is_none_or(|at| at <= until + slack))
    }

    /// Returns the row of a job and those of its steps; of a named step only that.
    fn steps_of(
        &self,
        row: SlurmRow,
        named: Option<&str>,
        steps: &JobSteps,
    ) -> Vec<(SlurmRow, SacctRowKind)> {
        if self.without_steps && named.is_none() {
            return vec![(row, SacctRowKind::Job)];
        }
        let mut rows = Vec::new();
        if named.is_none() {
            rows.push((row.clone(), SacctRowKind::Job));
        }
        if has_batch_step(&row) && named.is_none_or(|step| step == "batch") {
            rows.push((row.clone(), SacctRowKind::Batch));
        }
        let number = named.map(|step| step.parse::<u32>().ok());
        let chosen = steps.of_row(&row);
        let chosen = chosen.filter(|step| number.is_none_or(|number| number == Some(step.step)));
        for step in chosen {
            let kind = SacctRowKind::Step {
                step: step.step,
                n_tasks: step.tasks,
            };
            rows.push((row.of_step(step), kind));
        }
        rows
    }
}
