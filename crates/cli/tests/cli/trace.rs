//! `tollgate trace` on small files.

use std::fs;

use serde_json::Value;

use crate::program::{file, folder, tollgate, tollgate_reading};

/// Five jobs of three users, one with an invalid number.
const SWF: &[u8] = b"\
; Computer: a small one
; UnixStartTime: 893466664
; TimeZoneString: UTC
; MaxProcs: 8
1 0 5 60 4 50.5 1000 4 900 2000 1 31 12 5 2 -1 -1 -1
2 4000 0 7200 8 7000 2000 8 3600 2000 0 32 12 6 2 -1 -1 -1
3 90000 100 30 1 10 500 1 30 2000 1 31 12 5 1 -1 -1 -1
4 90001 -1 -1 -1 -1 -1 16 3600 -1 5 33 13 -1 1 -1 -1 -1
5 80000 -1 ten 2 -1 -1 2 20
5 700000 50 90000 2 -1 -1 2 -1 -1 1 31 12 7 2 -1 -1 -1
";

/// A short job table with names, an SLA and a column that tollgate does not know.
const TABLE: &[u8] = b"\
job_id,submit_s,runtime_s,procs,estimate_s,user,account,executable,deadline_s,host
11,0,10.5,2,20,ann,physics,sim,40,node1
12,5.5,10,4,,bob,physics,\"a, b\",,node2
13,6,0,,5,ann,,sim,10,node1
";

#[test]
fn info_as_text() {
    let name = file("info.swf", SWF);
    insta::assert_snapshot!(tollgate(&["trace", "info", name]));
}

#[test]
fn info_of_a_clock_without_origin() {
    insta::assert_snapshot!(tollgate_reading(&["trace", "info", "-"], TABLE));
}

#[test]
fn info_as_json_and_csv_of_two_records() {
    let (swf, table) = (file("both.swf", SWF), file("both.csv", TABLE));
    let words = ["trace", "info", swf, table, "--format"];
    let json = tollgate(&[&words[..], &["json"]].concat()).answer();
    let json: Value = serde_json::from_str(&json).unwrap();
    let mut shown = json["records"][0].clone();
    let arrivals = shown["arrivals_by_day_and_hour"].take();
    insta::assert_snapshot!(format!("{shown:#}"));
    assert_eq!(arrivals[5][2], 1);
    let csv = tollgate(&[&words[..], &["csv"]].concat()).answer();
    insta::assert_snapshot!(csv);
    assert_eq!(csv.lines().count(), 3);

    let schema = tollgate(&["generate", "schema", "trace-info"]).answer();
    assert_eq!(tollgate(&["trace", "schema"]).answer(), schema);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let promised = schema["$defs"]["RecordKeys"]["properties"]
        .as_object()
        .unwrap();
    let kept = json["records"][0].as_object().unwrap();
    assert!(kept.keys().eq(promised.keys()));
}

#[test]
fn info_in_a_zone() {
    let name = file("zone.swf", SWF);
    let words = ["trace", "info", name, "--zone", "Middle/Earth"];
    insta::assert_snapshot!(tollgate(&words));
    let counts = tollgate(&["trace", "info", name, name, "--quiet"]);
    assert_eq!(counts.answer(), "5\n5\n");
}

#[test]
fn info_of_records_other_than_jobs() {
    let logins = b"computer,login,logout\na,100,400\nb,200,\na,500,600\nc,soon,\n";
    let logins = file("logins.csv", logins);
    let swf = file("beside-logins.swf", SWF);
    insta::assert_snapshot!(tollgate(&["trace", "info", logins]));
    let words = ["trace", "info", logins, swf, "--format"];
    let json = tollgate(&[&words[..], &["json", "-q"]].concat());
    assert_eq!(json.answer(), "3\n5\n");
    let json = tollgate(&[&words[..], &["json"]].concat()).answer();
    let json: Value = serde_json::from_str(&json).unwrap();
    insta::assert_snapshot!(format!("{:#}", json["others"]));
    let csv = tollgate(&[&words[..], &["csv"]].concat());
    assert!(
        csv.stderr.contains("1 record of something else than jobs"),
        "{csv}"
    );
    assert_eq!(csv.stdout.lines().count(), 2);
}

