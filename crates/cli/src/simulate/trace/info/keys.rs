//! The output as JSON and CSV. The names and the order of the keys never change silently.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tollgate_model::{Instant, Span};
use tollgate_trace::statistics::{NameCounts, TraceStatistics};
use tollgate_trace::summary::QuantileSummary;
use tollgate_trace::{Finding, FindingTally, NodeCountSource, TraceStatus};

use super::TraceSurvey;
use super::non_job_records::NonJobKeys;

/// The output of `tollgate trace info --format json`.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(title = "tollgate trace info")]
pub(super) struct TraceInfoKeys {
    /// One for each record of jobs, in the order asked for.
    pub(super) records: Vec<RecordKeys>,
    /// One for each record of something else, in the order asked for.
    pub(super) others: Vec<NonJobKeys>,
}

/// The contents of a record. A value that it does not have is null.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordKeys {
    /// The file as it was named, or `standard input`.
    source: String,
    /// The format as which it was read.
    format: Option<&'static str>,
    jobs: usize,
    /// Jobs without a run time above 0.
    never_ran: usize,
    /// In UTC; null if the record does not say when its clock began.
    first_submit: Option<String>,
    last_submit: Option<String>,
    /// The same in seconds of the record's own clock.
    first_submit_s: Option<f64>,
    last_submit_s: Option<f64>,
    longest_gap_s: Option<f64>,
    mean_interarrival_s: Option<f64>,
    /// Processors of the machine.
    nodes: u32,
    /// `max_procs` or `max_nodes` of the header, or `widest_job`.
    nodes_from: &'static str,
    /// Work of all jobs over what the machine could do from the first submission to the last;
    /// above 1 where it is too much.
    offered_load: Option<f64>,
    users: NamesKeys,
    groups: NamesKeys,
    accounts: NamesKeys,
    executables: NamesKeys,
    queues: NamesKeys,
    /// Of the jobs that ran.
    runtime_s: QuantilesKeys,
    /// Of the jobs that ran.
    mean_runtime_s: Option<f64>,
    procs: QuantilesKeys,
    mean_procs: Option<f64>,
    serial_jobs: u64,
    /// Jobs of more than one processor, whose number is a power of two.
    power_of_two_jobs: u64,
    wait_s: QuantilesKeys,
    /// Processor time over what the processors of the job could give.
    cpu_share: QuantilesKeys,
    /// Of the whole job.
    peak_memory_bytes: QuantilesKeys,
    requested_memory_bytes: QuantilesKeys,
    estimates: EstimateKeys,
    /// Jobs by how they ended.
    statuses: BTreeMap<&'static str, u64>,
    /// Jobs that ask for more processors than the machine has.
    too_wide: u64,
    /// Jobs with the number of a job before them.
    shared_numbers: u64,
    /// The lines that were skipped, folded, repaired, defaulted or ignored.
    findings: Vec<FindingKeys>,
    /// The zone in which hours and days are counted; null where they are those of the record's own
    /// clock.
    zone: Option<String>,
    /// Seven days from Monday (or from the first day of the record's own clock), 24 hours each.
    arrivals_by_day_and_hour: Vec<Vec<u64>>,
    /// Jobs that ran, by run time.
    runtime_histogram: Vec<BinKeys>,
}

/// How the jobs are shared out among names.
#[derive(Serialize, JsonSchema)]
struct NamesKeys {
    names: usize,
    /// Jobs that have one.
    jobs: u64,
    /// The share of these that belongs to the name with the most.
    top: Option<f64>,
    /// The share that belongs to the ten with the most.
    top_10: Option<f64>,
}

