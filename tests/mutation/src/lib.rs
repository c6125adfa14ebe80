//! Damaged inputs for every parser: valid samples, damaged in many ways at once.
//!
//! The fuzz targets (`fuzz/`) need a fuzzer. This crate drives the same functions without a fuzzer:
//! for a moment in `tests/smoke`, and for any length of time with its program.

mod samples;

use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

pub use samples::{MutationTarget, TARGETS, records};

/// Byte sequences with a meaning to one of the parsers.
const TOKENS: [&[u8]; 36] = [
    b":",
    b"|",
    b"=",
    b"/",
    b"*",
    b"%",
    b"-1",
    b"4294967295",
    b"4294967296",
    b"\n",
    b"\r",
    b",",
    b"\"",
    b";",
    b" ",
    b"-",
    b".",
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b"\0",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"99999999999999999999",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"...",
    b"<row>",
    b"#PBS -",
    b"#$ -",
    b"\xff\xff\xff\xff",
];

/// Returns the input of a round: one of the target's samples with one to five changes.
pub fn input(target: &MutationTarget, seed: u64, round: u64) -> Vec<u8> {
    let samples: Vec<&[u8]> = target.samples.iter().map(|text| text.as_bytes()).collect();
    damaged(&samples, &samples, seed, round)
}

/// Returns one of `samples` with one to five changes, some of which replace its end by a piece of
/// `others`. The same seed and round give the same bytes.
///
/// # Panics
/// If `samples` or `others` is empty.
pub fn damaged(samples: &[&[u8]], others: &[&[u8]], seed: u64, round: u64) -> Vec<u8> {
    let mut stream = StreamFamily::new(seed, StreamPurpose::Sessions).stream(round);
    let mut data = samples[below(&mut stream, samples.len())].to_vec();
    for _ in 0..=below(&mut stream, 4) {
        damage(&mut data, &mut stream, others);
    }
    data
}

/// Applies one change at a random place.
fn damage(data: &mut Vec<u8>, stream: &mut RandomStream, others: &[&[u8]]) {
    let at = below(stream, data.len());
    match below(stream, 6) {
        0 if at < data.len() => data[at] ^= 1 << below(stream, 8),
        1 => data.truncate(at),
        2 => drop(data.splice(at..at, TOKENS[below(stream, TOKENS.len())].iter().copied())),
        3 => {
            let end = at + below(stream, data.len() - at);
            data.drain(at..end);
        }
        4 => {
            let end = at + below(stream, (data.len() - at).min(200));
            let piece = data[at..end].to_vec();
            let to = below(stream, data.len());
            let times = 1 + below(stream, 50);
            data.splice(to..to, piece.repeat(times));
        }
        _ => {
            let other = others[below(stream, others.len())];
            let from = below(stream, other.len());
            data.splice(at.., other[from..].iter().copied());
        }
    }
}

fn below(stream: &mut RandomStream, limit: usize) -> usize {
    (stream.bits() % limit.max(1) as u64) as usize
}
