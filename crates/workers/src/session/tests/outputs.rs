//! Tests of outputs of attempts on the worker of a session.

use tollgate_engine::output::{
    AttemptOutput, AttemptStream, MAX_OUTPUT_READ, OutputBytes, OutputFile, OutputPiece,
    OutputPosition,
};
use tollgate_engine::{OutputAnswer, OutputRead};

use super::*;
use crate::outputs::OutputLocation;

const KEPT: u64 = 100_000;

/// Returns a session with a service that keeps outputs, and a worker that runs jobs 1 to `jobs`.
fn session_with(jobs: u64) -> TestSession {
    let (mut session, _) = registered_worker();
    session.pool.keep_outputs(KEPT);
    for job in 1..=jobs {
        session.pool.assign(end(job).attempt, WorkerId(1));
    }
    session
}

fn output_of(attempt: AttemptId) -> AttemptOutput {
    let stream = AttemptStream::Output;
    AttemptOutput { attempt, stream }
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
    let mut session = session_with(1);
    let attempt = end(1).attempt;
    let sent = session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    assert_eq!(session.pool.inbox, [end(1)], "the end waits for nothing");
    let mut requests = reads(&sent);
    assert_eq!(requests.len(), 1);
    session.pool.acknowledge(&[attempt]).unwrap();
    assert_eq!(session.sent(), [], "the worker is to keep the attempt");
    assert_eq!(session.pool.output_place(attempt), OutputLocation::Worker);
    let mut collected = Vec::new();
    while let Some(read) = requests.pop() {
        let answer = answer(read, 2 * KEPT);
        let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer]));
        let done = acknowledged(&sent);
        requests = reads(&sent);
        assert_eq!(done.is_empty(), !requests.is_empty(), "{sent:?}");
        collected.extend(session.pool.take_collected());
    }
    let pieces = collected.iter().map(|piece| piece.piece.as_ref().unwrap());
    let mut next = KEPT;
    for piece in pieces {
        assert_eq!(piece.start, next, "no gap");
        next += piece.bytes.0.len() as u64;
    }
    assert_eq!(next, 2 * KEPT, "up to the end");
    assert_eq!(session.pool.output_place(attempt), OutputLocation::Gone);
}

#[test]
fn no_more_is_on_the_line_than_a_slow_one_carries_in_time() {
    let mut session = session_with(200);
    let ends: Vec<_> = (1..=200).map(end).collect();
    let mut sent = session.exchange(1, WorkerMessage::Reports(ends.clone()));
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
        sent = session.exchange(1, WorkerMessage::Outputs(vec![answer]));
    }
    assert!(most <= 192 << 10, "{most} bytes at a time");
    assert_eq!(n_read, 400, "two reads each");
    assert_eq!(session.pool.take_collected().len(), 400);
    let attempts: Vec<_> = ends.iter().map(|end| end.attempt).collect();
    session.pool.acknowledge(&attempts).unwrap();
    assert_eq!(
        acknowledged(&session.sent()),
        attempts,
        "nothing is awaited"
    );
}

#[test]
fn empty_output_and_output_that_cannot_be_read_are_over_at_once() {
    let mut session = session_with(2);
    let sent = session.exchange(1, WorkerMessage::Reports(vec![end(1), end(2)]));
    let [first, second] = reads(&sent).try_into().unwrap();
    let refused = OutputAnswer {
        id: second.id,
        found: Err("it is a symbolic link".to_owned()),
    };
    let answers = vec![answer(first, 0), refused];
    assert_eq!(session.exchange(1, WorkerMessage::Outputs(answers)), []);
    let collected = session.pool.take_collected();
    assert_eq!(collected.len(), 1, "an empty output is nothing");
    assert_eq!(collected[0].output.attempt, end(2).attempt);
    assert_eq!(collected[0].piece, Err("it is a symbolic link".to_owned()));
}

#[test]
fn attempt_without_output_is_not_collected() {
    let not_started = AttemptReport::not_started(
        end(1).attempt,
        tollgate_model::LaunchFailure::of_job("dir", ""),
        Instant::ZERO,
    );
    let mut session = session_with(1);
    assert_eq!(
        session.exchange(1, WorkerMessage::Reports(vec![not_started])),
        []
    );
    let mut session = session_with(1);
    session.pool.keep_outputs(0);
    assert_eq!(
        session.exchange(1, WorkerMessage::Reports(vec![end(1)])),
        []
    );
    let mut session = session_with(1);
    let location = session.pool.locations.get_mut(&end(1).attempt).unwrap();
    location.streams = Vec::new();
    assert_eq!(
        session.exchange(1, WorkerMessage::Reports(vec![end(1)])),
        []
    );
}

#[test]
fn worker_that_answers_another_question_is_not_believed() {
    let mut session = session_with(1);
    let sent = session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    let read = reads(&sent)[0];
    let mut answer = answer(read, 3 * KEPT);
    if let Ok(piece) = &mut answer.found {
        piece.start = 0;
    }
    session.exchange(1, WorkerMessage::Outputs(vec![answer]));
    let collected = session.pool.take_collected();
    assert!(collected[0].piece.is_err(), "{collected:?}");
    // Nor is a second answer, or an answer without a read.
    let more = vec![
        self::answer(read, 5),
        self::answer(OutputRead { id: 99, ..read }, 5),
    ];
    assert_eq!(session.exchange(1, WorkerMessage::Outputs(more)), []);
    assert_eq!(session.pool.take_collected(), []);
}

