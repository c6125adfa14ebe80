//! `tollgate usage`: sums by user, account and day.

use std::io;

use clap::ValueEnum;
use std::io::Write;
use tollgate_client::records::{UsageEntry, UsageReport};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::table::{Column, write_list};
use crate::output::{csv_rows, format};

/// The options of `tollgate usage`.
#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Keys of the sums, with commas
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [UsageKey::User, UsageKey::Account])]
    by: Vec<UsageKey>,
    #[command(flatten)]
    days: DayArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The days that records are asked for.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DayArgs {
    /// First day, in UTC, as in 2026-12-01
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    since: Option<String>,
    /// Last day, in UTC
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    until: Option<String>,
}

/// A key of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UsageKey {
    /// A row for each user
    User,
    /// A row for each account
    Account,
    /// A row for each day
    Day,
}

impl DayArgs {
    /// Returns the part of a query that names the days.
    pub(crate) fn query(&self) -> String {
        let day = |key: &str, day: &Option<String>| {
            let day = day.as_ref().map(|day| format!("&{key}={day}"));
            day.unwrap_or_default()
        };
        day("since", &self.since) + &day("until", &self.until)
    }
}

fn parse_day(word: &str) -> Result<String, String> {
    let day: Result<jiff::civil::Date, _> = word.parse();
    match day {
        Ok(day) if day.to_string() == word => Ok(word.to_owned()),
        Ok(_) | Err(_) => Err(format!("expected a day as in 2026-12-01, got `{word}`")),
    }
}

impl UsageKey {
    fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Account => "account",
            Self::Day => "day",
        }
    }
}

/// `tollgate usage`.
pub(crate) fn run(args: &UsageArgs) -> Result<(), CliFailure> {
    let by: Vec<&str> = args.by.iter().map(|key| key.key()).collect();
    let path = format!("/v1/usage?by={}{}", by.join(","), args.days.query());
    let report: UsageReport = args.address.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &report)?,
        OutputFormat::Csv => csv_rows::write(&mut out, &report.usage)?,
        OutputFormat::Table => render(&mut out, &args.by, &report.usage)?,
    }
    Ok(())
}

fn render(out: &mut impl Write, by: &[UsageKey], usage: &[UsageEntry]) -> io::Result<()> {
    let keys = by.iter().map(|key| match key {
        UsageKey::User => Column::optional("login", |entry: &UsageEntry| entry.login.clone()),
        UsageKey::Account => {
            Column::optional("account", |entry: &UsageEntry| entry.account.clone())
        }
        UsageKey::Day => Column::optional("day", |entry: &UsageEntry| entry.day.clone()),
    });
    let hours = |hours: f64| format!("{hours:.2}");
    let sums = [
        Column::new("jobs", |entry: &UsageEntry| entry.job_count.to_string()),
        Column::new("core hours", |entry: &UsageEntry| hours(entry.cpu_hours)),
        Column::new("used hours", |entry: &UsageEntry| {
            hours(entry.cpu_used_hours)
        }),
        Column::new("wait hours", |entry: &UsageEntry| hours(entry.wait_hours)),
        Column::new("kept", |entry: &UsageEntry| entry.kept.to_string()),
        Column::new("broken", |entry: &UsageEntry| entry.broken.to_string()),
        Column::new("void", |entry: &UsageEntry| entry.void.to_string()),
        Column::new("not promised", |entry: &UsageEntry| {
            entry.unpromised.to_string()
        }),
        Column::new("in time", |entry: &UsageEntry| {
            entry.unpromised_in_time.to_string()
        }),
        Column::new("charges", |entry: &UsageEntry| {
            format!("{:.2}", entry.charges)
        }),
    ];
    let columns: Vec<Column<'_, UsageEntry>> = keys.chain(sums).collect();
    write_list(out, &columns, usage)
}
