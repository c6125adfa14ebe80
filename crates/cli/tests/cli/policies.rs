//! `tollgate policies`.

use crate::program::tollgate;

#[test]
fn policies_table_shows_paper_markets_and_parameters() {
    insta::assert_snapshot!(tollgate(&["policies"]));
}

#[test]
fn policies_as_csv() {
    insta::assert_snapshot!(tollgate(&["policies", "--format", "csv"]));
}

#[test]
fn policies_as_json_match_the_short_list() {
    let json = tollgate(&["policies", "--format", "json"]).answer();
    let listed: serde_json::Value = serde_json::from_str(&json).unwrap();
    let listed = listed.as_array().unwrap().iter();
    let names: Vec<&str> = listed
        .map(|policy| policy["policy"].as_str().unwrap())
        .collect();
    let short = tollgate(&["policies", "--quiet"]).answer();
    assert_eq!(short.lines().collect::<Vec<_>>(), names);
    assert_eq!(names.len(), 15);
}

#[test]
fn policies_of_the_federation_world() {
    insta::assert_snapshot!(tollgate(&["policies", "--world", "federation"]));
}

#[test]
fn one_policy_is_shown_by_its_name_or_alias() {
    insta::assert_snapshot!("one", tollgate(&["policies", "easy"]));
    insta::assert_snapshot!("two-by-alias", tollgate(&["policies", "n2", "c5-online"]));
}

#[test]
fn unknown_policy_gets_a_similar_name_as_hint() {
    insta::assert_snapshot!("near", tollgate(&["policies", "esay"]));
    insta::assert_snapshot!("far", tollgate(&["policies", "lottery"]));
}
