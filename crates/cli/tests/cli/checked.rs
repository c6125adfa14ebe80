//! Tests that every schedule passes its verification, under all policies and in all markets.

use crate::program::tollgate;

#[track_caller]
fn check(market: &str) {
    let words = [
        "replay", "--last", "1000", "--check", "--format", "csv", "--market", market,
    ];
    let answer = tollgate(&words).answer();
    assert!(answer.lines().count() > 1);
}

#[test]
fn schedules_without_a_market_are_valid() {
    check("none");
}

#[test]
fn schedules_in_the_commodity_market_are_valid() {
    check("commodity");
}

#[test]
fn schedules_in_the_bid_market_are_valid() {
    check("bid");
}

#[test]
fn schedules_of_policies_in_other_markets_are_valid() {
    let policies = "fcfs,easy,easy:pass=event,conservative,conservative:compress=false,edf,sjf-bf";
    for market in ["commodity", "bid"] {
        let words = [
            "replay", "--last", "500", "--check", "-q", "--policy", policies,
        ];
        tollgate(&[&words[..], &["--market", market]].concat()).answer();
    }
    let words = [
        "replay",
        "--last",
        "500",
        "--check",
        "--policy",
        "libra-dollar,libra",
        "-q",
    ];
    let answer = tollgate(&[&words[..], &["--format", "csv"]].concat()).answer();
    let rows: Vec<&str> = answer.lines().collect();
    let measures = |row: &str| row.split_once(',').unwrap().1.to_owned();
    assert_eq!(
        measures(rows[1]),
        measures(rows[2]),
        "outside its market it is libra"
    );
}
