//! The registry: built-in policies, and one of another crate beside them, are chosen by name.

use proptest::prelude::*;
use tollgate_model::Market;
use tollgate_policies::builtin_registry;
use tollgate_policies::queue::QueueParams;
use tollgate_policy::{
    ParameterTable, Policy, PolicyDefinition, PolicyParameter, PolicyRegistry, PolicySettings,
    PolicySpec, parameter_table,
};

proptest! {
    #[test]
    fn parsing_never_panics_and_round_trips(
        words in "((easy|edf|libra|conservative|first-reward|tail-risk|x)?[:,=]?(order|depth|extra|test|slack|fit|overrun|hope|bound)?=?(sjf|all|2|true|keep|-1|0.25)?,?){0,4}",
    ) {
        if let Ok(choices) = builtin_registry().parse_list(&words) {
            let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
            prop_assert_eq!(builtin_registry().parse_list(&written.join(",")), Ok(choices));
        }
    }
}

#[test]
fn builtin_policies_are_distinct() {
    let policies: Vec<PolicySpec> = builtin_registry().policies().collect();
    for (n, one) in policies.iter().enumerate() {
        for other in &policies[n + 1..] {
            assert_ne!(one.name(), other.name());
            assert_ne!(one.parameters(), other.parameters(), "{one} {other}");
        }
    }
}

#[test]
fn policy_lists_round_trip() {
    let words = "easy:order=sjf,extra=false,edf:test=select,libra,libra-risk:overrun=full";
    let written: Vec<String> = builtin_registry()
        .parse_list(words)
        .unwrap()
        .iter()
        .map(PolicySpec::to_string)
        .collect();
    let expected = [
        "easy:order=sjf,extra=false",
        "edf:test=select",
        "libra",
        "libra-risk:overrun=full",
    ];
    assert_eq!(written, expected);
}

#[test]
fn rewards_need_a_market() {
    let runs_in =
        |words: &str, market| builtin_registry().parse_list(words).unwrap()[0].runs_in(market);
    for words in ["first-reward", "easy:order=reward", "edf:admission=slack"] {
        assert!(!runs_in(words, Market::None), "{words}");
        assert!(runs_in(words, Market::Commodity), "{words}");
    }
    for market in Market::ALL {
        for choice in builtin_registry().of_market(market) {
            assert!(choice.runs_in(market), "{choice} in {market}");
        }
    }
    assert!(runs_in("libra-dollar", Market::None));
}

#[test]
fn every_parameter_round_trips() {
    let registry = builtin_registry();
    for choice in registry.policies() {
        for parameter in choice.parameters() {
            let words = format!("{}:{}={}", choice.name(), parameter.key, parameter.value);
            assert_eq!(registry.parse_list(&words), Ok(vec![choice.clone()]));
        }
    }
}

#[test]
fn parse_errors_list_the_valid_names() {
    let answer = |words| {
        builtin_registry()
            .parse_list(words)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(answer("easy,fifo"), @"there is no policy `fifo`: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf, plan");
    insta::assert_snapshot!(answer("libra:order=sjf"), @"policy `libra` has no parameter `order`: it has fit, admission, pricing, overrun, expired, gamma, delta");
    insta::assert_snapshot!(answer("easy:order=size"), @"policy `easy`: order is fcfs, sjf, edf or reward, not `size`");
    insta::assert_snapshot!(answer("easy:extra"), @"policy `easy`: expected KEY=VALUE, got `extra`");
    insta::assert_snapshot!(answer("first-reward:slack=-1"), @"policy `first-reward`: slack is a number of seconds, not negative, not `-1`");
    insta::assert_snapshot!(answer(""), @"there is no policy ``: fcfs, easy, conservative, edf, fcfs-bf, sjf-bf, edf-bf, libra, libra-dollar, libra-risk, first-reward, tail-risk, tail-risk-bf, plan");
}

/// Settings of a policy that another crate defines.
#[derive(Clone, Copy, Debug)]
struct TwiceSettings {
    times: u32,
}

impl ParameterTable for TwiceSettings {
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "times" => Count(times in 0.., "a count"): "how often";
    };
}

impl PolicySettings for TwiceSettings {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        QueueParams::DEFAULT.build(market)
    }

    fn uses_bids(&self) -> bool {
        true
    }
}

const EASY_TWICE: PolicyDefinition = PolicyDefinition {
    name: "easy-twice",
    summary: "as easy",
    limits: "",
    source: "this test",
    markets: &[Market::Bid],
    settings: &TwiceSettings { times: 2 },
};

fn registry() -> PolicyRegistry {
    builtin_registry().with(EASY_TWICE)
}

#[test]
fn defined_policy_is_chosen_like_a_builtin_one() {
    let registry = registry();
    let words = "easy-twice:times=3,libra,easy-twice";
    let choices = registry.parse_list(words).unwrap();
    let written: Vec<String> = choices.iter().map(PolicySpec::to_string).collect();
    assert_eq!(written.join(","), words);
    assert_eq!(registry.parse_list(&written[0]).unwrap()[0], choices[0]);
    assert_ne!(choices[0], choices[2]);
    assert!(choices[2].runs_in(Market::Bid) && !choices[2].runs_in(Market::None));
    let last = |market| registry.of_market(market).last().map(PolicySpec::name);
    assert_eq!(last(Market::Bid), Some("easy-twice"));
    assert_ne!(last(Market::Commodity), Some("easy-twice"));
    let builtin = builtin_registry();
    assert_ne!(registry, builtin);
    assert!(builtin.named("easy-twice").is_err());
}

#[test]
fn parse_errors_of_a_defined_policy_are_those_of_a_builtin_one() {
    let answer = |words| registry().parse_list(words).unwrap_err().to_string();
    insta::assert_snapshot!(answer("easy-twice:times=x"), @"policy `easy-twice`: times is a count, not `x`");
    insta::assert_snapshot!(answer("easy-twice:depth=1"), @"policy `easy-twice` has no parameter `depth`: it has times");
    assert!(answer("fifo").ends_with(", plan, easy-twice"));
}

#[test]
#[should_panic(expected = "there is a policy `easy-twice` already")]
fn two_policies_of_one_name_are_refused() {
    let _ = registry().with(EASY_TWICE);
}