#[test]
fn lost_connection_is_reported_to_a_reader_and_the_collection_goes_on_after_it() {
    let mut session = session_with(1);
    let attempt = end(1).attempt;
    let received = Arc::new(Mutex::new(None));
    let reader = Arc::clone(&received);
    let receiver = Box::new(move |found| *reader.lock().unwrap() = Some(found));
    session.pool.read_output(
        (output_of(attempt), OWNER),
        OutputPosition::Start(0),
        receiver,
    );
    assert_eq!(reads(&session.sent()).len(), 1);
    session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    session.pool.acknowledge(&[attempt]).unwrap();
    session.pool.disconnect(1);
    let found = received.lock().unwrap().take().expect("an answer");
    assert!(found.unwrap_err().contains("not connected"));
    assert_eq!(session.pool.output_place(attempt), OutputLocation::Gone);
    session.pool.on_connection_event(ConnectionEvent {
        connection: 1,
        kind: ConnectionEventKind::Opened(Box::new(session.sink.clone())),
    });
    session.seq = 0;
    let known = WorkerHello {
        service: Some("this".to_owned()),
        incarnation: 1,
        ..hello("ann")
    };
    session.exchange(1, WorkerMessage::Hello(known));
    let offer = WorkerMessage::Offer {
        capacity: session.pool.capacity().unwrap(),
        running: Vec::new(),
        until: None,
        desktop: None,
    };
    let sent = session.exchange(1, offer);
    let read = reads(&sent)[0];
    let sent = session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    assert_eq!(acknowledged(&sent), [], "the output is awaited");
    let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer(read, 7)]));
    assert_eq!(acknowledged(&sent), [attempt]);
    assert_eq!(session.pool.take_collected().len(), 1);
}

#[test]
fn end_repeated_after_a_restart_of_the_service_is_decided_about() {
    for is_needed in [true, false] {
        let mut session = session_with(0);
        let attempt = end(1).attempt;
        assert_eq!(
            session.exchange(1, WorkerMessage::Reports(vec![end(1)])),
            []
        );
        assert_eq!(session.pool.take_repeated_ends(), [(WorkerId(1), attempt)]);
        let streams = match is_needed {
            true => &AttemptStream::ALL[..],
            false => &[],
        };
        session
            .pool
            .settle_repeated_end(WorkerId(1), attempt, streams);
        let sent = session.sent();
        let requests = reads(&sent);
        match is_needed {
            false => assert_eq!(acknowledged(&sent), [attempt]),
            true => {
                let [output, errors] = requests.try_into().unwrap();
                assert_eq!(errors.stream, AttemptStream::Error);
                let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer(output, 3)]));
                assert_eq!(acknowledged(&sent), [], "the errors are awaited");
                let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer(errors, 0)]));
                assert_eq!(acknowledged(&sent), [attempt]);
            }
        }
    }
}

#[test]
fn errors_in_a_file_of_their_own_are_collected_beside_the_output() {
    let mut session = session_with(1);
    let attempt = end(1).attempt;
    session
        .pool
        .set_streams(attempt, AttemptStream::ALL.to_vec());
    let sent = session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    session.pool.acknowledge(&[attempt]).unwrap();
    let [output, errors] = reads(&sent).try_into().unwrap();
    let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer(errors, 5)]));
    assert_eq!(acknowledged(&sent), [], "the output is awaited");
    let sent = session.exchange(1, WorkerMessage::Outputs(vec![answer(output, 7)]));
    assert_eq!(acknowledged(&sent), [attempt]);
    let collected = session.pool.take_collected().into_iter();
    let sizes = collected.map(|one| (one.output.stream, one.piece.unwrap().file.size));
    let expected = [(AttemptStream::Error, 5), (AttemptStream::Output, 7)];
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
}

#[test]
fn output_is_given_up_with_the_incarnation() {
    let (mut session, mut gate) = registered_worker();
    session.pool.keep_outputs(KEPT);
    session.pool.assign(end(1).attempt, WorkerId(1));
    let received = Arc::new(Mutex::new(None));
    let reader = Arc::clone(&received);
    let receiver = Box::new(move |found| *reader.lock().unwrap() = Some(found));
    let from = OutputPosition::Start(0);
    session
        .pool
        .read_output((output_of(end(1).attempt), OWNER), from, receiver);
    session.exchange(1, WorkerMessage::Reports(vec![end(1)]));
    let lost = GateInput::WorkerLost {
        worker: WorkerId(1),
        incarnation: 1,
    };
    gate.handle(Instant::ZERO, lost, &mut Vec::new()).unwrap();
    session.pool.sync_with_gate(&gate);
    let collected = session.pool.take_collected();
    assert!(collected[0].piece.is_err(), "{collected:?}");
    let found = received.lock().unwrap().take().expect("an answer");
    assert!(found.is_err(), "the reader waits no longer");
}
