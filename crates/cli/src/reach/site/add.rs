//! `tollgate site add`, `tollgate site list` and `tollgate site remove`.

use std::borrow::Cow;
use std::io::{self, Write};

use tollgate_batch::EngineKind;
use tollgate_sites::{ShapeSetting, SiteJournal, SiteSettings, SitesFile, state_dir};

use super::opened;
use super::status::{SiteEntry, SiteListing};
use crate::args::{OutputFormat, parse_count, parse_integer};
use crate::connection::random_key::random_key;
use crate::exit::{CliError, CliFailure, CsvUnsupported, ExitKind};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, write_list};
use crate::parse;
use crate::reach::cluster;

/// Add a site to ~/.config/tollgate/sites.toml.
///
/// Nothing is submitted yet: `tollgate site check` tries the site, `tollgate site scale` submits pilots.
#[derive(Debug, clap::Args)]
pub(super) struct SiteAddArgs {
    /// Name of the site: small letters, digits and `-`
    name: String,
    /// Batch system: slurm, sge, htcondor, or local for this host
    #[arg(long, value_name = "ENGINE")]
    engine: EngineKind,
    /// Host on which to run the engine's commands, over ssh
    #[arg(long, value_name = "HOST")]
    via: Option<String>,
    /// Number of pilots that `site scale` submits by default
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_integer::<u32>)]
    pilots: u32,
    /// Number of cores of a pilot, or `all` of a node
    ///
    /// `all` asks the engine for the largest node in the queue, and needs its answer now.
    #[arg(long, value_name = "N|all", default_value = "1", value_parser = parse_cores)]
    cores: PilotCores,
    /// Memory of a pilot, as in 4G [default: left to the engine]
    #[arg(long, value_name = "SIZE", value_parser = parse::parse_memory)]
    memory: Option<u64>,
    /// Time limit of a pilot, as in 1h or 30m
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = parse::parse_span)]
    time: f64,
    /// Shapes of pilots to choose from, as in 1x10m,8x1h,whole
    ///
    /// Cores x time, or whole nodes for `--time`. Each round chooses by the work that waits. Replaces
    /// `--cores` and `--time`, except for whole nodes.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "cores"
    )]
    shapes: Vec<ShapeSetting>,
    /// Percentage of its time that a pilot may be idle
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = parse_integer::<u8>)]
    idle_percent: u8,
    /// Time without a job after which a pilot leaves
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = parse::parse_span)]
    idle: f64,
    /// Maximum number of pilots that wait or run
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = parse_integer::<u32>)]
    at_most: u32,
    /// Maximum core hours of all pilots of the site together [default: no maximum]
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>)]
    core_hours: Option<u64>,
    /// Longest time between two looks at the queue when nothing happens
    #[arg(long = "ask-every", value_name = "SPAN", default_value = "1m", value_parser = parse::parse_span)]
    query_every: f64,
    /// Maximum number of pilots that are submitted within an hour
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = parse_count::<u32>)]
    submit_at_most: u32,
    /// Maximum number of pilots that wait [default: no maximum]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>)]
    queue_at_most: Option<u32>,
    /// Address by which nodes reach the service [default: as it listens]
    #[arg(long, value_name = "URL")]
    connect: Option<String>,
    /// Address of an agent on the site's own host
    #[arg(long, value_name = "HOST:PORT")]
    agent: Option<String>,
    /// tollgate on the nodes [default: this program; with --via: tollgate]
    #[arg(long, value_name = "FILE")]
    program: Option<String>,
    /// Directory on the nodes for the pilots' state [default: TMPDIR, else /tmp]
    #[arg(long, value_name = "DIR")]
    dir: Option<String>,
    /// Environment variable of pilots and their tasks, NAME=VALUE; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    env: Vec<(String, String)>,
    /// Shell line to run before a pilot; may be repeated
    #[arg(long, value_name = "LINE")]
    setup: Vec<String>,
    /// Further argument of `tollgate worker`; may be repeated
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    worker_arg: Vec<String>,
    /// Further arguments of the engine's submit command, passed on unchanged
    #[arg(last = true, value_name = "ARGUMENTS")]
    args: Vec<String>,
}

/// List the sites, with the pilots as they were last seen.
#[derive(Debug, clap::Args)]
pub(super) struct SiteListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Remove a site that has no pilots.
#[derive(Debug, clap::Args)]
pub(super) struct SiteRemoveArgs {
    /// Name of the site
    name: String,
}

/// The cores of a pilot.
#[derive(Clone, Copy, Debug)]
enum PilotCores {
    Count(u32),
    WholeNode,
}

fn parse_cores(word: &str) -> Result<PilotCores, &'static str> {
    match word {
        "all" => Ok(PilotCores::WholeNode),
        _ => parse_count(word).map(PilotCores::Count),
    }
}

/// The engine does not tell how many cores a node of the queue has.
#[derive(Debug, thiserror::Error)]
#[error(
    "pilots of whole nodes: the engine does not tell how many cores the nodes of this queue have"
)]
struct NodeSizeUnknown;

impl CliError for NodeSizeUnknown {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("give their number, as in `--cores 16` or `--shapes 16x1h`".into())
    }
}

