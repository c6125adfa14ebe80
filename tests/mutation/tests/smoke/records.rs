//! Tests of the readers of records, on valid samples with all kinds of damage.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_mutation::damaged;
use tollgate_trace::ReadOptions;
use tollgate_trace::fuzz;
use tollgate_trace::fuzz::samples::{
    CONDOR_EVENTS, CONDOR_HISTORY, CONDOR_JSON, FTA, GWF, GWF_COMMAS, LOGINS, LSF, PBS, RRD_XML,
    SAMPLES, SGE, SLURM, SLURM_BARE, SLURM_EVENTS, SLURM_JSON, SWF, TABLE, rrd_binary,
};

/// Enough rounds to take every branch many times, in some seconds.
const ROUNDS: u64 = 15_000;

fn drive(samples: &[&[u8]], target: fn(&[u8])) {
    let others = SAMPLES.map(str::as_bytes);
    for round in 0..ROUNDS {
        target(&damaged(samples, &others, 0xf022, round));
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
        let read = tollgate_trace::read("sample", sample.as_bytes(), options);
        assert!(read.is_ok(), "{sample}: {}", read.unwrap_err());
    }
    let binary = tollgate_trace::rrd::parse(&rrd_binary()).unwrap();
    let xml = tollgate_trace::rrd::parse(RRD_XML.as_bytes()).unwrap();
    assert_eq!(binary.archives[0].len(), xml.archives[0].len());
    for sample in [LOGINS, FTA] {
        assert!(tollgate_trace::logins::read("sample", sample.as_bytes()).is_ok());
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
