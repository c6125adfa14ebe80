//! Every schedule passes its verification: all policies, in all markets.

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
fn where_nobody_pays() {
    check("none");
}

#[test]
fn where_the_provider_sets_prices() {
    check("commodity");
}

#[test]
fn where_users_bid() {
    check("bid");
}

#[test]
fn policies_away_from_their_markets() {
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
