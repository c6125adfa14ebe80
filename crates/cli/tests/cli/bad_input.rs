//! Tests that every wrong input gives one message with file, line, field and expected value, and an
//! exit code.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::program::{command, file, tollgate, tollgate_reading};

/// Four valid jobs on a machine of 8 processors.
const SWF: &str = "\
; MaxProcs: 8
1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 -1 -1 -1
2 5 -1 10 8 -1 -1 8 20 -1 1 1 1 -1 -1 -1 -1 -1
3 6 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 -1 -1 -1
4 9 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1
";

/// Replays a file of these bytes under the policy with the shortest answer.
fn replay(name: &'static str, bytes: &[u8]) -> String {
    let ran = tollgate(&[
        "replay",
        file(name, bytes),
        "--policy",
        "easy",
        "--format",
        "csv",
    ]);
    ran.to_string()
}

/// Replays [`SWF`] with one more line, which is line 6.
fn with_line(name: &'static str, line: &str) -> String {
    replay(name, format!("{SWF}{line}\n").as_bytes())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

#[test]
fn missing_file() {
    insta::assert_snapshot!(tollgate(&["replay", "no-such-file.swf"]));
}

#[test]
fn a_whole_gzip_is_fine_and_a_truncated_one_is_not() {
    let whole = gzip(&SWF.repeat(50));
    assert!(replay("whole.swf.gz", &whole).starts_with("exit code: 0"));
    insta::assert_snapshot!(replay("truncated.swf.gz", &whole[..whole.len() / 2]));
}

#[test]
fn a_binary_file() {
    insta::assert_snapshot!(replay("binary.swf", b"\x7fELF\x02\x01\x01\0\0\0\0\0"));
}

#[test]
fn text_of_no_known_format() {
    insta::assert_snapshot!(replay("letter.txt", b"Dear operator,\nplease\n"));
}

#[test]
fn a_line_with_3_fields() {
    insta::assert_snapshot!(with_line("short.swf", "5 10 -1"));
}

#[test]
fn fields_after_the_18th_are_ignored() {
    let line = "5 10 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1 node1 node2";
    insta::assert_snapshot!(with_line("long.swf", line));
}

#[test]
fn text_in_a_number() {
    insta::assert_snapshot!(with_line("text.swf", "5 10 -1 ten 1 -1 -1 1 20"));
}

#[test]
fn negative_values() {
    insta::assert_snapshot!(with_line("negative.swf", "5 -10 -1 10 1 -1 -1 1 20"));
}

#[test]
fn absurd_values() {
    insta::assert_snapshot!(with_line(
        "absurd.swf",
        "5 10 -1 1e300 99999999999 -1 -1 1 20"
    ));
}

#[test]
fn submit_times_out_of_order() {
    insta::assert_snapshot!(with_line("order.swf", "5 3 -1 10 1 -1 -1 1 20"));
}

#[test]
fn findings_outside_the_selected_rows_are_reported() {
    let name = file("cut.swf", format!("1 2 3\n{SWF}").as_bytes());
    let words = [
        "replay", name, "--last", "1", "--policy", "easy", "--format", "csv",
    ];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn jobs_wider_than_the_machine() {
    let name = file("wide.swf", SWF.as_bytes());
    let words = ["replay", name, "--nodes", "3", "--policy", "easy,libra"];
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn impossible_machine_size() {
    insta::assert_snapshot!(replay(
        "huge.swf",
        SWF.replace(": 8", ": 4000000000").as_bytes()
    ));
}

#[test]
fn machine_beyond_a_million_nodes_needs_an_explicit_size() {
    let text = SWF.replace(": 8", ": 1000001");
    let name = file("million.swf", text.as_bytes());
    let words = ["replay", name, "--policy", "easy", "--format", "csv"];
    let ran = tollgate(&words);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.stderr.contains("expected at most 1000000 nodes"),
        "{ran}"
    );
    let meant = [&words[..], &["--nodes", "1000001"]].concat();
    tollgate(&meant).answer();
    let beyond = [&words[..], &["--nodes", "10000001"]].concat();
    let ran = tollgate(&beyond);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.stderr.contains("expected at most 10000000 nodes"),
        "{ran}"
    );
}

#[test]
fn gzip_beyond_the_limit_is_rejected_with_a_hint() {
    let name = file("long.swf.gz", &gzip(&SWF.repeat(50)));
    let words = ["replay", name, "--policy", "easy", "--format", "csv"];
    let with = |limit: &str| {
        let mut command = command(&words);
        let output = command
            .env("TOLLGATE_MAX_DECOMPRESSED", limit)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    };
    assert_eq!(with("1M").0, Some(0));
    let (code, stderr) = with("8K");
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(stderr);
    let (code, stderr) = with("plenty");
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("TOLLGATE_MAX_DECOMPRESSED: expected a number of bytes as in 16G"),
        "{stderr}"
    );
}

