//! Tests that no reader panics on any bytes.

use proptest::prelude::*;
use tollgate_mutation::records;

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

/// Reads `data` in every format, and as each other kind of record.
fn read_by_all(data: &[u8]) {
    for target in records() {
        let _ = (target.run)(data);
    }
}

proptest! {
    #[test]
    fn readers_survive_any_bytes(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_by_all(&data);
    }

    #[test]
    fn readers_survive_any_record_words(text in any_record()) {
        read_by_all(text.as_bytes());
    }
}
