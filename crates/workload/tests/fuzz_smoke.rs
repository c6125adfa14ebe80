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

const SGE: &str = "# Version: 6.2u5\n\
    long:node1:staff:ann:a.out:77:sge:0:1310761621:1311095354:1311095414:0:0:60:60.05:0.08:104188.0:\
    0:0:0:0:28001:0:0:0.0:24:0:0:0:41:549:NONE:dept:mpi:4:3:60.13:7.3:0.0:-l h_rt=1:00:00 -pe mpi 4:\
    0.0:NONE:189153280.0:0:0\n\
    long:node1:staff:ann:a.out:78:sge:0:1310761621000:0:0:0:0:60:60.05:0.08:104188.0:\
    0:0:0:0:28001:0:0:0.0:24:0:0:0:41:549:NONE:dept:mpi:4:3:60.13:7.3:0.0:-l h_rt=36000:\
    0.0:NONE:189153280.0:0:0:a:b:c:d:e:f:g:h:i\n";

const SLURM: &str = "JobID|JobIDRaw|User|State|Submit|Start|End|AllocCPUS|Timelimit|JobName\n\
    7_1|8|ann|COMPLETED|2016-12-22T07:15:12|2016-12-22T07:16:12|2016-12-23T07:15:12|4|1-00:00:00|a|b\n\
    7_1.batch|8.batch||COMPLETED|2016-12-22T07:16:12|2016-12-22T07:16:12||4||batch\n\
    9||bob|CANCELLED by 1|2016-12-22T07:15:13|Unknown|Unknown|0|Partition_Limit|c\n";

const SLURM_BARE: &str = "163485|163485|c|black|q|a|g|1|ann|2|2016-12-22T07:15:12|\
    2016-12-22T07:15:12|2016-12-22T07:15:13|2017-01-01T20:42:19|10-13:27:06|0:0|FAILED|1|12|12|\
    31000Mn|cpu=12|cpu=12|37-14:00:00|n1|a.out\n";

const PBS: &str = "12/21/2009 15:27:00;S;6[3].edge;user=ann\n\
    12/21/2009 15:28:00;E;6[3].edge;user=ann group=staff jobname=a.out queue=long ctime=100 \
    qtime=101 start=160 end=220 exec_host=n-1/7+n-1/0*13+n/0-3\n,7 Resource_List.ncpus=8\n\
    Resource_List.walltime=04:00:00\n\
    12/21/2009 15:29:00;E;7;user=bob ctime=100 resources_used.ncpus=3\r\n";

/// Bytes that mean something to one of the parsers.
const TOKENS: [&[u8]; 20] = [
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
];

fn below(stream: &mut Stream, limit: usize) -> usize {
    (stream.bits() % limit.max(1) as u64) as usize
}

const SAMPLES: [&str; 6] = [SWF, TABLE, SGE, SLURM, SLURM_BARE, PBS];

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
            let other = SAMPLES[below(stream, SAMPLES.len())].as_bytes();
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