#[test]
fn a_folder_is_one_record_and_each_of_its_files_is_checked() {
    let rotated = folder().join("rotated");
    fs::create_dir_all(&rotated).unwrap();
    fs::write(rotated.join("one.csv"), TABLE).unwrap();
    fs::write(rotated.join("two.csv"), TABLE).unwrap();
    fs::write(rotated.join("README"), "not a record\n").unwrap();
    let counted = tollgate(&["trace", "info", "rotated", "-q"]);
    assert_eq!(counted.answer(), "6\n");
    insta::assert_snapshot!(tollgate(&["trace", "check", "rotated"]));
}

#[test]
fn conversion_to_swf() {
    let name = file("to-swf.csv", TABLE);
    insta::assert_snapshot!(tollgate(&["trace", "convert", name, "--to", "swf"]));
}

#[test]
fn conversion_to_a_job_table() {
    let name = file("to-csv.swf", SWF);
    insta::assert_snapshot!(tollgate(&["trace", "convert", name, "--to", "csv"]));
}

#[test]
fn input_file_can_be_replaced_by_compressed_output() {
    let name = file("own-place.csv", TABLE);
    let before = tollgate(&["trace", "convert", name, "--to", "csv", "-q"]).answer();
    assert_eq!(
        tollgate(&["trace", "convert", name, "-o", name]).code,
        Some(0)
    );
    assert_eq!(fs::read_to_string(folder().join(name)).unwrap(), before);

    let words = ["trace", "convert", name, "-o", "own-place.swf.gz"];
    assert_eq!(tollgate(&words).code, Some(0));
    let bytes = fs::read(folder().join("own-place.swf.gz")).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    let words = ["trace", "info", "own-place.swf.gz", "-q"];
    assert_eq!(tollgate(&words).answer(), "3\n");
}

#[test]
fn several_records_go_into_one_file_if_they_share_a_clock() {
    let (one, two) = (file("one.csv", TABLE), file("two.csv", TABLE));
    let both = tollgate(&["trace", "convert", one, two, "--to", "csv", "-q"]).answer();
    assert_eq!(both.lines().count(), 7);
    let swf = file("other-clock.swf", SWF);
    let words = ["trace", "convert", one, swf, "-o", "never.csv"];
    insta::assert_snapshot!(tollgate(&words));
    assert!(!folder().join("never.csv").exists());
    let left = fs::read_dir(folder()).unwrap().filter_map(Result::ok);
    let names = left.map(|entry| entry.file_name().into_string().unwrap());
    assert!(names.filter(|name| name.contains("never.csv")).count() == 0);
}

