//! `tollgate nodes` and `calibration`, and the objectives in `tollgate status`, also of a shadow
//! policy.

use std::io::{self, Write};

use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::records::EvictionReport;
use tollgate_client::types::{
    CalibrationFigures, CalibrationReport, NodeList, NodeStatus, ResourceStatus, ServiceObjectives,
    ServiceStatus, ShadowStatus, SlowedHost, WorkerStatus,
};

use super::{expected_hosts, placements};
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{Column, write_list};
use crate::parse::past_instant::parse_past;

/// The service to ask, and the format of its answer.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceQueryArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The options of `tollgate nodes`.
#[derive(Debug, clap::Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    query: ServiceQueryArgs,
    /// List the jobs that take nodes, with the nodes of each
    ///
    /// Jobs of others are anonymous, unless you may see all jobs.
    #[arg(long)]
    jobs: bool,
    /// With --jobs: also jobs that left their nodes since this time
    ///
    /// As in 2026-12-01, `2026-12-01 09:00`, 09:00, or 2h for two hours ago.
    #[arg(long, value_name = "TIME", value_parser = parse_past, requires = "jobs")]
    since: Option<Timestamp>,
}

/// How the service stands, with how well it has done so far.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusView {
    #[serde(flatten)]
    pub(crate) status: ServiceStatus,
    pub(crate) objectives: ServiceObjectives,
}

/// `tollgate nodes`.
pub(crate) fn nodes(args: &NodesArgs) -> Result<(), CliFailure> {
    let args = match args.jobs {
        true => return placements::print(&args.query.address, args.since, args.query.format),
        false => &args.query,
    };
    let mut client = args.address.connect()?;
    let nodes: NodeList = client.get("/v1/nodes")?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &nodes)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            render_nodes(&mut out, &nodes)?;
            // A service of an earlier version has no such path, and no evictions.
            let evictions: EvictionReport = client.get("/v1/evictions").unwrap_or_default();
            if evictions.evictions() > 0 {
                writeln!(out, "{}", evictions_sentence(&evictions))?;
            }
        }
    }
    Ok(())
}

/// Returns the number of evictions by cause, with the time that they cost, and that of abandoned tasks.
fn evictions_sentence(report: &EvictionReport) -> String {
    let causes = report.by_cause.iter().filter(|one| one.evictions > 0);
    let causes: Vec<String> = causes
        .map(|one| format!("{} {}", one.cause.key(), one.evictions))
        .collect();
    format!(
        "desktops: evictions {} ({}), with {} of computers in vain; abandoned tasks {}",
        report.evictions(),
        causes.join(", "),
        format::format_span(report.held_s()),
        report.abandoned
    )
}

/// Writes the nodes and the limits enforced on them. The table of workers appears only if there are
/// workers.
fn render_nodes(out: &mut impl Write, nodes: &NodeList) -> io::Result<()> {
    let has_workers = !nodes.workers.is_empty();
    let mut columns = vec![
        Column::new("node", |node: &NodeStatus| node.id.to_string()),
        Column::new("state", |node: &NodeStatus| node.state.to_string()),
        Column::new("tasks", |node: &NodeStatus| node.tasks.to_string()),
    ];
    if has_workers {
        columns.push(Column::optional("worker", |node: &NodeStatus| {
            node.worker.clone()
        }));
    }
    write_list(out, &columns, &nodes.nodes)?;
    if has_workers {
        writeln!(out)?;
        write_workers(out, &nodes.workers)?;
    }
    if !nodes.resources.is_empty() {
        writeln!(out)?;
        let columns = [
            Column::new("resource", |resource: &ResourceStatus| {
                resource.name.clone()
            }),
            Column::new("host", |resource: &ResourceStatus| match &resource.host {
                Some(host) => host.clone(),
                None => "all".to_owned(),
            }),
            Column::new("units", |resource: &ResourceStatus| {
                resource.total.to_string()
            }),
            Column::new("taken", |resource: &ResourceStatus| {
                resource.taken.to_string()
            }),
        ];
        write_list(out, &columns, &nodes.resources)?;
    }
    writeln!(out)?;
    for slowed in &nodes.slowed_hosts {
        let SlowedHost {
            host,
            slowdown,
            since,
        } = slowed;
        let since = format::format_local_time(since, &format::now());
        writeln!(
            out,
            "{host}: other load makes jobs {slowdown:.1} times slower since {since}"
        )?;
    }
    expected_hosts::write(out, &nodes.expected_hosts)?;
    for words in &nodes.enforced {
        writeln!(out, "{words}")?;
    }
    for worker in &nodes.workers {
        if let Some(reason) = &worker.retired {
            writeln!(out, "{}: drained: {reason}", worker.name)?;
        }
        let other = worker
            .enforced
            .iter()
            .filter(|words| !nodes.enforced.contains(words));
        for words in other {
            writeln!(out, "{}: {words}", worker.name)?;
        }
    }
    Ok(())
}

