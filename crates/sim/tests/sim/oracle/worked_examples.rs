//! The worked examples of the admission rules, decision by decision.

use tollgate_oracle::examples::WorkedExample;

fn policy_words(example: &WorkedExample) -> String {
    let settings = &example.settings;
    let pairs = [
        ("extra", settings.extra.map(|extra| extra.to_string())),
        ("overrun", settings.overrun.clone()),
        ("expired", settings.expired.clone()),
        ("count", settings.count.clone()),
    ];
    let pairs: Vec<String> = pairs
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value?)))
        .collect();
    if pairs.is_empty() {
        return example.policy.clone();
    }
    format!("{}:{}", example.policy, pairs.join(","))
}

#[test]
fn every_worked_example_is_reproduced() {
    let examples = WorkedExample::all();
    assert!(examples.len() >= 11, "the file is whole");
    for example in examples {
        let words = policy_words(&example);
        let jobs = example.oracle_jobs();
        let replay = super::common::replay(&jobs, example.nodes, &words, example.market());
        let outcomes: Vec<_> = (0..jobs.len())
            .map(|job| super::common::observed_outcome(&replay, job))
            .collect();
        assert_eq!(
            example.differences(&outcomes),
            Vec::<String>::new(),
            "{}",
            example.name
        );
    }
}
