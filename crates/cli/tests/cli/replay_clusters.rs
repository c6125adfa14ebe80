//! `tollgate replay --clusters`: jobs that go to one of several clusters.

use serde_json::Value;

use crate::program::{file, tollgate};

const NORTH: &[u8] = b"nodes = 64\npolicy = \"plan\"\n";
const SOUTH: &[u8] = b"nodes = 64\nspeeds = \"64*1.5\"\npolicy = \"edf-bf\"\n";

#[test]
fn clusters_are_compared_with_each_alone() {
    let (north, south) = (
        file("shown-north.toml", NORTH),
        file("shown-south.toml", SOUTH),
    );
    let clusters = format!("{north},{south}");
    insta::assert_snapshot!(tollgate(&[
        "replay",
        "--last",
        "300",
        "--clusters",
        &clusters
    ]));
}

#[test]
fn same_clusters_give_the_same_bytes_on_any_number_of_threads() {
    let (north, south) = (
        file("bytes-north.toml", NORTH),
        file("bytes-south.toml", SOUTH),
    );
    let clusters = format!("{north},{south}");
    let run = |threads| {
        let words = [
            "replay", "--last", "200", "--sites", &clusters, "--format", "json",
        ];
        tollgate(&[&words[..], &["--threads", threads]].concat()).answer()
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    let report: Value = serde_json::from_str(&one).unwrap();
    let results = report["results"].as_array().unwrap();
    let routings: Vec<&str> = results
        .iter()
        .map(|row| row["routing"].as_str().unwrap())
        .collect();
    assert_eq!(
        routings,
        [
            "bytes-north alone",
            "bytes-south alone",
            "users at home",
            "jobs at random",
            "earliest quote",
            "cheapest quote",
            "surest quote",
        ]
    );
    for row in results {
        let jobs = row["jobs_by_cluster"].as_array().unwrap();
        let sum: u64 = jobs.iter().map(|jobs| jobs.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), row["submitted"].as_u64(), "{row}");
    }
}

#[test]
fn cheapest_quote_pays_less_where_prices_differ() {
    let cluster = |name, market: &str| {
        let text = format!("nodes = 64\npolicy = \"fcfs-bf\"\nmarket = \"{market}\"\n");
        file(name, text.as_bytes())
    };
    let clusters = [
        cluster("free.toml", "none"),
        cluster("paid.toml", "commodity"),
    ]
    .join(",");
    let words = [
        "replay",
        "--last",
        "300",
        "--clusters",
        &clusters,
        "--prefer",
        "cheapest,earliest",
    ];
    let answer = tollgate(&[&words[..], &["--format", "csv", "--quiet"]].concat()).answer();
    let mut rows = csv::Reader::from_reader(answer.as_bytes());
    let header = rows.headers().unwrap().clone();
    let column = header.iter().position(|name| name == "utility").unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let utility = |routing: &str| {
        let row = rows.iter().find(|row| &row[0] == routing).unwrap();
        row[column].parse::<f64>().unwrap()
    };
    assert!(
        utility("cheapest quote") <= utility("earliest quote"),
        "{answer}"
    );
    assert_eq!(rows.len(), 2 + 2 + 2);
}

#[test]
fn wrong_clusters_are_named() {
    let north = file("wrong-north.toml", NORTH);
    let nothing = file("wrong-policy.toml", b"nodes = 4\npolicy = \"no-such\"\n");
    let twice = format!("{north},{north}");
    for (words, code, expected) in [
        (
            vec!["--clusters", nothing],
            2,
            "wrong-policy.toml: policy: ",
        ),
        (
            vec!["--clusters", &twice],
            2,
            "two clusters are called `wrong-north`",
        ),
        (
            vec!["--clusters", "no-such.toml"],
            1,
            "no-such.toml: cannot be read",
        ),
        (
            vec!["--clusters", north, "--policy", "easy"],
            2,
            "cannot be used with",
        ),
        (vec!["--prefer", "earliest"], 2, "there is one cluster"),
        (
            vec!["--clusters", north, "--world", "campus"],
            2,
            "unexpected argument '--clusters'",
        ),
    ] {
        let wrong = tollgate(&[&["replay", "--last", "50"], &words[..]].concat());
        assert_eq!(wrong.code, Some(code), "{words:?}: {wrong}");
        assert!(wrong.stderr.contains(expected), "{words:?}: {wrong}");
    }
}
