//! `tollgate policies`: the list of the policies.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use clap::ValueEnum;
use serde::Serialize;
use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_grid_policies::{migrate, retry, select};
use tollgate_model::Market;
use tollgate_policy::{ParameterInfo, PolicyRegistry};

use crate::args::{OutputFormat, is_similar};
use crate::exit::{CliError, CliFailure, ExitKind};

/// Where policies decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PolicyWorld {
    /// A dedicated cluster
    Cluster,
    /// Desktops with users
    Campus,
    /// Personal clusters of pilots at several sites
    Federation,
}

/// The options of `tollgate policies`.
#[derive(Debug, clap::Args)]
pub(crate) struct PoliciesArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Print only the names
    #[arg(long, short, conflicts_with = "format")]
    quiet: bool,
    /// World of the policies [default: cluster; with NAME: all]
    #[arg(long, value_enum, value_name = "WORLD")]
    world: Option<PolicyWorld>,
    /// Names or aliases of the policies to show [default: all of the world]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// A policy in the list.
#[derive(Clone, Serialize)]
struct PolicyListing {
    policy: &'static str,
    /// A short name that is also accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'static str>,
    summary: &'static str,
    /// Where the policy fails, or what it does not do.
    #[serde(skip_serializing_if = "str::is_empty")]
    limits: &'static str,
    paper: &'static str,
    /// The markets in which the policy runs by default.
    markets: Vec<&'static str>,
    /// True if jobs share nodes or are paused.
    shares_nodes: bool,
    parameters: Vec<ParameterListing>,
}

#[derive(Clone, Serialize)]
struct ParameterListing {
    key: &'static str,
    default: String,
    values: String,
    meaning: &'static str,
}

pub(crate) fn run(args: &PoliciesArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let listed = match (args.world, args.names.as_slice()) {
        (world, []) => policies_of(world.unwrap_or(PolicyWorld::Cluster), registry),
        (Some(world), names) => select_by_name(&policies_of(world, registry), names)?,
        (None, names) => {
            let worlds = PolicyWorld::ALL.map(|world| policies_of(world, registry));
            select_by_name(&worlds.concat(), names)?
        }
    };
    match (args.quiet, args.format) {
        (true, _) => listed
            .iter()
            .try_for_each(|policy| writeln!(out, "{}", policy.policy))?,
        (false, OutputFormat::Table) => {
            write_text(&mut out, &listed)?;
            if args.names.is_empty() {
                write_usage(&mut out, args.world.unwrap_or(PolicyWorld::Cluster))?;
            }
        }
        (false, OutputFormat::Json) => {
            serde_json::to_writer_pretty(&mut out, &listed).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        (false, OutputFormat::Csv) => write_csv(&mut out, &listed)?,
    }
    Ok(out.flush()?)
}

impl PolicyWorld {
    const ALL: [Self; 3] = [Self::Cluster, Self::Campus, Self::Federation];
}

/// An unknown policy name.
#[derive(Debug, thiserror::Error)]
#[error("NAME: there is no policy `{name}`")]
struct UnknownPolicy {
    name: String,
    hint: String,
}

impl CliError for UnknownPolicy {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint.as_str().into())
    }
}

/// Returns every policy of a world.
fn policies_of(world: PolicyWorld, registry: &PolicyRegistry) -> Vec<PolicyListing> {
    match world {
        PolicyWorld::Cluster => cluster_policies(registry),
        PolicyWorld::Campus => campus_policies(),
        PolicyWorld::Federation => federation_policies(),
    }
}

/// Returns the policies with these names or aliases, in the order of the names.
fn select_by_name(
    listed: &[PolicyListing],
    names: &[String],
) -> Result<Vec<PolicyListing>, UnknownPolicy> {
    let mut found = Vec::new();
    for name in names {
        let is_meant = |one: &&PolicyListing| one.policy == name || one.alias == Some(name);
        let meant: Vec<PolicyListing> = listed.iter().filter(is_meant).cloned().collect();
        if meant.is_empty() {
            let near = listed.iter().find(|one| is_similar(name, one.policy));
            let hint = match near {
                Some(near) => format!("`tollgate policies {}` shows that policy", near.policy),
                None => "`tollgate policies --quiet` lists the names".to_owned(),
            };
            let name = name.clone();
            return Err(UnknownPolicy { name, hint });
        }
        found.extend(meant);
    }
    Ok(found)
}

