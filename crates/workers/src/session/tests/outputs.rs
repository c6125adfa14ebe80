//! Tests of outputs of attempts on the worker of a session.

use tollgate_engine::output::{
    MAX_OUTPUT_READ, OutputBytes, OutputFile, OutputPiece, OutputPosition,
};
use tollgate_engine::{OutputAnswer, OutputRead};

use super::*;
use crate::outputs::OutputPlace;

const KEPT: u64 = 100_000;

/// Returns a session with a service that keeps outputs, and a worker that runs jobs 1 to `jobs`.
fn session(jobs: u64) -> TestSession {
    let (mut talk, _) = registered_worker();
    talk.pool.keep_outputs(KEPT);
    for job in 1..=jobs {
        talk.pool.assign(end(job).attempt, WorkerId(1));
    }
    talk
}

/// Returns the reads among these messages.
fn reads(sent: &[ServerMessage]) -> Vec<OutputRead> {
    let reads = sent.iter().filter_map(|message| {
        let ServerMessage::ReadOutputs(reads) = message else {
            return None;
        };
        Some(reads.clone())
    });
    reads.flatten().collect()
}

/// Returns the attempts whose ends these messages acknowledge.
fn acknowledged(sent: &[ServerMessage]) -> Vec<AttemptId> {
    let ends = sent.iter().filter_map(|message| {
        let ServerMessage::Acknowledge(ends) = message else {
            return None;
        };
        Some(ends.clone())
    });
    ends.flatten().collect()
}

/// Answers a read of an output of `size` bytes as a worker does.
fn answer(read: OutputRead, size: u64) -> OutputAnswer {
    let start = read.from.resolve(size);
    let length = (size - start).min(u64::from(read.max.min(MAX_OUTPUT_READ)));
    let file = OutputFile {
        size,
        ..OutputFile::default()
    };
    let bytes = OutputBytes(vec![b'x'; length as usize]);
    OutputAnswer {
        id: read.id,
        found: Ok(OutputPiece { start, bytes, file }),
    }
}

/// The owner of the jobs.
const OWNER: u32 = 1_000;

#[test]
fn end_is_passed_on_at_once_and_acknowledged_after_the_output() {
    let mut talk = session(1);
    let attempt = end(1).attempt;
    let sent = talk.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    assert_eq!(talk.pool.inbox, [end(1)], "the end waits for nothing");
    let mut asked = reads(&sent);
    assert_eq!(asked.len(), 1);
    talk.pool.acknowledge(&[attempt]).unwrap();
    assert_eq!(talk.sent(), [], "the worker is to keep the attempt");
    assert_eq!(talk.pool.output_place(attempt), OutputPlace::Worker);
    let mut collected = Vec::new();
    while let Some(read) = asked.pop() {
        let answer = answer(read, 2 * KEPT);
        let sent = talk.exchange(1, WorkerMessage::Outputs(vec![answer]));
        let done = acknowledged(&sent);
        asked = reads(&sent);
        assert_eq!(done.is_empty(), !asked.is_empty(), "{sent:?}");
        collected.extend(talk.pool.take_collected());
    }
    let pieces = collected.iter().map(|piece| piece.piece.as_ref().unwrap());
    let mut next = KEPT;
    for piece in pieces {
        assert_eq!(piece.start, next, "no gap");
        next += piece.bytes.0.len() as u64;
    }
    assert_eq!(next, 2 * KEPT, "up to the end");
    assert_eq!(talk.pool.output_place(attempt), OutputPlace::Gone);
}

#[test]
fn no_more_is_on_the_line_than_a_slow_one_carries_in_time() {
    let mut talk = session(200);
    let ends: Vec<_> = (1..=200).map(end).collect();
    let mut sent = talk.exchange(1, WorkerMessage::Reports(ends.clone()));
    let (mut waiting, mut n_read, mut most) = (Vec::new(), 0, 0);
    loop {
        waiting.extend(reads(&sent));
        let bytes = waiting.iter().map(|read: &OutputRead| u64::from(read.max));
        most = bytes.sum::<u64>().max(most);
        if waiting.is_empty() {
            break;
        }
        n_read += 1;
        let answer = answer(waiting.remove(0), 10_000);
        sent = talk.exchange(1, WorkerMessage::Outputs(vec![answer]));
    }
    assert!(most <= 192 << 10, "{most} bytes at a time");
    assert_eq!(n_read, 400, "two reads each");
    assert_eq!(talk.pool.take_collected().len(), 400);
    let attempts: Vec<_> = ends.iter().map(|end| end.attempt).collect();
    talk.pool.acknowledge(&attempts).unwrap();
    assert_eq!(acknowledged(&talk.sent()), attempts, "nothing is awaited");
}

#[test]
fn empty_output_and_output_that_cannot_be_read_are_over_at_once() {
    let mut talk = session(2);
    let sent = talk.exchange(1, WorkerMessage::Reports(vec![end(1), end(2)]));
    let [first, second] = reads(&sent).try_into().unwrap();
    let refused = OutputAnswer {
        id: second.id,
        found: Err("it is a symbolic link".to_owned()),
    };
    let answers = vec![answer(first, 0), refused];
    assert_eq!(talk.exchange(1, WorkerMessage::Outputs(answers)), []);
    let collected = talk.pool.take_collected();
    assert_eq!(collected.len(), 1, "an empty output is nothing");
    assert_eq!(collected[0].attempt, end(2).attempt);
    assert_eq!(collected[0].piece, Err("it is a symbolic link".to_owned()));
}

