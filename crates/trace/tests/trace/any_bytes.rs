//! Tests that no reader panics on any bytes.

use proptest::prelude::*;
use tollgate_trace::fuzz;

const TARGETS: [fn(&[u8]); 15] = [
    fuzz::swf,
    fuzz::gwf,
    fuzz::sge,
    fuzz::slurm,
    fuzz::slurm_json,
    fuzz::slurm_events,
    fuzz::pbs,
    fuzz::lsf,
    fuzz::condor_history,
    fuzz::condor_json,
    fuzz::condor_events,
    fuzz::table,
    fuzz::rrd,
    fuzz::logins,
    fuzz::open,
];

/// Generates lines of words that occur in records, and of other words.
fn any_record() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[0-9]{1,20}",
        "-?[0-9]{1,4}(\\.[0-9]{1,3})?",
        "\"[a-z \"]{0,5}\"?",
        "(JobID|State|Submit|ClusterId|QDate|JobStatus|jobs|time|\"JOB_FINISH\" \"10.1\")",
        "(000|001|004|005|009) \\(7\\.0\\.0\\) 0[1-9]/2[0-9] 10:0[0-9]:00",
        "[|:;,=\\[\\]{}()<>#*\\\\ \\-]{1,3}",
        "\\.\\.\\.",
        "[^\\x00]{0,4}",
    ];
    let line = proptest::collection::vec(word, 0..50).prop_map(|words| words.join(" "));
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn readers_survive_any_bytes(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        TARGETS.iter().for_each(|target| target(&data));
    }

    #[test]
    fn readers_survive_any_record_words(text in any_record()) {
        TARGETS.iter().for_each(|target| target(text.as_bytes()));
    }

    #[test]
    fn rrd_reader_survives_any_tail(tail in proptest::collection::vec(any::<u8>(), 0..600), wide in any::<bool>()) {
        let mut data = b"RRD\x000003\0".to_vec();
        data.resize(if wide { 16 } else { 12 }, 0);
        data.extend(8.642135E130_f64.to_le_bytes());
        data.extend(tail);
        fuzz::rrd(&data);
    }
}