/// Writes the workers. Sites and ends have columns if a worker has them.
fn write_workers(out: &mut impl Write, workers: &[WorkerStatus]) -> io::Result<()> {
    let now = format::now();
    let mut columns = vec![Column::new("worker", |worker: &WorkerStatus| {
        worker.name.clone()
    })];
    if workers.iter().any(|worker| worker.site.is_some()) {
        columns.push(Column::optional("site", |worker: &WorkerStatus| {
            worker.site.clone()
        }));
    }
    columns.extend([
        Column::new("state", |worker: &WorkerStatus| worker.state.to_string()),
        Column::new("incarnation", |worker: &WorkerStatus| {
            worker.incarnation.to_string()
        }),
        Column::new("nodes", |worker: &WorkerStatus| worker.nodes.to_string()),
    ]);
    if workers.iter().any(|worker| worker.until.is_some()) {
        let now = &now;
        columns.push(Column::optional("until", move |worker: &WorkerStatus| {
            Some(format::format_local_time(worker.until.as_ref()?, now))
        }));
    }
    write_list(out, &columns, workers)
}

/// `tollgate calibration`.
pub(crate) fn calibration(args: &ServiceQueryArgs) -> Result<(), CliFailure> {
    let calibration: CalibrationReport = args.address.connect()?.get("/v1/calibration")?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &calibration)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table if calibration.bins.is_empty() => {
            writeln!(out, "no promise of a deadline has ended yet")?;
        }
        OutputFormat::Table => {
            let bins = calibration.bins.iter();
            let rows = bins.map(|bin| (format!("{:.1} - {:.1}", bin.from, bin.to), &bin.figures));
            write_calibration(&mut out, "probability", rows)?;
            let known = calibration.by_batches.iter();
            let rows = known.map(|known| {
                let batches = match known.batches {
                    3.. => "3 or more".to_owned(),
                    batches => batches.to_string(),
                };
                (batches, &known.figures)
            });
            writeln!(out)?;
            write_calibration(&mut out, "batches known", rows)?;
            let on_expected = calibration.on_expected_hosts.iter();
            if on_expected.len() > 0 {
                let rows = on_expected
                    .map(|bin| (format!("{:.1} - {:.1}", bin.from, bin.to), &bin.figures));
                writeln!(out)?;
                write_calibration(&mut out, "on expected pilots", rows)?;
            }
        }
    }
    Ok(())
}

/// Writes the promises in groups with these names.
fn write_calibration<'a>(
    out: &mut impl Write,
    group: &str,
    rows: impl Iterator<Item = (String, &'a CalibrationFigures)>,
) -> io::Result<()> {
    type Row<'a> = (String, &'a CalibrationFigures);
    let pct = |part: f64| format!("{:.1}", 100.0 * part);
    let columns = [
        Column::new(group, |(name, _): &Row<'a>| name.clone()),
        Column::new("promises", |(_, figures): &Row<'a>| {
            figures.promises.to_string()
        }),
        Column::optional("promised %", |(_, figures): &Row<'a>| {
            figures.promised.map(pct)
        }),
        Column::optional("kept %", |(_, figures): &Row<'a>| {
            figures.kept_part.map(pct)
        }),
        Column::optional("95 % interval", |(_, figures): &Row<'a>| {
            let (low, high) = (figures.kept_part_low?, figures.kept_part_high?);
            Some([low, high].map(pct).join(" - "))
        }),
        Column::new("void", |(_, figures): &Row<'a>| figures.void.to_string()),
    ];
    write_list(out, &columns, &rows.collect::<Vec<_>>())
}

