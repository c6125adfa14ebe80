//! `squeue`.

use std::env;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use jiff::SignedDuration;
use tollgate_frontends::slurm::getopt::{OptionRule, OptionValue, TypedOption, rule};
use tollgate_frontends::slurm::squeue_format::{
    DEFAULT_FORMAT, LONG_FORMAT, PROMISE_COLUMNS, START_FORMAT,
};
use tollgate_frontends::slurm::{
    CLUSTER_NAME, MemoryUnit, SlurmError, SlurmJobName, SlurmRow, SlurmState, SqueueFormat,
    check_clusters,
};
use tollgate_host::UserAccount;

use super::failure::SlurmFailure;
use super::fetch::{self, MIN_JOB_AGE_S, RowFilter, RowSelection};
use crate::connection::endpoint::ServiceAddressArgs;
use OptionValue::{Bare, Optional, Required};

/// The name of the command in its messages.
const TOOL: &str = "squeue";

const RULES: &[OptionRule] = &[
    rule("account", Some('A'), Required),
    rule("all", Some('a'), Bare),
    rule("array", Some('r'), Bare),
    rule("array-unique", None, Bare),
    rule("cluster", None, Required),
    rule("clusters", Some('M'), Required),
    rule("federation", None, Bare),
    rule("format", Some('o'), Required),
    rule("Format", Some('O'), Required),
    rule("help", None, Bare),
    rule("helpFormat", None, Bare),
    rule("hide", None, Bare),
    rule("iterate", Some('i'), Required),
    rule("job", None, Optional),
    rule("jobs", Some('j'), Optional),
    rule("json", None, Optional),
    rule("licenses", Some('L'), Required),
    rule("local", None, Bare),
    rule("long", Some('l'), Bare),
    rule("me", None, Bare),
    rule("name", Some('n'), Required),
    rule("noconvert", None, Bare),
    rule("nodelist", Some('w'), Required),
    rule("nodes", None, Required),
    rule("noheader", Some('h'), Bare),
    rule("only-job-state", None, Bare),
    rule("partition", Some('p'), Required),
    rule("priority", Some('P'), Bare),
    rule("qos", Some('q'), Required),
    rule("reservation", Some('R'), Required),
    rule("sibling", None, Bare),
    rule("sort", Some('S'), Required),
    rule("start", None, Bare),
    rule("state", None, Required),
    rule("states", Some('t'), Required),
    rule("steps", Some('s'), Optional),
    rule("usage", None, Bare),
    rule("user", Some('u'), Required),
    rule("users", None, Required),
    rule("verbose", Some('v'), Bare),
    rule("version", Some('V'), Bare),
    rule("yaml", None, Optional),
];

/// A list to print.
#[derive(Clone, Debug, Default)]
struct SqueueCall {
    filter: RowFilter,
    jobs: Vec<SlurmJobName>,
    each_task: bool,
    headless: bool,
    long: bool,
    start: bool,
    letters: Option<String>,
    names: Option<String>,
    only_state: bool,
    cluster: bool,
    every_s: Option<u64>,
    version: bool,
    help: bool,
}

/// Lists jobs.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let parsed = super::parse(TOOL, RULES, words)?;
    let mut call = SqueueCall::default();
    let mut operands = parsed.operands.iter();
    for typed in &parsed.options {
        call.add(typed)?;
        // The value of these options may stand behind all others.
        if typed.value.is_none()
            && ["job", "jobs"].contains(&typed.name)
            && let Some(list) = operands.next()
        {
            call.add(&TypedOption {
                value: Some(list.clone()),
                ..typed.clone()
            })?;
        }
    }
    if let Some(word) = operands.next() {
        return Err(SlurmError::of(TOOL, format!("Unrecognized option: {word}")).into());
    }
    if call.version {
        return super::print_version();
    }
    if call.help {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Squeue);
        return Ok(writeln!(
            io::stdout().lock(),
            "Usage: squeue [OPTIONS]\n\n{help}"
        )?);
    }
    let format = call.format()?;
    loop {
        call.print(address, &format)?;
        match call.every_s {
            Some(seconds) => thread::sleep(Duration::from_secs(seconds)),
            None => return Ok(()),
        }
    }
}

impl SqueueCall {
    fn add(&mut self, typed: &TypedOption) -> Result<(), SlurmError> {
        let text = typed.text();
        match typed.name {
            "account" => self.filter.accounts = fetch::words(text),
            "name" => self.filter.names = fetch::words(text),
            "partition" => self.filter.partitions = fetch::words(text),
            "user" | "users" => self.filter.users.extend(known_users(text)),
            "me" => self.filter.users.push(fetch::own_user()),
            "nodelist" | "nodes" => {
                let hosts = tollgate_frontends::slurm::hosts::expand(text);
                let wrong = || SlurmError::of(TOOL, format!("Invalid node name {text}"));
                self.filter.hosts = hosts.ok_or_else(wrong)?;
            }
            "state" | "states" => {
                let states = SlurmState::parse_list(text).map_err(|word| {
                    SlurmError::of(TOOL, format!("Invalid job state specified: {word}"))
                })?;
                self.filter.states = Some(states);
            }
            "job" | "jobs" => {
                let jobs = SlurmJobName::parse_list(text)
                    .map_err(|word| SlurmError::of(TOOL, format!("Invalid job id: {word}")))?;
                self.jobs.extend(jobs);
            }
            "array" | "array-unique" => self.each_task = true,
            "noheader" => self.headless = true,
            "long" => self.long = true,
            "start" => self.start = true,
            "format" => (self.letters, self.names) = (typed.value.clone(), None),
            "Format" => (self.names, self.letters) = (typed.value.clone(), None),
            "cluster" | "clusters" => {
                check_clusters(TOOL, text)?;
                self.cluster = true;
            }
            "iterate" => self.every_s = text.parse().ok().filter(|seconds| *seconds > 0),
            "version" => self.version = true,
            "help" | "usage" | "helpFormat" => self.help = true,
            "only-job-state" => self.only_state = true,
            "json" | "yaml" => {
                let message = format!(
                    "--{}: not supported; use --Format, or tollgate jobs --format json",
                    typed.name
                );
                return Err(SlurmError::of(TOOL, message));
            }
            // These choose among what exists once here, or only change the order of equal rows.
            _ => {}
        }
        Ok(())
    }

