//! A schedule that is accounted under other bids is what a replay under these bids gives.

use std::sync::Arc;

use tollgate_model::Market;
use tollgate_policy::Choice;
use tollgate_policy::named::REGISTRY;
use tollgate_sim::{Arrival, Record, Settings, is_blind_to_bids, rebid, replay};
use tollgate_workload::{Factor, Generator, Settings as JobSettings, Workload};

fn arrivals(budget: Factor, penalty: Factor) -> Vec<Arrival> {
    let trace = Arc::new(Generator::default().trace().last(400));
    let settings = JobSettings {
        budget,
        penalty,
        ..JobSettings::default()
    };
    let workload = Workload::new(trace, settings, Market::Bid).unwrap();
    workload.arrivals().collect()
}

#[test]
fn a_rebid_schedule_is_that_of_a_replay() {
    let usual = arrivals(Factor::default(), Factor::default());
    let other = Factor {
        low: 2.0,
        ratio: 7.0,
        bias: 3.0,
    };
    let rebids = arrivals(other, other);
    let settings = Settings {
        nodes: 128,
        market: Market::Bid,
        record: Record::Outcomes,
    };
    let blind: Vec<Choice> = REGISTRY
        .iter()
        .map(|named| Choice::named(named.name).unwrap())
        .filter(is_blind_to_bids)
        .collect();
    assert_eq!(blind.len(), REGISTRY.len() - 1, "all but first-reward");
    for choice in blind {
        let run = |arrivals: &[Arrival]| {
            let policy = choice.build(Market::Bid);
            let replay = replay(arrivals.iter().copied(), policy, &settings);
            replay.unwrap().outcomes
        };
        let mut rebid_outcomes = run(&usual);
        rebid(&mut rebid_outcomes, &rebids);
        assert_eq!(rebid_outcomes, run(&rebids), "{choice}");
    }
}