/// Writes the books. Writes nothing while nothing is open and no job is in the books.
pub(crate) fn render_books(
    out: &mut impl Write,
    status: &ServiceStatus,
    books: &ServiceObjectives,
) -> io::Result<()> {
    let some = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let broken = [
        some(books.broken_by_own_run, "ran longer than planned"),
        some(books.broken_by_others, "after others that did"),
        some(books.broken_by_site, "by the site"),
        some(books.broken_by_eviction, "by evictions"),
    ];
    let broken = broken.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let broken = match books.broken {
        0 => "0 broken".to_owned(),
        n => format!("{n} broken ({broken})"),
    };
    let mut lines = Vec::new();
    if books.kept + books.broken + books.void + u64::from(status.open_promises) > 0 {
        lines.push(format!(
            "{} kept, {broken}, {} void, {} open",
            books.kept, books.void, status.open_promises
        ));
    }
    if books.unpromised + u64::from(status.open_unpromised) > 0 {
        let parts = [
            Some(format!("{} in time", books.unpromised_in_time)),
            Some(format!("{} late", books.unpromised_late)),
            some(books.unpromised_dropped, "dropped as late"),
            some(books.unpromised_void, "failed or cancelled before"),
            Some(format!("{} open", status.open_unpromised)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        lines.push(format!("without one: {}", parts.join(", ")));
    }
    let others = [
        some(books.no_deadline, "without a deadline"),
        some(books.submitted - books.accepted, "rejected"),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if !others.is_empty() {
        lines.push(others.join(", "));
    }
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { "promise" } else { "" };
        writeln!(out, "  {label:7} {line}")?;
    }
    let pct = |name: &str, value: Option<f64>| value.map(|pct| format!("{name} {pct:.1} %"));
    let wait = books
        .wait_s
        .map(|secs| format!("wait {}", format::format_span(secs)));
    let parts = [
        pct("SLA", books.sla_pct),
        pct("in time", books.in_time_pct),
        pct("reliability", books.reliability_pct),
        wait,
        pct("profitability", books.profitability_pct),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => Ok(()),
        false => writeln!(out, "  so far  {}", parts.join(", ")),
    }
}

/// Writes two policies side by side.
pub(crate) fn render_shadow(
    out: &mut impl Write,
    policy: &str,
    shadow: &ShadowStatus,
    now: &Zoned,
) -> io::Result<()> {
    let ShadowStatus {
        running, queued, ..
    } = shadow;
    let since = format::format_local_time(&shadow.since_at, now);
    writeln!(out)?;
    writeln!(
        out,
        "on paper since {since}: {}, where {running} jobs run and {queued} wait",
        shadow.policy
    )?;
    let (real, paper) = (&shadow.real_objectives, &shadow.paper_objectives);
    if real.submitted > 0 {
        let count = |value: u64| value.to_string();
        let pct = |value: Option<f64>| value.map_or_else(String::new, |pct| format!("{pct:.1} %"));
        let wait = |value: Option<f64>| value.map_or_else(String::new, format::format_span);
        type Row = (&'static str, [String; 2]);
        let mut rows: Vec<Row> = [
            (
                "jobs over under both",
                [real, paper].map(|of| count(of.submitted)),
            ),
            ("admitted", [real, paper].map(|of| count(of.accepted))),
            ("kept", [real, paper].map(|of| count(of.kept))),
            ("broken", [real, paper].map(|of| count(of.broken))),
            ("void", [real, paper].map(|of| count(of.void))),
            (
                "unpromised, in time",
                [real, paper].map(|of| count(of.unpromised_in_time)),
            ),
            ("wait", [real, paper].map(|of| wait(of.wait_s))),
            ("SLA", [real, paper].map(|of| pct(of.sla_pct))),
            ("in time", [real, paper].map(|of| pct(of.in_time_pct))),
            (
                "reliability",
                [real, paper].map(|of| pct(of.reliability_pct)),
            ),
            (
                "profitability",
                [real, paper].map(|of| pct(of.profitability_pct)),
            ),
        ]
        .into();
        rows.retain(|(_, figures)| figures.iter().any(|figure| !figure.is_empty()));
        let columns = [
            Column::new("", |(name, _): &Row| (*name).to_owned()),
            Column::new(policy, |(_, [real, _]): &Row| real.clone()),
            Column::new(
                format!("{} on paper", shadow.policy),
                |(_, [_, paper]): &Row| paper.clone(),
            ),
        ];
        write_list(out, &columns, &rows)?;
    }
    writeln!(
        out,
        "{} jobs ended on paper by forecast alone; {} are not over under both",
        shadow.by_forecast, shadow.undecided
    )
}