/// Values at rank floor(p (n - 1)) of those that the record has; null if it has none.
#[derive(Serialize, JsonSchema)]
struct QuantilesKeys {
    min: Option<f64>,
    p10: Option<f64>,
    p25: Option<f64>,
    median: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

/// How wrong the estimates are.
#[derive(Serialize, JsonSchema)]
struct EstimateKeys {
    /// Jobs that have one.
    jobs: u64,
    /// Jobs that have one and ran.
    ran: u64,
    /// Of these, jobs with an estimate above the run time.
    over: u64,
    exact: u64,
    under: u64,
    /// Estimate over run time of the jobs above.
    over_ratio: QuantilesKeys,
    /// Run time over estimate of the jobs below.
    under_ratio: QuantilesKeys,
}

#[derive(Serialize, JsonSchema)]
struct FindingKeys {
    action: &'static str,
    finding: String,
    count: u64,
    first_lines: Vec<u64>,
}

/// Jobs from a run time up to, and without, the next.
#[derive(Serialize, JsonSchema)]
struct BinKeys {
    from_s: f64,
    /// Null for the last bin of all.
    to_s: Option<f64>,
    jobs: u64,
}

impl RecordKeys {
    pub(super) fn new(record: &TraceSurvey) -> Self {
        let TraceSurvey {
            header,
            zone,
            survey,
        } = record;
        let summary = &survey.summary;
        let (first, last) = survey.submitted.unzip();
        let date = |at: Option<Instant>| Some(zone.timestamp(at?)?.to_string());
        let since_origin = |at: Instant| at.as_secs_f64();
        Self {
            source: header.source.clone(),
            format: header.format.map(|format| format.key()),
            jobs: summary.jobs,
            never_ran: summary.never_ran,
            first_submit: date(first),
            last_submit: date(last),
            first_submit_s: first.map(since_origin),
            last_submit_s: last.map(since_origin),
            longest_gap_s: survey.longest_gap.map(Span::as_secs_f64),
            mean_interarrival_s: summary.mean_interarrival.map(Span::as_secs_f64),
            nodes: summary.nodes,
            nodes_from: match survey.nodes_from {
                NodeCountSource::MaxProcs => "max_procs",
                NodeCountSource::MaxNodes => "max_nodes",
                NodeCountSource::PeakUse => "peak_use",
                NodeCountSource::WidestJob => "widest_job",
            },
            offered_load: summary.utilisation,
            users: NamesKeys::new(&survey.users),
            groups: NamesKeys::new(&survey.groups),
            accounts: NamesKeys::new(&survey.accounts),
            executables: NamesKeys::new(&survey.executables),
            queues: NamesKeys::new(&survey.queues),
            runtime_s: quantiles(summary.runtimes_s),
            mean_runtime_s: summary.mean_runtime_of_ran.map(Span::as_secs_f64),
            procs: quantiles(summary.procs),
            mean_procs: summary.mean_procs,
            serial_jobs: survey.serial,
            power_of_two_jobs: survey.powers_of_two,
            wait_s: quantiles(survey.waits_s),
            cpu_share: quantiles(survey.cpu_shares),
            peak_memory_bytes: quantiles(survey.peak_memory),
            requested_memory_bytes: quantiles(survey.requested_memory),
            estimates: EstimateKeys {
                jobs: survey.estimates.known,
                ran: survey.estimates.known_of_ran,
                over: survey.estimates.over,
                exact: survey.estimates.exact,
                under: survey.estimates.under,
                over_ratio: quantiles(survey.over_ratios),
                under_ratio: quantiles(survey.under_ratios),
            },
            statuses: statuses(survey),
            too_wide: survey.too_wide,
            shared_numbers: survey.shared_numbers,
            findings: header.diagnostics.iter().map(finding).collect(),
            zone: zone.name().map(str::to_owned),
            arrivals_by_day_and_hour: survey.arrivals.by_hour.map(Vec::from).into(),
            runtime_histogram: (survey.runtimes.bins.iter())
                .map(|bin| BinKeys {
                    from_s: bin.from.as_secs_f64(),
                    to_s: bin.to.map(Span::as_secs_f64),
                    jobs: bin.count,
                })
                .collect(),
        }
    }
}

impl NamesKeys {
    fn new(counts: &NameCounts) -> Self {
        Self {
            names: counts.n_names(),
            jobs: counts.n_known(),
            top: counts.share_of_top(1),
            top_10: counts.share_of_top(10),
        }
    }
}

fn quantiles(quantiles: Option<QuantileSummary>) -> QuantilesKeys {
    let value = |of: fn(QuantileSummary) -> f64| quantiles.map(of);
    QuantilesKeys {
        min: value(|quantiles| quantiles.min),
        p10: value(|quantiles| quantiles.p10),
        p25: value(|quantiles| quantiles.p25),
        median: value(|quantiles| quantiles.median),
        p75: value(|quantiles| quantiles.p75),
        p90: value(|quantiles| quantiles.p90),
        p99: value(|quantiles| quantiles.p99),
        max: value(|quantiles| quantiles.max),
    }
}

fn statuses(survey: &TraceStatistics) -> BTreeMap<&'static str, u64> {
    let jobs = |status| survey.statuses.get(&status).copied().unwrap_or(0);
    TraceStatus::ALL
        .into_iter()
        .map(|status| (status.key(), jobs(status)))
        .collect()
}

fn finding((finding, tally): (Finding, &FindingTally)) -> FindingKeys {
    FindingKeys {
        action: finding.action().key(),
        finding: finding.to_string(),
        count: tally.count,
        first_lines: tally.lines.clone(),
    }
}

/// Writes one row per trace. Each key of a JSON object is a column (`users_names`). Lists are left
/// out, because they do not fit into a cell.
pub(super) fn write_csv(out: &mut impl Write, records: &[RecordKeys]) -> io::Result<()> {
    let mut rows = csv::Writer::from_writer(out);
    for (n, record) in records.iter().enumerate() {
        let mut cells = Vec::new();
        flatten("", &serde_json::to_value(record)?, &mut cells);
        if n == 0 {
            rows.write_record(cells.iter().map(|(column, _)| column))?;
        }
        rows.write_record(cells.iter().map(|(_, cell)| cell))?;
    }
    rows.flush()
}

fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, String)>) {
    let mut cell = |text: String| cells.push((name.to_owned(), text));
    match value {
        Value::Null => cell(String::new()),
        Value::String(text) => cell(text.clone()),
        Value::Bool(_) | Value::Number(_) => cell(value.to_string()),
        Value::Array(_) => {}
        Value::Object(keys) => {
            let joint = if name.is_empty() { "" } else { "_" };
            for (key, value) in keys {
                flatten(&format!("{name}{joint}{key}"), value, cells);
            }
        }
    }
}