/// Returns the retry policies, and then the select policies. Their parameters follow the colon of
/// the name.
fn campus_policies() -> Vec<PolicyListing> {
    let retry = retry::REGISTRY.iter().map(|named| PolicyListing {
        policy: named.name,
        alias: Some(named.alias),
        summary: named.summary,
        limits: "",
        paper: named.paper,
        markets: Vec::new(),
        shares_nodes: false,
        parameters: Vec::new(),
    });
    let select = select::REGISTRY.iter().map(|named| PolicyListing {
        policy: named.name,
        alias: Some(named.alias),
        summary: named.summary,
        limits: "",
        paper: named.paper,
        markets: Vec::new(),
        shares_nodes: false,
        parameters: Vec::new(),
    });
    retry.chain(select).collect()
}

/// Returns the migration policies, which choose the pilot to move.
fn federation_policies() -> Vec<PolicyListing> {
    let listed = migrate::builtin::REGISTRY.iter().map(|named| {
        let choice = MigrationSpec::parse(named.name).expect("a name from the registry");
        PolicyListing {
            policy: named.name,
            alias: None,
            summary: named.summary,
            limits: "",
            paper: named.paper,
            markets: Vec::new(),
            shares_nodes: false,
            parameters: choice.parameters().into_iter().map(parameter).collect(),
        }
    });
    listed.collect()
}

fn cluster_policies(registry: &PolicyRegistry) -> Vec<PolicyListing> {
    let listed = registry.policies().map(|policy| PolicyListing {
        policy: policy.name(),
        alias: None,
        summary: policy.summary(),
        limits: policy.limits(),
        paper: policy.source(),
        markets: policy
            .markets()
            .iter()
            .map(|market| market.name())
            .collect(),
        shares_nodes: policy.shares_nodes(),
        parameters: policy.parameters().into_iter().map(parameter).collect(),
    });
    listed.collect()
}

fn parameter(parameter: ParameterInfo) -> ParameterListing {
    ParameterListing {
        key: parameter.key,
        default: parameter.value,
        values: parameter.values,
        meaning: parameter.meaning,
    }
}

fn write_text(out: &mut impl Write, listed: &[PolicyListing]) -> io::Result<()> {
    for (n, policy) in listed.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        match policy.alias {
            Some(alias) => writeln!(out, "{} (alias {alias})", policy.policy)?,
            None => writeln!(out, "{}", policy.policy)?,
        }
        writeln!(out, "  {}", policy.summary)?;
        if !policy.limits.is_empty() {
            writeln!(out, "  limits: {}", policy.limits)?;
        }
        if !policy.paper.is_empty() {
            writeln!(out, "  {}", policy.paper)?;
        }
        if !policy.markets.is_empty() {
            writeln!(out, "  markets: {}", policy.markets.join(", "))?;
        }
        if policy.shares_nodes {
            writeln!(
                out,
                "  engine: jobs share nodes or are paused, which a stock batch system does not do"
            )?;
        }
        for parameter in &policy.parameters {
            let setting = format!("{}={}", parameter.key, parameter.default);
            let ParameterListing {
                meaning, values, ..
            } = parameter;
            writeln!(out, "    {setting:<20}  {meaning}: {values}")?;
        }
    }
    Ok(())
}

/// Writes the syntax in which other commands name the policies of a world.
fn write_usage(out: &mut impl Write, world: PolicyWorld) -> io::Result<()> {
    writeln!(out)?;
    if world == PolicyWorld::Federation {
        return writeln!(
            out,
            "A study of the world `federation` names them under `policies`, as in `\"marginal:keep=0\"`."
        );
    }
    if world == PolicyWorld::Campus {
        return writeln!(
            out,
            "Those down to `dedicated-if-free` are for `--retry`, with their number behind a colon, as in\n\
             `max-evictions:3` or `attempt-time:24h+max-evictions:6`; those after it for `--select`."
        );
    }
    let markets = Market::ALL.map(Market::name).join(", ");
    writeln!(
        out,
        "A parameter is changed behind a colon: `--policy easy:order=sjf,extra=false`. The markets\n\
         ({markets}) are those in which a policy runs when none is named."
    )
}

fn write_csv(out: &mut impl Write, listed: &[PolicyListing]) -> io::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    rows.write_record([
        "policy",
        "summary",
        "limits",
        "paper",
        "markets",
        "shares_nodes",
        "parameters",
    ])?;
    for policy in listed {
        let settings = policy.parameters.iter();
        let settings: Vec<String> = settings
            .map(|p| format!("{}={}", p.key, p.default))
            .collect();
        let (markets, settings) = (policy.markets.join(";"), settings.join(";"));
        rows.write_record([
            policy.policy,
            policy.summary,
            policy.limits,
            policy.paper,
            &markets,
            &policy.shares_nodes.to_string(),
            &settings,
        ])?;
    }
    rows.flush()
}
