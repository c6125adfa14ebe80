//! Tests of the readers of records, on valid samples with all kinds of damage.

use std::io::Write;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use strum::VariantArray;
use tollgate_mutation::{damaged, records};
use tollgate_trace::TraceFormat;
use tollgate_trace::fuzz::samples::{FTA, LOGINS, SAMPLES};
use tollgate_trace::fuzz::{self, FormatTarget};

/// Enough rounds to take every branch many times, in some seconds.
const ROUNDS: u64 = 5_000;

fn drive(samples: &[&[u8]], target: fn(&[u8]) -> bool) {
    let others = SAMPLES.map(str::as_bytes);
    for round in 0..ROUNDS {
        let _ = target(&damaged(samples, &others, 0xf022, round));
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_format_survives_damage() {
    thread::scope(|scope| {
        for format in TraceFormat::VARIANTS {
            let FormatTarget { run, samples, .. } = FormatTarget::of(*format);
            let samples: Vec<&[u8]> = samples.iter().map(|sample| sample.as_bytes()).collect();
            scope.spawn(move || drive(&samples, run));
        }
    });
}

#[test]
fn logins_survive_damage() {
    drive(&[LOGINS.as_bytes(), FTA.as_bytes()], fuzz::logins);
}

/// The undamaged samples must be valid: otherwise the readers would reject them at once, and the
/// tests would prove little.
#[test]
fn every_sample_is_read_undamaged() {
    for target in records().iter().filter(|target| target.name != "open") {
        for sample in target.samples {
            assert!((target.run)(sample.as_bytes()), "{}: {sample}", target.name);
        }
    }
}

#[test]
fn opening_survives_damage() {
    let packed = SAMPLES.map(gzip);
    let plain = SAMPLES.iter().map(|sample| sample.as_bytes());
    let samples: Vec<&[u8]> = plain.chain(packed.iter().map(Vec::as_slice)).collect();
    drive(&samples, fuzz::open);
}
