//! What the fuzz targets run; hidden, public only for them and for the tests that drive them without
//! a fuzzer.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::fuzz::check_job;
use crate::api::types::{JobRequest, TokenRequest};
use crate::core::TaskRanges;
use crate::workers::protocol::{ServerMessage, WorkerFrame, WorkerMessage, encode_line};

/// The most numbers of a range that is read again as it is written.
const MAX_NUMBERS: u64 = 10_000_000;

/// Reads `data` as numbers of tasks: there is an error, or there are ascending ranges that do not
/// touch. False if there is an error.
pub fn ranges(data: &[u8]) -> bool {
    let Some(ranges) = text(data).and_then(|words| words.parse::<TaskRanges>().ok()) else {
        return false;
    };
    let all: Vec<(u32, u32)> = ranges.iter().collect();
    assert!(all.iter().all(|(first, last)| first <= last));
    assert!(all.is_sorted_by(|one, next| u64::from(one.1) + 1 < u64::from(next.0)));
    assert_eq!(ranges.first(), all.first().map(|(first, _)| *first));
    let longest = all.iter().map(|(first, last)| u64::from(last - first) + 1);
    if longest.max().is_none_or(|longest| longest <= MAX_NUMBERS) {
        assert_eq!(ranges.to_string().parse(), Ok(ranges));
    }
    true
}

/// Reads the lines of `data` as what workers and the service say to each other: what can be read is
/// written and read again as it was. False if a line is none.
pub fn frames(data: &[u8]) -> bool {
    let lines = data
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    let read = lines.map(|line| frame::<WorkerMessage>(line) | frame::<ServerMessage>(line));
    read.fold(true, |all, one| all & one)
}

fn frame<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> bool {
    let Ok(frame) = serde_json::from_slice::<WorkerFrame<T>>(bytes) else {
        return false;
    };
    let again = serde_json::from_slice(&encode_line(&frame)).expect("what was written");
    assert_eq!(frame, again);
    true
}

/// Reads `data` as the body of a request: there is an error, or a job within every limit. False if
/// there is no such job.
pub fn bodies(data: &[u8]) -> bool {
    let job = serde_json::from_slice::<JobRequest>(data);
    let is_job = job.is_ok_and(check_job);
    if let Ok(request) = serde_json::from_slice::<TokenRequest>(data) {
        let words = serde_json::to_vec(&request).expect("our own type");
        let again = serde_json::from_slice::<TokenRequest>(&words).expect("what was written");
        assert_eq!(request.user, again.user);
    }
    is_job
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
