//! The summary of a study for a reader of its directory: versions, seeds, workload, counts.

use serde_json::{Value, json};

use crate::claim_results::ClaimResults;
use crate::columns;
use crate::keyword::KeywordEnum;
use crate::pipeline::Study;
use crate::results::KEY_COLUMNS;
use crate::workload_source::StudyWorkload;

/// Returns the summary of a study as JSON. It does not depend on when or how fast the study was
/// run.
pub(crate) fn of(study: &Study, ledger: &ClaimResults) -> String {
    let experiment = study.experiment();
    let world = columns::of(experiment.world.kind.0);
    let meanings = KEY_COLUMNS.iter().chain(&world);
    let columns: serde_json::Map<String, Value> = meanings
        .map(|column| (column.name.to_owned(), column.meaning.into()))
        .collect();
    let missing = study.missing_requests();
    let summary = json!({
        "study": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "tollgate": env!("CARGO_PKG_VERSION"),
        "fingerprint": study.fingerprint().to_string(),
        "seeds": (1..=experiment.seeds).collect::<Vec<u64>>(),
        "normalisation": experiment.normalisation.to_string(),
        "world": experiment.world.kind.to_string(),
        "workload": study.source().map(|source| json!({
            "source": source.trace().source,
            "jobs": source.trace().jobs.len(),
            "never_ran": experiment.workload.never_ran.to_string(),
            "deadlines": experiment.workload.deadlines.to_string(),
            "jobs_without_request": missing.jobs,
            "jobs_leaking_run_time": missing.leaking,
        })),
        "nodes": study.source().map(StudyWorkload::nodes),
        "rows": study.plan().rows.len(),
        "runs": study.plan().runs(),
        "claims": claims(ledger),
        "columns": columns,
        "experiment": experiment,
    });
    format!("{summary:#}\n")
}

/// Returns the counts of claims by kind.
fn claims(ledger: &ClaimResults) -> serde_json::Map<String, Value> {
    let counts = ledger.counts().into_iter();
    counts
        .map(|(kind, counts)| {
            let counts = json!({
                "all": counts.all,
                "holds": counts.holds,
                "fails": counts.fails,
                "undecided": counts.undecided,
                "broken": counts.broken,
            });
            (kind.keyword().to_owned(), counts)
        })
        .collect()
}

/// Returns the fingerprint in a summary, if there is a valid one.
pub(crate) fn fingerprint(summary: &[u8]) -> Option<String> {
    let summary: Value = serde_json::from_slice(summary).ok()?;
    Some(summary.get("fingerprint")?.as_str()?.to_owned())
}
