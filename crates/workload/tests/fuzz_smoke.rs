//! Runs the fuzz targets without a fuzzer, on valid samples with all kinds of damage.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_workload::ReadOptions;
use tollgate_workload::fuzz;
use tollgate_workload::fuzz::samples::{
    CONDOR_EVENTS, CONDOR_HISTORY, CONDOR_JSON, FTA, GWF, GWF_COMMAS, LOGINS, LSF, PBS, RRD_XML,
    SAMPLES, SGE, SLURM, SLURM_BARE, SLURM_EVENTS, SLURM_JSON, SWF, TABLE, rrd_binary,
};
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

/// Enough rounds to take every branch many times, in about a second.
const ROUNDS: u64 = 15_000;

/// Byte strings that have a meaning to one of the parsers.
const TOKENS: [&[u8]; 28] = [
    b":",
    b"|",
    b"=",
    b"/",
    b"*",
    b"4294967295",
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
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"...",
    b"<row>",
    b"\xff\xff\xff\xff",
];

fn below(stream: &mut RandomStream, limit: usize) -> usize {
    (stream.bits() % limit.max(1) as u64) as usize
}

/// Applies one change at a random place.
fn damage(data: &mut Vec<u8>, stream: &mut RandomStream) {
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
            let other = SAMPLES[below(stream, SAMPLES.len())].as_bytes();
            let from = below(stream, other.len());
            data.splice(at.., other[from..].iter().copied());
        }
    }
}

fn drive(samples: &[&[u8]], target: fn(&[u8])) {
    let family = StreamFamily::new(0xf022, StreamPurpose::Sessions);
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
fn grid_engine_survives_damage() {
    drive(&[SGE.as_bytes()], fuzz::sge);
}

#[test]
fn slurm_survives_damage() {
    drive(&[SLURM.as_bytes(), SLURM_BARE.as_bytes()], fuzz::slurm);
}

#[test]
fn pbs_survives_damage() {
    drive(&[PBS.as_bytes()], fuzz::pbs);
}

#[test]
fn grid_workloads_survive_damage() {
    drive(&[GWF.as_bytes(), GWF_COMMAS.as_bytes()], fuzz::gwf);
}

#[test]
fn lsf_survives_damage() {
    drive(&[LSF.as_bytes()], fuzz::lsf);
}

#[test]
fn slurm_in_json_survives_damage() {
    drive(&[SLURM_JSON.as_bytes()], fuzz::slurm_json);
}

#[test]
fn simulator_events_survive_damage() {
    drive(&[SLURM_EVENTS.as_bytes()], fuzz::slurm_events);
}

#[test]
fn condor_survives_damage() {
    drive(&[CONDOR_HISTORY.as_bytes()], fuzz::condor_history);
    drive(&[CONDOR_JSON.as_bytes()], fuzz::condor_json);
    drive(&[CONDOR_EVENTS.as_bytes()], fuzz::condor_events);
}

#[test]
fn databases_survive_damage() {
    let binary = rrd_binary();
    drive(&[RRD_XML.as_bytes(), &binary], fuzz::rrd);
}

#[test]
fn logins_survive_damage() {
    drive(&[LOGINS.as_bytes(), FTA.as_bytes()], fuzz::logins);
}

/// The undamaged samples must be valid: otherwise the readers would reject them at once, and the
/// test would prove little.
#[test]
fn every_sample_is_read_undamaged() {
    let options = ReadOptions::default();
    for sample in &SAMPLES[..14] {
        let read = tollgate_workload::read("sample", sample.as_bytes(), options);
        assert!(read.is_ok(), "{sample}: {}", read.unwrap_err());
    }
    let binary = tollgate_workload::rrd::parse(&rrd_binary()).unwrap();
    let xml = tollgate_workload::rrd::parse(RRD_XML.as_bytes()).unwrap();
    assert_eq!(binary.archives[0].len(), xml.archives[0].len());
    for sample in [LOGINS, FTA] {
        assert!(tollgate_workload::logins::read("sample", sample.as_bytes()).is_ok());
    }
}

#[test]
fn tables_survive_damage() {
    drive(&[TABLE.as_bytes()], fuzz::table);
}

#[test]
fn opening_survives_damage() {
    let packed = SAMPLES.map(gzip);
    let plain = SAMPLES.iter().map(|sample| sample.as_bytes());
    let samples: Vec<&[u8]> = plain.chain(packed.iter().map(Vec::as_slice)).collect();
    drive(&samples, fuzz::open);
}
