//! `tollgate replay --clusters`: jobs that go to one of several clusters, each with a gate of its own.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | the flags of several clusters |
//! | [`settings`] | the clusters: a TOML file each |

pub(super) mod args;
mod settings;

use std::io::{BufWriter, Write, stdout};
use std::num::NonZeroU32;

use serde::Serialize;
use tollgate_model::{Market, PenaltyLimit, SpeedList};
use tollgate_policies::cluster_choice::QuotePreference;
use tollgate_policy::PolicyRegistry;
use tollgate_replay::keys::PolicyKeys;
use tollgate_replay::parallel::{n_processors, run_in_order};
use tollgate_replay::{
    MachineSizeSource, NodeCount, PolicyAnswer, ReplayError, ReplayInput, table,
};
use tollgate_risk::Objectives;
use tollgate_sim::clusters::{ClusterRouting, ClusterSetup, replay_clusters};
use tollgate_sim::{EstimateSetup, RecordLevel, ReplayConfig, StopSignal};

use self::settings::ReplayCluster;
use super::args::ReplayArgs;
use super::error::ReplayFlagError;
use super::keys::WorkloadKeys;
use super::plan::ReplayPlan;
use super::{notes, read_input};
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::csv_rows;

/// The results of a way to spread the jobs.
struct RoutingAnswer {
    routing: String,
    /// The number of jobs that went to each cluster.
    jobs: Vec<u64>,
    answer: PolicyAnswer,
}

/// The whole output as JSON.
#[derive(Serialize)]
struct ClustersReportKeys<'a> {
    workload: WorkloadKeys<'a>,
    clusters: Vec<ClusterKeys<'a>>,
    results: Vec<RoutingKeys<'a>>,
}

/// A cluster of the replay.
#[derive(Serialize)]
struct ClusterKeys<'a> {
    cluster: &'a str,
    nodes: u32,
    capacity: f64,
    policy: String,
    market: &'static str,
}

/// The results of a way to spread the jobs.
#[derive(Serialize)]
struct RoutingKeys<'a> {
    routing: &'a str,
    jobs_by_cluster: &'a [u64],
    #[serde(flatten)]
    results: PolicyKeys<'a>,
}

/// Returns whether a text is a legal file of a cluster.
#[cfg(feature = "fuzz")]
pub(crate) fn is_cluster_file(text: &str, registry: &PolicyRegistry) -> bool {
    ReplayCluster::parse(text, "cluster", registry).is_ok()
}

/// `tollgate replay --clusters`.
pub(super) fn run(args: &ReplayArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let mut clusters: Vec<ReplayCluster> = Vec::new();
    for file in &args.clusters.files {
        let cluster = ReplayCluster::read(file, registry)?;
        if clusters.iter().any(|other| other.name == cluster.name) {
            let name = cluster.name;
            return Err(ReplayFlagError::SameName { name }.into());
        }
        clusters.push(cluster);
    }
    let mut plan = plan(args, registry, &clusters)?;
    let mut input = read_input(&plan)?;
    // No job is planned for the slowest of all nodes, as the note about speeds would say.
    plan.settings.speeds = None;
    for machine in &mut input.machines {
        machine.from = MachineSizeSource::Clusters;
    }
    notes::print(&plan, &input);
    let routings = routings(&clusters, &args.clusters.prefer);
    let threads = args.threads.unwrap_or_else(n_processors);
    let mut answers = Vec::with_capacity(routings.len());
    run_in_order(
        routings.len(),
        threads,
        |n| run_one(&plan, &input, &clusters, routings[n].1),
        |n, (jobs, answer)| {
            answers.push(RoutingAnswer {
                routing: routings[n].0.clone(),
                jobs,
                answer,
            });
            Ok::<_, CliFailure>(())
        },
    )?;
    let mut out = BufWriter::new(stdout().lock());
    write_answers(&mut out, &plan, &input, &clusters, &answers)?;
    Ok(out.flush()?)
}

/// Returns the plan of the jobs, which every way to spread them has in common.
fn plan(
    args: &ReplayArgs,
    registry: &PolicyRegistry,
    clusters: &[ReplayCluster],
) -> Result<ReplayPlan, CliFailure> {
    let mut plan = ReplayPlan::new(args, registry)?;
    // A job has a budget if one of the clusters asks for it.
    plan.settings.market = clusters
        .iter()
        .map(|cluster| cluster.market)
        .max()
        .unwrap_or_default();
    plan.settings.policies = clusters
        .iter()
        .map(|cluster| cluster.policy.clone())
        .collect();
    let nodes = clusters
        .iter()
        .fold(0_u32, |sum, cluster| sum.saturating_add(cluster.nodes));
    let nodes = NonZeroU32::new(nodes).unwrap_or(NonZeroU32::MIN);
    plan.settings.nodes = vec![NodeCount::Total(nodes)];
    plan.settings.speeds = all_speeds(clusters);
    plan.check_flags(args)?;
    Ok(plan)
}

/// Returns the speeds of all nodes, cluster by cluster; None if all are those of the record.
fn all_speeds(clusters: &[ReplayCluster]) -> Option<SpeedList> {
    if clusters.iter().all(|cluster| cluster.speeds.is_default()) {
        return None;
    }
    let ranges = clusters
        .iter()
        .flat_map(|cluster| cluster.speeds.ranges(cluster.nodes));
    let words = ranges.map(|(range, speed)| format!("{}*{}", range.len, speed.as_f64()));
    words.collect::<Vec<_>>().join(",").parse().ok()
}

