//! The fuzz targets, driven without a fuzzer: valid samples, damaged in every way at once.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_workload::fuzz;
use tollgate_workload::stream::{Family, Purpose, Stream};

/// Enough to take every branch many times, in about a second.
const ROUNDS: u64 = 15_000;

const SWF: &str = "; MaxProcs: 128\n; MaxNodes: 400 (48 interactive)\n; UnixStartTime: 893466664\n\
    1 0 5 40.25 489.00 3436.5 -1 4 900 -1 1 7 2 11 3 -1 -1 -1 {12,12} q_1d 1:ppn=4\r\n\
    2 10 -1 60 8\n3 12 -1 -1 -1 -1 -1 16 3600 -1 0 7 2 12 3 -1 -1 -1\n\n4 9 0 1e3 1\n";

const TABLE: &str = "job_id,submit_s,runtime_s,procs,estimate_s,user,group,executable,queue,\
    deadline_s,budget,penalty_per_s,site\n\
    1,0,10.5,4,20,ann,,a.out,,60,5.25,0.1,north\n\
    2,5,-1,1,30,,staff,,long,NaN,,,\"so, th\"\n\
    3,4.000001,7,2,,bob,staff,b.out,long,1e3,0,0,\"a \"\"quoted\"\" line\nbreak\"\n";

/// Bytes that mean something to one of the parsers.
const TOKENS: [&[u8]; 14] = [
    b"\n",
    b"\r",
    b",",
    b"\"",
    b";",
    b" ",
    b"-",
    b".",
    b"-1",
    b"1e999",
    b"NaN",
    b"\0",
    b"\xff",
    b"99999999999999999999",
];

fn below(stream: &mut Stream, limit: usize) -> usize {
    (stream.bits() % limit.max(1) as u64) as usize
}

/// One change at a random place.
fn damage(data: &mut Vec<u8>, stream: &mut Stream) {
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
            data.splice(to..to, piece);
        }
        _ => {
            let other = [SWF, TABLE][below(stream, 2)].as_bytes();
            let from = below(stream, other.len());
            data.splice(at.., other[from..].iter().copied());
        }
    }
}

fn drive(samples: &[&[u8]], target: fn(&[u8])) {
    let family = Family::new(0xf022, Purpose::Sessions);
    for round in 0..ROUNDS {
        let mut stream = family.stream(round);
        let mut data = samples[below(&mut stream, samples.len())].to_vec();
        for _ in 0..=below(&mut stream, 4) {
            damage(&mut data, &mut stream);
        }
        target(&data);
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn swf_survives_damage() {
    drive(&[SWF.as_bytes()], fuzz::swf);
}

#[test]
fn tables_survive_damage() {
    drive(&[TABLE.as_bytes()], fuzz::table);
}

#[test]
fn opening_survives_damage() {
    let (swf, table) = (gzip(SWF), gzip(TABLE));
    drive(
        &[SWF.as_bytes(), TABLE.as_bytes(), &swf, &table],
        fuzz::open,
    );
}
