//! Words of the service against those of its clients.

use tollgate_client::types::{JobEventKind, JobState, ServiceMarket, WireVocabulary};
use tollgate_model::{JobEndState, Market};

use super::*;

const SOURCES: [EstimateSource; 5] = [
    EstimateSource::User,
    EstimateSource::Class,
    EstimateSource::UserJobs,
    EstimateSource::Site,
    EstimateSource::Default,
];
const AXES: [OfferAxis; 4] = [
    OfferAxis::Deadline,
    OfferAxis::Budget,
    OfferAxis::Procs,
    OfferAxis::Confidence,
];

/// Checks that `words`, of the service, are all that a client knows, under the same keys.
fn check<T: WireVocabulary>(words: impl IntoIterator<Item = (T, &'static str)>) {
    let (words, keys): (Vec<T>, Vec<&str>) = words.into_iter().unzip();
    let of_words: Vec<&str> = words.iter().map(|word| word.key()).collect();
    assert_eq!(of_words, keys);
    let missing: Vec<&T> = T::ALL.iter().filter(|word| !words.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn words_of_the_service_are_those_of_its_clients() {
    check(SOURCES.map(|source| (estimate_source(source), source.key())));
    check(AXES.map(|axis| (offer_change(axis), axis.key())));
    check(WaitCause::ALL.map(|cause| (wait_reason(cause), cause.key())));
    check(BreakCause::ALL.map(|cause| (BrokenPromiseCause::from(cause), cause.key())));
    check(Market::ALL.map(|market| (ServiceMarket::from(market), market.name())));
    let outcomes = BookEntry::ALL.into_iter().filter_map(|entry| {
        let key = match break_cause(entry) {
            Some(_) => "broken",
            None => entry.key(),
        };
        Some((promise_outcome(entry)?, key))
    });
    check(outcomes);
}

#[test]
fn ends_of_jobs_are_states_and_events_under_the_same_keys() {
    for end in JobEndState::ALL {
        assert_eq!(JobEventKind::from(end).key(), end.key());
        let state = JobState::from_key(end.key()).unwrap();
        assert_eq!(state.end(), Some(end));
        assert!(JobEventKind::from(end).is_end() && state.is_over());
    }
}
