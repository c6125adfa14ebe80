//! Entry points of the fuzz targets. They are hidden, and public only for the fuzz targets and for
//! tests that run them without a fuzzer.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tollgate_client::types::{JobRequest, TokenRequest};
use tollgate_engine::PartRequest;
use tollgate_service::TaskRanges;
use tollgate_workers::protocol::{ServerMessage, WorkerFrame, WorkerMessage, encode_line};

use crate::api::fuzz::check_job;
use crate::exporters::WaitFigures;

/// Maximum length of a range that is formatted and parsed again.
const MAX_NUMBERS: u64 = 10_000_000;

/// Parses `data` as the answer of a node exporter, of which no slowdown is out of bounds.
pub fn exporter(data: &[u8]) -> bool {
    text(data).and_then(WaitFigures::parse).is_some()
}

/// Parses `data` as task numbers and checks that the ranges are ascending and do not touch. Returns
/// false if `data` does not parse.
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

/// Parses the lines of `data` as messages between workers and the service, and checks that a
/// message survives encoding and decoding. Returns false if a line does not parse.
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

/// Parses `data` as the body of a request and checks that the job is within every limit. Returns
/// false if there is no valid job.
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

/// Parses `data` as the request of a job for processes on another host, and checks that it survives encoding and
/// decoding. Returns false if `data` does not parse.
pub fn part_requests(data: &[u8]) -> bool {
    let Ok(request) = serde_json::from_slice::<PartRequest>(data) else {
        return false;
    };
    let words = serde_json::to_vec(&request).expect("our own type");
    let again: PartRequest = serde_json::from_slice(&words).expect("what was written");
    assert_eq!(request, again);
    true
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