/// Returns the ways to spread the jobs, with their names.
fn routings(
    clusters: &[ReplayCluster],
    preferences: &[QuotePreference],
) -> Vec<(String, ClusterRouting)> {
    let alone = clusters.iter().enumerate();
    let alone =
        alone.map(|(at, cluster)| (format!("{} alone", cluster.name), ClusterRouting::Only(at)));
    let spread = [
        ("users at home".to_owned(), ClusterRouting::Home),
        ("jobs at random".to_owned(), ClusterRouting::Random),
    ];
    let preferences = match preferences.is_empty() {
        true => &QuotePreference::ALL,
        false => preferences,
    };
    let best = preferences.iter();
    let best = best.map(|&by| (format!("{by} quote"), ClusterRouting::Best(by)));
    alone.chain(spread).chain(best).collect()
}

/// Runs the jobs in one way. Returns the number of jobs of each cluster, and the results of all.
fn run_one(
    plan: &ReplayPlan,
    input: &ReplayInput,
    clusters: &[ReplayCluster],
    routing: ClusterRouting,
) -> Result<(Vec<u64>, PolicyAnswer), CliFailure> {
    let setups = clusters.iter().map(|cluster| ClusterSetup {
        config: ReplayConfig {
            dedicated_nodes: 0,
            nodes: cluster.nodes,
            speeds: cluster.speeds.clone(),
            node_memory: plan.settings.node_memory,
            market: cluster.market,
            tasks: plan.settings.tasks,
            preemption_cost: plan.settings.preemption_cost,
            overrun: plan.settings.overrun,
            record_level: RecordLevel::Outcomes,
            states_promises: false,
            penalty_limit: PenaltyLimit::of_budgets(plan.settings.jobs.penalty_limit),
            stop: StopSignal::default(),
        },
        policy: cluster.policy.build(cluster.market),
        estimates: EstimateSetup {
            unpredictable: None,
            origin: plan.settings.estimates,
            uses_beliefs: cluster.policy.uses_beliefs(),
            contexts: &input.job_contexts,
            history: &input.learned.history,
        },
    });
    let used = |at: usize| match routing {
        ClusterRouting::Only(only) => at == only,
        ClusterRouting::Home | ClusterRouting::Random | ClusterRouting::Best(_) => true,
    };
    let names: Vec<String> = clusters
        .iter()
        .enumerate()
        .filter(|(at, _)| used(*at))
        .map(|(_, cluster)| cluster.policy.to_string())
        .collect();
    let policy = names.join(" + ");
    let arrivals = input.workload.arrivals();
    let ran = replay_clusters(arrivals, setups.collect(), routing, plan.settings.jobs.seed);
    let ran = ran.map_err(|failure| ReplayError::Run {
        policy: policy.clone(),
        failure,
    })?;
    let mut jobs = vec![0; clusters.len()];
    for &at in &ran.clusters {
        jobs[at] += 1;
    }
    let at_work = || clusters.iter().enumerate().filter(|(at, _)| used(*at));
    let nodes = at_work().fold(0_u32, |sum, (_, cluster)| sum.saturating_add(cluster.nodes));
    let markets = at_work().map(|(_, cluster)| cluster.market);
    let market = markets.max().unwrap_or(Market::None);
    let answer = PolicyAnswer {
        treatment: None,
        policy,
        shares_nodes: at_work().any(|(_, cluster)| cluster.policy.shares_nodes()),
        nodes,
        objectives: Objectives::of(&ran.outcomes, nodes, market),
        seeds: None,
        groups: Vec::new(),
        risk: None,
        calibration: None,
    };
    Ok((jobs, answer))
}

fn write_answers(
    out: &mut impl Write,
    plan: &ReplayPlan,
    input: &ReplayInput,
    clusters: &[ReplayCluster],
    answers: &[RoutingAnswer],
) -> Result<(), CliFailure> {
    let results = || answers.iter().map(RoutingKeys::new).collect::<Vec<_>>();
    match plan.format {
        OutputFormat::Csv => csv_rows::write(out, &results())?,
        OutputFormat::Json => {
            let report = ClustersReportKeys {
                workload: WorkloadKeys::new(plan, input),
                clusters: clusters.iter().map(ClusterKeys::new).collect(),
                results: results(),
            };
            serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Table => {
            let rows: Vec<(String, &PolicyAnswer)> = answers
                .iter()
                .map(|answer| (answer.routing.clone(), &answer.answer))
                .collect();
            out.write_all(table::render_named("jobs go to", &rows).as_bytes())?;
            writeln!(out)?;
            let names = answers.iter().map(|answer| answer.routing.chars().count());
            let width = names.max().unwrap_or_default();
            for answer in answers {
                let counts = clusters.iter().zip(&answer.jobs);
                let counts: Vec<String> = counts
                    .map(|(cluster, jobs)| format!("{} {jobs}", cluster.name))
                    .collect();
                writeln!(out, "{:width$}  {}", answer.routing, counts.join(", "))?;
            }
        }
    }
    Ok(())
}

impl<'a> RoutingKeys<'a> {
    fn new(answer: &'a RoutingAnswer) -> Self {
        Self {
            routing: &answer.routing,
            jobs_by_cluster: &answer.jobs,
            results: PolicyKeys::new(&answer.answer),
        }
    }
}

impl<'a> ClusterKeys<'a> {
    fn new(cluster: &'a ReplayCluster) -> Self {
        Self {
            cluster: &cluster.name,
            nodes: cluster.nodes,
            capacity: cluster.speeds.capacity(cluster.nodes),
            policy: cluster.policy.to_string(),
            market: cluster.market.name(),
        }
    }
}
