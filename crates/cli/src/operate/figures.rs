//! `tollgate nodes` and `calibration`, and the objectives in `tollgate status`, also of a shadow
//! policy.

use std::io::{self, Write};

use jiff::Zoned;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::types::{
    CalibrationFigures, CalibrationReport, NodeList, ServiceObjectives, ServiceStatus,
    ShadowStatus, WorkerStatus,
};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{new_table, write_table};
use comfy_table::Table;

/// The service to ask, and the format of its answer.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceQueryArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// How the service stands, with how well it has done so far.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusView {
    #[serde(flatten)]
    pub(crate) status: ServiceStatus,
    pub(crate) objectives: ServiceObjectives,
}

/// `tollgate nodes`.
pub(crate) fn nodes(args: &ServiceQueryArgs) -> Result<(), CliFailure> {
    let nodes: NodeList = args.address.connect()?.get("/v1/nodes")?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &nodes)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            render_nodes(&mut out, &nodes)?;
        }
    }
    Ok(())
}

/// Writes the nodes and the limits enforced on them. The table of workers appears only if there are
/// workers.
fn render_nodes(out: &mut impl Write, nodes: &NodeList) -> io::Result<()> {
    let has_workers = !nodes.workers.is_empty();
    let header = ["node", "state", "tasks", "worker"];
    let columns = if has_workers { 4 } else { 3 };
    let mut cores = table(&header[..columns]);
    for node in &nodes.nodes {
        let cells = [
            node.id.to_string(),
            node.state.clone(),
            node.tasks.to_string(),
            node.worker.clone().unwrap_or_default(),
        ];
        cores.add_row(cells.into_iter().take(columns));
    }
    write_table(out, &cores)?;
    if has_workers {
        writeln!(out)?;
        write_table(out, &worker_table(&nodes.workers))?;
    }
    if !nodes.resources.is_empty() {
        writeln!(out)?;
        let mut resources = table(&["resource", "host", "units", "taken"]);
        for resource in &nodes.resources {
            resources.add_row([
                resource.name.clone(),
                resource.host.clone().unwrap_or_else(|| "all".to_owned()),
                resource.total.to_string(),
                resource.taken.to_string(),
            ]);
        }
        write_table(out, &resources)?;
    }
    writeln!(out)?;
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

/// Returns the table of workers. Sites and ends have columns if a worker has them.
fn worker_table(workers: &[WorkerStatus]) -> Table {
    let now = format::now();
    let has_sites = workers.iter().any(|worker| worker.site.is_some());
    let has_ends = workers.iter().any(|worker| worker.until.is_some());
    let wanted = [true, has_sites, true, true, true, has_ends];
    let keep = |cells: [String; 6]| cells.into_iter().zip(wanted).filter(|(_, wanted)| *wanted);
    let names = ["worker", "site", "state", "incarnation", "nodes", "until"];
    let header: Vec<&str> = names
        .into_iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted)
        .map(|(name, _)| name)
        .collect();
    let mut rows = table(&header);
    for worker in workers {
        let until = worker.until.as_ref();
        let cells = [
            worker.name.clone(),
            worker.site.clone().unwrap_or_default(),
            worker.state.clone(),
            worker.incarnation.to_string(),
            worker.nodes.to_string(),
            until.map_or_else(String::new, |at| format::format_local_time(at, &now)),
        ];
        rows.add_row(keep(cells).map(|(cell, _)| cell));
    }
    rows
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
            write_table(&mut out, &calibration_table("probability", rows))?;
            let known = calibration.by_batches.iter();
            let rows = known.map(|known| {
                let batches = match known.batches {
                    3.. => "3 or more".to_owned(),
                    batches => batches.to_string(),
                };
                (batches, &known.figures)
            });
            writeln!(out)?;
            write_table(&mut out, &calibration_table("batches known", rows))?;
        }
    }
    Ok(())
}

/// Returns the table of promises in groups with these names.
fn calibration_table<'a>(
    group: &str,
    rows: impl Iterator<Item = (String, &'a CalibrationFigures)>,
) -> Table {
    let mut table = table(&[
        group,
        "promises",
        "promised %",
        "kept %",
        "95 % interval",
        "void",
    ]);
    let pct =
        |part: Option<f64>| part.map_or_else(String::new, |part| format!("{:.1}", 100.0 * part));
    for (name, figures) in rows {
        table.add_row([
            name,
            figures.promises.to_string(),
            pct(figures.promised),
            pct(figures.kept_part),
            match figures.kept_part_low.is_some() {
                true => [figures.kept_part_low, figures.kept_part_high]
                    .map(pct)
                    .join(" - "),
                false => String::new(),
            },
            figures.void.to_string(),
        ]);
    }
    table
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
        let mut table = table(&["", policy, &format!("{} on paper", shadow.policy)]);
        let count = |value: u64| value.to_string();
        let pct = |value: Option<f64>| value.map_or_else(String::new, |pct| format!("{pct:.1} %"));
        let wait = |value: Option<f64>| value.map_or_else(String::new, format::format_span);
        for (name, cell) in [
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
        ] {
            let [real, paper] = cell;
            if !(real.is_empty() && paper.is_empty()) {
                table.add_row([name.to_owned(), real, paper]);
            }
        }
        write_table(out, &table)?;
    }
    writeln!(
        out,
        "{} jobs ended on paper by forecast alone; {} are not over under both",
        shadow.by_forecast, shadow.undecided
    )
}

fn table(header: &[&str]) -> Table {
    let mut table = new_table();
    table.set_header(header.iter().copied());
    table
}