#[test]
fn an_output_without_a_format() {
    let name = file("no-format.csv", TABLE);
    insta::assert_snapshot!(tollgate(&["trace", "convert", name, "-o", "jobs.xyz"]));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_rejected_without_the_feature() {
    let name = file("no-parquet.csv", TABLE);
    insta::assert_snapshot!(tollgate(&["trace", "convert", name, "--to", "parquet"]));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_written() {
    let name = file("parquet.csv", TABLE);
    let words = ["trace", "convert", name, "-o", "jobs.parquet"];
    assert_eq!(tollgate(&words).code, Some(0));
    let bytes = fs::read(folder().join("jobs.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[test]
fn a_check_lists_each_finding_and_fails() {
    let name = file("check.swf", SWF);
    insta::assert_snapshot!(tollgate(&["trace", "check", name]));
    let words = ["trace", "check", name, "--format", "json"];
    let json = tollgate(&words);
    assert_eq!(json.code, Some(1));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    insta::assert_snapshot!(format!("{json:#}"));
    let words = [
        "trace", "check", name, "--format", "csv", "--only", "skipped",
    ];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn check_without_findings_succeeds() {
    let clean = b"; MaxNodes: 2\n1 0 5 60 4 50.5 1000 4 900 2000 1 31 12 5 2 -1 -1 -1\n";
    let ran = tollgate_reading(&["trace", "check", "-"], clean);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    let name = file("check-only.swf", SWF);
    let quiet = tollgate(&["trace", "check", name, "-q", "--only", "repaired,ignored"]);
    assert_eq!(
        (quiet.code, quiet.stdout.as_str()),
        (Some(0), ""),
        "{quiet}"
    );
    let nothing = tollgate_reading(&["trace", "check", "-"], b"1 2 3\n4 5 6\n");
    insta::assert_snapshot!(nothing);
}

#[test]
fn anonymous_jobs_under_a_seed() {
    let name = file("named.csv", TABLE);
    let words = ["trace", "anonymise", name, "--seed", "1", "--to"];
    insta::assert_snapshot!(tollgate(&[&words[..], &["csv"]].concat()));
    insta::assert_snapshot!(tollgate(&[&words[..], &["swf"]].concat()));
    let kept = tollgate(&[&words[..], &["csv", "--keep", "account,host"]].concat());
    insta::assert_snapshot!(kept.answer());
}

#[test]
fn same_key_gives_same_tokens_and_random_keys_differ() {
    let name = file("keyed.csv", TABLE);
    let words = ["trace", "anonymise", name, "--to", "csv", "-q"];
    let keyed = |name: &'static str, key: &[u8]| {
        let key = file(name, key);
        tollgate(&[&words[..], &["--key", key]].concat()).answer()
    };
    let one = keyed("one.key", b"sixteen bytes or more");
    assert_eq!(one, keyed("same.key", b"sixteen bytes or more"));
    assert_ne!(one, keyed("other.key", b"sixteen other bytes.."));
    for secret in ["ann", "bob", "physics", "sim", "node1"] {
        assert!(!one.contains(secret), "{secret}");
    }
    assert_ne!(tollgate(&words).answer(), tollgate(&words).answer());
    let short = file("short.key", b"0123");
    insta::assert_snapshot!(tollgate(&[&words[..], &["--key", short]].concat()));
    insta::assert_snapshot!(tollgate(&[&words[..], &["--key", "no.key"]].concat()));
}

#[test]
fn generated_jobs() {
    let words = ["trace", "synth", "--jobs", "3", "--to"];
    insta::assert_snapshot!(tollgate(&[&words[..], &["swf"]].concat()));
    insta::assert_snapshot!(tollgate(&[&words[..], &["csv", "--seed", "2"]].concat()));
    insta::assert_snapshot!(tollgate(&["trace", "synth", "--jobs", "0", "--to", "csv"]));
}

#[test]
fn generated_jobs_for_a_machine_of_any_size() {
    let words = ["trace", "synth", "--to", "swf", "--jobs", "3", "--nodes"];
    let wide = ["93312", "--max-width", "8192", "--load", "0.3"];
    insta::assert_snapshot!(tollgate(&[&words[..], &wide].concat()));
    insta::assert_snapshot!(tollgate(&[&words[..], &["8", "--max-width", "9"]].concat()));
    insta::assert_snapshot!(tollgate(&[&words[..], &["8", "--load", "0.01"]].concat()));
    let words = ["trace", "synth", "--to", "swf", "--load", "0.3"];
    insta::assert_snapshot!(tollgate(&words));
}

/// A replay takes the size of the machine from the record.
#[test]
fn generated_jobs_run_on_the_machine_for_which_they_were_generated() {
    let words = ["trace", "synth", "-q", "-o", "wide.swf.gz", "--jobs", "20"];
    assert_eq!(
        tollgate(&[&words[..], &["--nodes", "1000"]].concat()).code,
        Some(0)
    );
    let words = [
        "replay",
        "wide.swf.gz",
        "-q",
        "--policy",
        "easy",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_str(&tollgate(&words).answer()).unwrap();
    assert_eq!(json["settings"]["nodes"], 1000, "{json:#}");
}

/// The generated jobs are the jobs that `replay` runs.
#[test]
fn generated_jobs_run_as_the_embedded_workload_does() {
    let words = ["trace", "synth", "-q", "-o", "embedded.swf"];
    assert_eq!(tollgate(&words).code, Some(0));
    let words = ["-q", "--policy", "easy", "--format", "csv"];
    let embedded = tollgate(&[&["replay"][..], &words].concat()).answer();
    let written = tollgate(&[&["replay", "embedded.swf"][..], &words].concat()).answer();
    assert_eq!(embedded, written);
}

#[test]
fn help() {
    insta::assert_snapshot!(tollgate(&["trace", "--help"]));
    insta::assert_snapshot!(tollgate(&["trace", "convert", "--help"]));
    insta::assert_snapshot!(tollgate(&["trace", "anonymise", "--help"]));
    insta::assert_snapshot!(tollgate(&["trace", "synth", "--help"]));
}
