//! Tests of traces of every format, from a file, a directory or standard input.

use std::fs;

use crate::program::{file, folder, tollgate, tollgate_reading};

const WORDS: [&str; 6] = ["--policy", "easy", "--format", "csv", "--nodes", "8"];

/// A job of 60 seconds on 2 processors, submitted at second 1000000100, in each format.
const RECORDS: [(&str, &str); 9] = [
    (
        "record.swf",
        "7 1000000100 60 60 2 -1 -1 2 3600 -1 1 1 1 1 1 -1 -1 -1\n",
    ),
    (
        "record.gwf",
        "7 1000000100 60 60 2 -1 -1 2 3600 -1 1 U1 G1 X1 Q1 -1 -1 -1 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 \
         -1 -1\n",
    ),
    (
        "record.acct",
        "12/21/2009 15:28:00;E;7;user=ann ctime=1000000100 start=1000000160 end=1000000220 \
         exec_host=n/0+n/1 Resource_List.walltime=01:00:00\n",
    ),
    (
        "record.lsf",
        "\"JOB_FINISH\" \"10.108\" 1000000220 7 1 33 2 1000000100 0 0 1000000160 \"ann\" \"normal\" \"\" \
         \"\" \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.7\" 0 1 \"2*n1\" 64 1.0 \"\" \"a.out\" 1.5 0.5 10 0 -1 0 0 1 1 \
         0 1 1 -1 0 0 0 1 1 -1 \"\" \"p\" 0 1 \"\" \"\" 0 4096 0 \"\" \"\" \"\" \"\" 0 \"\" 0 \"\" -1 \"\" \"\" \"\" \"\" 3600\n",
    ),
    (
        "record.json",
        "{\"jobs\": [{\"job_id\": 7, \"state\": {\"current\": [\"COMPLETED\"]}, \"required\": {\"CPUs\": 2}, \
         \"time\": {\"submission\": 1000000100, \"start\": 1000000160, \"end\": 1000000220, \"elapsed\": 60, \
         \"limit\": {\"set\": true, \"infinite\": false, \"number\": 60}}}]}\n",
    ),
    (
        "record.ads",
        "ClusterId = 7\nQDate = 1000000100\nJobStatus = 4\nJobCurrentStartDate = 1000000160\n\
         CompletionDate = 1000000220\nCommittedTime = 60\nRequestCpus = 2\nMaxWallTime = 60\n",
    ),
    (
        "record.ads.json",
        "[{\"ClusterId\": 7, \"QDate\": 1000000100, \"JobStatus\": 4, \"JobCurrentStartDate\": 1000000160, \
         \"CompletionDate\": 1000000220, \"CommittedTime\": 60, \"RequestCpus\": 2, \"MaxWallTime\": 60}]\n",
    ),
    (
        "record.events",
        "-dt 1000000100 -e submit_batch_job | -sim-walltime 60 -J jobid_7 -n 2 -t 01:00:00 a.job\n",
    ),
    (
        "record.csv",
        "job_id,submit_s,runtime_s,procs,estimate_s\n7,1000000100,60,2,3600\n",
    ),
];

#[test]
fn every_format_gives_the_same_answer() {
    let mut answers = RECORDS.map(|(name, text)| {
        let words = [&["replay", file(name, text.as_bytes())], &WORDS[..]].concat();
        let answer = tollgate(&words).answer();
        assert!(answer.contains("easy,1,1,0"), "{name}: {answer}");
        answer
    });
    let text = RECORDS[2].1;
    let words = [&["replay", "-"], &WORDS[..]].concat();
    answers[0] = tollgate_reading(&words, text.as_bytes()).answer();
    for (answer, (name, _)) in answers.iter().zip(RECORDS) {
        assert_eq!(*answer, answers[1], "{name}");
    }
}

#[test]
fn an_event_log_and_a_folder() {
    let log = "000 (7.0.0) 2024-03-20 10:00:00 a\n...\n001 (7.0.0) 2024-03-20 10:01:00 b\n...\n\
               004 (7.0.0) 2024-03-20 10:01:30 c\n...\n001 (7.0.0) 2024-03-20 10:02:00 b\n...\n\
               005 (7.0.0) 2024-03-20 10:03:00 d\n...\n";
    let path = folder().join("logs");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("a.log"), log).unwrap();
    fs::write(path.join("b.log"), log.replace("(7.", "(8.") + "foo\n...\n").unwrap();
    let words = [&["replay", "logs"], &WORDS[..]].concat();
    insta::assert_snapshot!(tollgate(&words));
}

#[test]
fn file_without_jobs_is_rejected() {
    let rrd = file(
        "load.rrd",
        b"RRD\x000003\0\0\0\0/%\xc0\xc7C+\x1f[\x10\0\0\0",
    );
    insta::assert_snapshot!(tollgate(&["replay", rrd]));
    let logins = file(
        "logins.csv",
        b"\"datetime\",\"location\"\n\"2016-01-31 19:57:45\",\"HAL\"\n",
    );
    insta::assert_snapshot!(tollgate(&["replay", logins]));
}
