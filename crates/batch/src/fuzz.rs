//! The entry point of the fuzz target. The module is hidden, and public only for the target and for tests
//! that run it without a fuzzer.

use crate::{BatchJobName, CommandAnswer, EngineKind, QueuePhase, RecordAge};

/// Parses `data` as an answer of every engine, good and bad, and checks that the jobs found by a name have
/// it and that a fault says something. Returns false if no engine gives such an answer.
pub fn answers(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data).into_owned();
    let good = CommandAnswer {
        output: text.clone(),
        ..CommandAnswer::default()
    };
    let bad = CommandAnswer {
        exit: 1,
        errors: text,
        ..CommandAnswer::default()
    };
    let parsed = EngineKind::ALL.map(|kind| {
        let good = parse_all(kind, &good);
        parse_all(kind, &bad) | good
    });
    parsed.contains(&true)
}

/// Returns whether one of the parsers of an engine finds something in an answer.
fn parse_all(kind: EngineKind, answer: &CommandAnswer) -> bool {
    let dialect = kind.dialect("tollgate");
    let name: BatchJobName = "tg.a.1".parse().expect("a name");
    let states = dialect.parse_states(answer);
    if let Err(fault) = &states {
        assert!(!fault.to_string().is_empty());
    }
    for age in [RecordAge::Live, RecordAge::Ended] {
        let named = dialect.parse_by_name(&name, age, answer);
        assert!(named.iter().flatten().all(|job| job.is_named(&name)));
    }
    let limits = dialect.parse_limits(answer);
    for queue in [None, Some("main")] {
        let nodes = dialect.parse_nodes(queue, answer);
        assert!(nodes.iter().flatten().all(|node| node.cores > 0));
    }
    let is_found = states.is_ok_and(|jobs| !jobs.is_empty())
        || limits.is_ok_and(|queues| !queues.is_empty())
        || dialect.parse_submit(answer).is_ok();
    dialect.parse_cancel(answer).is_ok() | is_found | parse_queue(kind, answer)
}

/// Returns whether one of the parsers of an engine's whole queue finds something in an answer.
fn parse_queue(kind: EngineKind, answer: &CommandAnswer) -> bool {
    let Some(dialect) = kind.queue_dialect() else {
        return false;
    };
    let queue = dialect.parse_queue(answer).unwrap_or_default();
    let records = dialect.parse_records(answer).ok().flatten();
    let records = records.unwrap_or_default();
    for job in queue.iter().chain(&records) {
        assert!(job.procs > 0 && !job.id.is_empty());
        // A forecast of the engine is neither a start nor an end.
        assert!(job.phase >= QueuePhase::Runs || job.started.is_none());
        assert!(job.phase == QueuePhase::Over || job.ended.is_none());
    }
    dialect.parse_settings(answer).is_ok()
        | dialect.parse_clock(answer).is_some()
        | dialect.parse_default_queue(answer).is_some()
        | !queue.is_empty()
        | !records.is_empty()
}