/// `tollgate site add`.
pub(super) fn add(args: &SiteAddArgs) -> Result<(), CliFailure> {
    let path = SitesFile::path()?;
    let mut file = SitesFile::read(&path)?;
    let name = args.name.clone();
    cluster::check_free(&name)?;
    let mut settings = args.settings()?;
    if let PilotCores::WholeNode = args.cores {
        let node = opened::control(settings.clone())?.largest_node()?;
        let node = node.ok_or(NodeSizeUnknown)?;
        settings.cores = node.cores;
        settings.node_memory_mib = node.memory.map(|bytes| bytes.as_u64() >> 20);
        let cores = settings.cores;
        Verbosity::Notes.note(format_args!("a pilot takes a whole node of {cores} cores"));
    }
    if settings.shapes.contains(&ShapeSetting::WholeNode) {
        let probe = SiteSettings {
            shapes: Vec::new(),
            ..settings.clone()
        };
        let node = opened::control(probe)?.largest_node()?;
        let node = node.ok_or(NodeSizeUnknown)?;
        settings.node_cores = Some(node.cores);
        settings.node_memory_mib = node.memory.map(|bytes| bytes.as_u64() >> 20);
        let cores = node.cores;
        Verbosity::Notes.note(format_args!("a whole node has {cores} cores"));
    }
    if !settings.shapes.is_empty() {
        settings.cores = settings.kinds()[0].shape.cores;
    }
    file.add(settings)?;
    file.write(&path)?;
    let path = path.display();
    writeln!(io::stdout(), "site {name}: added to {path}")?;
    Verbosity::Notes.note(format_args!(
        "`tollgate site check {name}` tries it, `tollgate site scale {name} {}` submits pilots",
        args.pilots
    ));
    Ok(())
}

impl SiteAddArgs {
    fn settings(&self) -> Result<SiteSettings, CliFailure> {
        let program = match (&self.program, &self.via) {
            (Some(program), _) => program.clone(),
            (None, Some(_)) => "tollgate".to_owned(),
            (None, None) => opened::program()?,
        };
        Ok(SiteSettings {
            via: self.via.clone(),
            pilots: self.pilots,
            cores: match self.cores {
                PilotCores::Count(cores) => cores,
                PilotCores::WholeNode => 1,
            },
            memory_mib: self.memory.map(|bytes| bytes.div_ceil(1 << 20)),
            time_s: self.time.ceil() as u64,
            shapes: self.shapes.clone(),
            idle_percent: self.idle_percent,
            idle_s: self.idle.ceil() as u64,
            at_most: self.at_most,
            submit_at_most: self.submit_at_most,
            core_hours: self.core_hours,
            query_s: self.query_every.ceil() as u64,
            queue_at_most: self.queue_at_most,
            agent: self.agent.clone(),
            connect: self.connect.clone(),
            dir: self.dir.clone(),
            setup: self.setup.iter().flat_map(|text| lines(text)).collect(),
            env: self.env.iter().cloned().collect(),
            args: self.args.clone(),
            worker_args: self.worker_arg.clone(),
            ..SiteSettings::new(&self.name, self.engine, &random_key()?, &program)
        })
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (name, value) = pair.ok_or_else(|| "expected NAME=VALUE".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Returns the lines of a text that are not empty.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned)
}

/// `tollgate site list`.
pub(super) fn list(args: &SiteListArgs) -> Result<(), CliFailure> {
    let file = SitesFile::read(&SitesFile::path()?)?;
    let state = state_dir()?;
    let mut sites = Vec::new();
    for settings in &file.sites {
        let pilots = SiteJournal::read(&state.join(&settings.name))?;
        sites.push(SiteEntry::new(settings, &pilots));
    }
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &SiteListing { sites })?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let columns = [
                Column::new("site", |site: &SiteEntry| site.name.clone()),
                Column::new("engine", |site: &SiteEntry| site.engine.to_string()),
                Column::optional("via", |site: &SiteEntry| site.via.clone()).flexible(),
                Column::new("cores", |site: &SiteEntry| site.cores.to_string()),
                Column::new("time", |site: &SiteEntry| format::format_span(site.time_s)),
                Column::optional("shapes", |site: &SiteEntry| {
                    let shapes = site.shapes.join(", ");
                    (!shapes.is_empty()).then_some(shapes)
                }),
                Column::new("wanted", |site: &SiteEntry| site.target.to_string()),
                Column::new("pending", |site: &SiteEntry| site.pending.to_string()),
                Column::new("running", |site: &SiteEntry| site.running.to_string()),
            ];
            write_list(&mut out, &columns, &sites)?;
        }
    }
    Ok(())
}

/// `tollgate site remove`.
pub(super) fn remove(args: &SiteRemoveArgs) -> Result<(), CliFailure> {
    let path = SitesFile::path()?;
    let mut file = SitesFile::read(&path)?;
    let mut site = opened::open(&args.name)?;
    let counts = site.counts();
    if counts.total() > 0 {
        // They may have ended since they were last seen.
        site.refresh()?;
    }
    site.remove()?;
    file.sites.retain(|site| site.name != args.name);
    file.write(&path)?;
    writeln!(io::stdout(), "site {}: removed", args.name)?;
    Ok(())
}