#[test]
fn nothing_is_collected_of_what_has_no_output() {
    let not_started = AttemptReport::not_started(
        end(1).attempt,
        tollgate_model::LaunchFailure::of_job("dir", ""),
        Instant::ZERO,
    );
    let mut talk = session(1);
    assert_eq!(
        talk.exchange(1, WorkerMessage::Reports(vec![not_started])),
        []
    );
    let mut talk = session(1);
    talk.pool.keep_outputs(0);
    assert_eq!(talk.exchange(1, WorkerMessage::Reports(vec![end(1)])), []);
    let mut talk = session(1);
    let location = talk.pool.locations.get_mut(&end(1).attempt).unwrap();
    location.has_output = false;
    assert_eq!(talk.exchange(1, WorkerMessage::Reports(vec![end(1)])), []);
}

#[test]
fn worker_that_answers_another_question_is_not_believed() {
    let mut talk = session(1);
    let sent = talk.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    let read = reads(&sent)[0];
    let mut answer = answer(read, 3 * KEPT);
    if let Ok(piece) = &mut answer.found {
        piece.start = 0;
    }
    talk.exchange(1, WorkerMessage::Outputs(vec![answer]));
    let collected = talk.pool.take_collected();
    assert!(collected[0].piece.is_err(), "{collected:?}");
    // Nor is a second answer, or an answer without a read.
    let more = vec![
        self::answer(read, 5),
        self::answer(OutputRead { id: 99, ..read }, 5),
    ];
    assert_eq!(talk.exchange(1, WorkerMessage::Outputs(more)), []);
    assert_eq!(talk.pool.take_collected(), []);
}

#[test]
fn lost_connection_is_told_to_a_reader_and_the_collection_goes_on_after_it() {
    let mut talk = session(1);
    let attempt = end(1).attempt;
    let told = Arc::new(Mutex::new(None));
    let reader = Arc::clone(&told);
    let receiver = Box::new(move |found| *reader.lock().unwrap() = Some(found));
    talk.pool
        .read_output((attempt, OWNER), OutputPosition::Start(0), receiver);
    assert_eq!(reads(&talk.sent()).len(), 1);
    talk.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    talk.pool.acknowledge(&[attempt]).unwrap();
    talk.pool.disconnect(1);
    let found = told.lock().unwrap().take().expect("an answer");
    assert!(found.unwrap_err().contains("not connected"));
    assert_eq!(talk.pool.output_place(attempt), OutputPlace::Gone);
    talk.pool.on_connection_event(ConnectionEvent {
        connection: 1,
        kind: ConnectionEventKind::Opened(Box::new(talk.sink.clone())),
    });
    talk.seq = 0;
    let known = WorkerHello {
        service: Some("this".to_owned()),
        incarnation: 1,
        ..hello("ann")
    };
    talk.exchange(1, WorkerMessage::Hello(known));
    let offer = WorkerMessage::Offer {
        capacity: talk.pool.capacity().unwrap(),
        running: Vec::new(),
        until: None,
    };
    let sent = talk.exchange(1, offer);
    let read = reads(&sent)[0];
    let sent = talk.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    assert_eq!(acknowledged(&sent), [], "the output is awaited");
    let sent = talk.exchange(1, WorkerMessage::Outputs(vec![answer(read, 7)]));
    assert_eq!(acknowledged(&sent), [attempt]);
    assert_eq!(talk.pool.take_collected().len(), 1);
}

#[test]
fn end_repeated_after_a_restart_of_the_service_is_decided_about() {
    for is_wanted in [true, false] {
        let mut talk = session(0);
        let attempt = end(1).attempt;
        assert_eq!(talk.exchange(1, WorkerMessage::Reports(vec![end(1)])), []);
        assert_eq!(talk.pool.take_repeated_ends(), [(WorkerId(1), attempt)]);
        talk.pool
            .settle_repeated_end(WorkerId(1), attempt, is_wanted);
        let sent = talk.sent();
        let asked = reads(&sent);
        match is_wanted {
            false => assert_eq!(acknowledged(&sent), [attempt]),
            true => {
                let answer = answer(asked[0], 3);
                let sent = talk.exchange(1, WorkerMessage::Outputs(vec![answer]));
                assert_eq!(acknowledged(&sent), [attempt]);
            }
        }
    }
}

#[test]
fn output_is_given_up_with_the_incarnation() {
    let (mut talk, mut gate) = registered_worker();
    talk.pool.keep_outputs(KEPT);
    talk.pool.assign(end(1).attempt, WorkerId(1));
    let told = Arc::new(Mutex::new(None));
    let reader = Arc::clone(&told);
    let receiver = Box::new(move |found| *reader.lock().unwrap() = Some(found));
    let from = OutputPosition::Start(0);
    talk.pool
        .read_output((end(1).attempt, OWNER), from, receiver);
    talk.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    let lost = GateInput::WorkerLost {
        worker: WorkerId(1),
        incarnation: 1,
    };
    gate.handle(Instant::ZERO, lost, &mut Vec::new()).unwrap();
    talk.pool.sync_with_gate(&gate);
    let collected = talk.pool.take_collected();
    assert!(collected[0].piece.is_err(), "{collected:?}");
    let found = told.lock().unwrap().take().expect("an answer");
    assert!(found.is_err(), "the reader waits no longer");
}