#[test]
fn zero_jobs() {
    insta::assert_snapshot!("an_empty_file", replay("empty.swf", b""));
    insta::assert_snapshot!("only_comments", replay("comments.swf", b"; MaxProcs: 8\n"));
    insta::assert_snapshot!("only_bad_lines", replay("bad.swf", b"1 2 3\n4 5 6\n"));
    let never = "1 0 -1 -1 4 -1 -1 4 20\n2 5 -1 -1 8 -1 -1 8 20\n";
    insta::assert_snapshot!("nothing_ran", replay("never.swf", never.as_bytes()));
}

#[test]
fn an_empty_standard_input() {
    insta::assert_snapshot!(tollgate_reading(&["replay", "-"], b""));
}

#[test]
fn non_numeric_deadlines() {
    let table = "job_id,submit_s,runtime_s,procs,deadline_s\n1,0,5,1,NaN\n2,1,5,1,20\n3,2,5,1,-4\n";
    insta::assert_snapshot!(replay("nan.csv", table.as_bytes()));
}

#[test]
fn table_without_a_required_column() {
    insta::assert_snapshot!(replay("column.csv", b"job_id,submit_s,procs\n1,0,1\n"));
}

#[test]
fn an_unknown_policy() {
    insta::assert_snapshot!(tollgate(&["replay", "--policy", "easy,fifo"]));
}

#[test]
fn an_unknown_parameter_of_a_policy() {
    insta::assert_snapshot!(tollgate(&["replay", "--policy", "libra:order=sjf"]));
}

#[test]
fn invalid_value_of_a_policy_parameter() {
    insta::assert_snapshot!(tollgate(&["replay", "--policy", "easy:order=size"]));
}

#[test]
fn budget_policy_without_a_market() {
    insta::assert_snapshot!(tollgate(&["replay", "--policy", "easy,first-reward"]));
}

#[test]
fn an_unknown_market() {
    insta::assert_snapshot!(tollgate(&["replay", "--market", "barter"]));
}

#[test]
fn settings_out_of_range() {
    for (name, flag, value) in [
        ("high_urgency", "--high-urgency", "20"),
        ("arrival_factor_negative", "--arrival-factor", "-1"),
        ("inaccuracy_nan", "--inaccuracy", "NaN"),
        ("nodes_zero", "--nodes", "0"),
        ("last_zero", "--last", "0"),
        ("seed_negative", "--seed", "-1"),
        ("deadline_low_text", "--deadline-low", "four"),
    ] {
        insta::assert_snapshot!(name, tollgate(&["replay", flag, value]));
    }
}

#[test]
fn speeds_that_are_not_those_of_the_machine() {
    for (name, speeds) in [
        ("speeds_of_too_few_nodes", "64*1,63*1.5"),
        ("speeds_without_a_node_for_the_rest", "128*1,2"),
        ("speeds_with_a_zero", "64*1,64*0"),
        ("speeds_with_nan", "64*1,64*NaN"),
        ("speeds_with_two_rests", "1,2"),
    ] {
        let words = ["replay", "--last", "5", "-q", "--speeds", speeds];
        insta::assert_snapshot!(name, tollgate(&words));
    }
}

#[test]
fn an_output_file_that_cannot_be_written() {
    let words = [
        "replay",
        "--last",
        "5",
        "--policy",
        "easy",
        "-q",
        "--jobs-out",
    ];
    insta::assert_snapshot!(
        "no_such_folder",
        tollgate(&[&words[..], &["none/rows.csv"]].concat())
    );
    insta::assert_snapshot!("standard_output", tollgate(&[&words[..], &["-"]].concat()));
    #[cfg(not(feature = "parquet"))]
    insta::assert_snapshot!(
        "no_parquet",
        tollgate(&[&words[..], &["rows.parquet"]].concat())
    );
}

#[test]
fn words_of_other_batch_systems_get_a_pointer() {
    let words = [
        vec!["submit", "--time", "10", "job.sh"],
        vec!["submit", "--wrap=echo hi"],
        vec!["submit", "-J", "name", "job.sh"],
        vec!["quote", "--cpus-per-task=4", "job.sh"],
        vec!["bjobs"],
        vec!["sumbit", "job.sh"],
    ];
    let messages = words.map(|words| tollgate(&words).to_string());
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn memory_without_a_unit_is_rejected() {
    insta::assert_snapshot!(tollgate(&["submit", "--mem", "2", "job.sh"]));
}