    fn format(&self) -> Result<SqueueFormat, SlurmError> {
        let of_user = |name| env::var(name).ok().filter(|format| !format.is_empty());
        let plain = !self.start && !self.long;
        match (&self.names, &self.letters) {
            (Some(names), _) => return SqueueFormat::of_names(names),
            (None, Some(letters)) => return SqueueFormat::of_letters(letters),
            (None, None) => {}
        }
        if let Some(names) = of_user("SQUEUE_FORMAT2").filter(|_| plain) {
            return SqueueFormat::of_names(&names);
        }
        if let Some(letters) = of_user("SQUEUE_FORMAT").filter(|_| plain) {
            return SqueueFormat::of_letters(&letters);
        }
        let letters = match (self.start, self.long) {
            (false, _) if self.only_state => "%.18i %.8T",
            (true, _) => START_FORMAT,
            (false, true) => LONG_FORMAT,
            (false, false) => DEFAULT_FORMAT,
        };
        let mut format = SqueueFormat::of_letters(letters)?;
        if self.start && self.long {
            format.add_names(PROMISE_COLUMNS)?;
        }
        Ok(format)
    }

    fn print(
        &self,
        address: &ServiceAddressArgs,
        format: &SqueueFormat,
    ) -> Result<(), SlurmFailure> {
        let mut client = address.connect()?;
        let context = super::context(MemoryUnit::default());
        let lists_finished = self
            .filter
            .states
            .as_ref()
            .is_some_and(|states| states.iter().any(|state| state.is_over()));
        let mut rows = match self.jobs.as_slice() {
            [] => {
                let oldest = SignedDuration::from_secs(MIN_JOB_AGE_S);
                let selection = RowSelection {
                    joins_waiting: !self.each_task,
                    over_since: lists_finished.then(|| context.clock.now - oldest),
                };
                fetch::all(&mut client, selection, &self.filter)?
            }
            jobs => {
                let mut rows = Vec::new();
                let mut is_known = false;
                for name in jobs {
                    let found = fetch::named(&mut client, name, !self.each_task)?;
                    is_known |= found.is_some();
                    rows.extend(found.unwrap_or_default());
                }
                if !is_known {
                    return Err(SlurmError::unknown_job().into());
                }
                rows
            }
        };
        rows.retain(|row| self.shows(row));
        if self.start || format.needs_forecast() {
            fetch::add_forecasts(&mut client, &mut rows)?;
        }
        self.sort(&mut rows);
        let mut out = io::stdout().lock();
        if self.cluster && !self.headless {
            writeln!(out, "CLUSTER: {CLUSTER_NAME}")?;
        }
        if !self.headless {
            if self.long && !self.start && self.letters.is_none() && self.names.is_none() {
                let now = context.clock.now.to_zoned(context.clock.zone.clone());
                writeln!(out, "{}", now.strftime("%a %b %d %H:%M:%S %Y"))?;
            }
            writeln!(out, "{}", format.header())?;
        }
        for row in &rows {
            writeln!(out, "{}", format.row(row, &context))?;
        }
        Ok(())
    }

    fn shows(&self, row: &SlurmRow) -> bool {
        let state = row.status.state;
        let of_state = match (&self.filter.states, self.start) {
            (None, true) => state == SlurmState::Pending,
            (None, false) => !state.is_over(),
            (Some(_), _) => true,
        };
        of_state && self.filter.accepts(row)
    }

    /// Puts what waits first, as Slurm does; `--start` sorts by the start.
    fn sort(&self, rows: &mut [SlurmRow]) {
        match self.start {
            true => rows.sort_by_key(|row| {
                let start = row.expected_start();
                (start.is_none(), start, row.job.id, row.job.task)
            }),
            false => rows.sort_by_key(|row| (row.status.state, row.job.id, row.job.task)),
        }
    }
}

/// Returns the users of a list that exist, and names the others on standard error.
fn known_users(list: &str) -> Vec<String> {
    let words = fetch::words(list).into_iter();
    let mut users = Vec::new();
    for word in words {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        match is_number || UserAccount::by_name(&word).is_ok_and(|found| found.is_some()) {
            true => users.push(word),
            false => {
                // A closed standard error is ignored.
                let _ = writeln!(io::stderr().lock(), "{TOOL}: error: Invalid user: {word}");
                // The name of no user, so that the list is empty.
                users.push(String::from("\0"));
            }
        }
    }
    users
}
