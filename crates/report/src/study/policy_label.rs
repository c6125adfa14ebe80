//! The names of policies in legends and tables.

use tollgate_study::Experiment;

/// Returns the name that the experiment gives a policy, or else its words without the parameters
/// that a scenario varies.
pub(super) fn policy_name(experiment: &Experiment, words: &str) -> String {
    let named = experiment.policy_name(words);
    named.map_or_else(|| policy_label(words), str::to_owned)
}

/// Returns the name of a policy without the parameters that a scenario varies: `n1/c1` for
/// `n1:{n}/c1`, `d1:24h/c1` for `d1:{dedicated},24h,{n}/c1`.
fn policy_label(words: &str) -> String {
    let rules = words.split_inclusive(['/', '+']);
    rules.map(rule_label).collect()
}

fn rule_label(rule: &str) -> String {
    let (rule, joint) = match rule.strip_suffix(['/', '+']) {
        Some(bare) => (bare, &rule[bare.len()..]),
        None => (rule, ""),
    };
    let Some((name, parameters)) = rule.split_once(':') else {
        return format!("{rule}{joint}");
    };
    let kept: Vec<&str> = parameters
        .split(',')
        .filter(|parameter| !parameter.contains('{'))
        .collect();
    match kept.as_slice() {
        [] => format!("{name}{joint}"),
        kept => format!("{name}:{}{joint}", kept.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varied_parameters_are_left_out() {
        let labels = [
            "n1:{n}/c1",
            "d1:100,24h,{n}/c2",
            "d2:40,{longest}h+a1:1h/c7",
            "d1:{dedicated},{longest}h,{n}+n2/c5-online",
            "edf-bf:test=none",
            "x0/c1",
        ]
        .map(policy_label);
        let expected = [
            "n1/c1",
            "d1:100,24h/c2",
            "d2:40+a1:1h/c7",
            "d1+n2/c5-online",
            "edf-bf:test=none",
            "x0/c1",
        ];
        assert_eq!(labels, expected);
    }
}
