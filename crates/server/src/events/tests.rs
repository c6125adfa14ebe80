//! Readers that resume, gaps, and identifiers.

use super::*;

fn queued(jobs: std::ops::Range<u64>) -> Vec<RowChange> {
    jobs.map(|job| RowChange::Queued { job }).collect()
}

fn id(batch: i64, place: u32) -> EventId {
    EventId {
        batch,
        index: place,
    }
}

#[test]
fn reader_that_resumes_misses_no_event() {
    let log = EventLog::after_batch(7);
    let mut watch = log.watch();
    let begin = watch.borrow_and_update().id;
    log.publish(8, Instant::ZERO, &queued(1..4));
    log.publish(9, Instant::ZERO, &[]);
    log.publish(10, Instant::ZERO, &queued(4..5));
    assert!(watch.has_changed().unwrap());
    let jobs = |from| -> Vec<u64> {
        let events = log.events_after(from, 3).unwrap();
        let steps = events.iter().filter_map(EventEntry::job_step);
        steps.map(|step| step.job).collect()
    };
    assert_eq!(jobs(begin), [1, 2, 3]);
    assert_eq!(jobs(id(8, 1)), [3, 4]);
    assert_eq!(jobs(id(10, 0)), [0; 0]);
}

#[test]
fn dropped_events_are_reported_as_a_gap() {
    let log = EventLog::after_batch(7);
    // Batch 7 may have had more events than were read before the restart.
    let gap = log.events_after(id(7, 3), 10);
    assert!(gap.is_err());
    log.publish(8, Instant::ZERO, &queued(0..MAX_EVENTS as u64 + 2));
    let latest = id(8, MAX_EVENTS as u32 + 1);
    assert_eq!(
        log.events_after(id(8, 0), 10),
        Err(EventGap { from: latest })
    );
    assert_eq!(log.events_after(id(8, 1), 1).unwrap()[0].id, id(8, 2));
    assert_eq!(
        log.events_after(id(9, 0), 10),
        Err(EventGap { from: latest }),
        "it is yet to come"
    );
}

#[test]
fn events_of_workers_stand_between_those_of_jobs_and_no_identifier_comes_twice() {
    let log = EventLog::after_batch(7);
    let nodes = || {
        EventSubject::Nodes(NodeStep {
            is_in_use: false,
            slowdown: HostSlowdown::NONE,
            worker: None,
            nodes: NodeRange { first: 0, len: 1 },
            is_up: true,
            is_drained: false,
        })
    };
    let begin = log.watch().borrow().id;
    log.publish_others(7, Instant::ZERO, vec![nodes(), nodes()]);
    log.publish(8, Instant::ZERO, &queued(1..3));
    log.publish_others(8, Instant::ZERO, vec![nodes()]);
    log.publish_others(9, Instant::ZERO, vec![nodes()]);
    log.publish(10, Instant::ZERO, &queued(3..4));
    let events = log.events_after(begin, 100).unwrap();
    let ids: Vec<(i64, u32, bool)> = events
        .iter()
        .map(|event| (event.id.batch, event.id.index, event.job_step().is_some()))
        .collect();
    let expected = [
        (8, 0, false),
        (8, 1, false),
        (8, 2, true),
        (8, 3, true),
        (8, 4, false),
        (9, 0, false),
        (10, 0, true),
    ];
    assert_eq!(ids, expected);
    assert_eq!(log.events_after(id(8, 3), 1).unwrap()[0].id, id(8, 4));
}

#[test]
fn event_id_round_trips_through_text() {
    assert_eq!(id(12, 3).to_string().parse(), Ok(id(12, 3)));
    for words in ["", "12", "-", "a-1", "1-b", "1-2-3"] {
        assert_eq!(words.parse::<EventId>(), Err(BadEventId), "{words}");
    }
}
