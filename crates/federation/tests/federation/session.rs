//! Sessions of many sites in the durable form, over long times.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_federation::durable::{DurableSite, DurableState, in_flight};
use tollgate_federation::{MoveRule, SessionTerms, SiteEvent, SiteId};
use tollgate_model::{Instant, Span};

use crate::network::{MessageFaults, SiteNetwork, TIMING, terms};

pub(crate) const PROXIES: u32 = 6;

/// Creates sites with random phases, which move a proxy to any higher value.
pub(crate) fn sites(count: u32, faults: MessageFaults, seed: u64) -> SiteNetwork<DurableSite> {
    sites_with_rule(count, MoveRule::ANY, faults, seed)
}

pub(crate) fn sites_with_rule(
    count: u32,
    moves: MoveRule,
    faults: MessageFaults,
    seed: u64,
) -> SiteNetwork<DurableSite> {
    let mut network = SiteNetwork::new(Vec::new(), faults, seed);
    network.down = vec![false; count as usize];
    network.disk = vec![Vec::new(); count as usize];
    let terms = Arc::new(terms(count, TIMING, moves));
    for id in 0..count {
        let first = Span::from_secs_f64(network.unit() * TIMING.period.as_secs_f64());
        let first = Instant::ZERO + first;
        let site = DurableSite::new(SiteId(id), terms.clone(), PROXIES, first);
        network.sites.push(site);
    }
    network
}

/// Runs `periods` periods. In each period a value is redrawn with probability 0.3, and pending
/// proxies are dispatched and return. `between` may do more.
pub(crate) fn run(
    network: &mut SiteNetwork<DurableSite>,
    periods: i64,
    mut between: impl FnMut(&mut SiteNetwork<DurableSite>),
) {
    let mut worths: Vec<f64> = network.sites.iter().map(|_| 0.0).collect();
    for period in 1..=periods {
        for worth in &mut worths {
            if period == 1 || network.unit() < 0.3 {
                *worth = network.unit();
            }
        }
        network.measure(&worths);
        for site in 0..network.sites.len() {
            let all = network.sites[site].durable().proxies;
            let running = (network.unit() * f64::from(all)) as u32;
            network.deliver(site, SiteEvent::Running(running));
        }
        between(network);
        network.run_until(Instant::ZERO + Span::from_secs(600 * period));
        check_conservation(network);
    }
}

/// Returns the states of all sites but `lost`.
pub(crate) fn states(
    network: &SiteNetwork<DurableSite>,
    lost: Option<SiteId>,
) -> BTreeMap<SiteId, DurableState> {
    let sites = network.sites.iter().filter(|site| Some(site.id()) != lost);
    let states = sites.map(|site| (site.id(), site.durable().clone()));
    states.collect()
}

/// Returns the number of proxies at the sites of `states` and in flight between them.
pub(crate) fn proxies(states: &BTreeMap<SiteId, DurableState>) -> u32 {
    let held = states.values().map(|state| state.proxies);
    held.sum::<u32>() + in_flight(states).count() as u32
}

/// Checks invariant 1: pending, running and in-flight proxies add up to the initial number. Checks
/// that the states stay small.
pub(crate) fn check_conservation(network: &SiteNetwork<DurableSite>) {
    let states = states(network, None);
    assert_eq!(proxies(&states), PROXIES * states.len() as u32);
    for state in states.values() {
        assert!(state.given.len() < states.len() && state.received.len() < states.len());
    }
}

/// Restores a site from the records on its disk, under the terms that it had.
pub(crate) fn restore(network: &mut SiteNetwork<DurableSite>, at: usize) {
    let terms = network.sites[at].terms().clone();
    restore_with(network, at, terms);
}

/// Restores a site from the records on its disk. Its journal was cut at a random record, and some
/// of the records before the cut are still there.
pub(crate) fn restore_with(
    network: &mut SiteNetwork<DurableSite>,
    at: usize,
    terms: impl Into<Arc<SessionTerms>>,
) {
    let terms = terms.into();
    let mut durable = DurableState::new(1, PROXIES);
    for &record in &network.disk[at] {
        durable.apply(record);
    }
    let again = (network.unit() * network.disk[at].len() as f64) as usize;
    for &record in &network.disk[at][again..] {
        durable.apply(record);
    }
    for record in terms.membership.entry(durable.epoch).expect("an epoch") {
        durable.apply(record);
        network.disk[at].push(record);
    }
    let site = SiteId(at as u32);
    let restored = DurableSite::restored(site, terms, durable, network.now);
    network.sites[at] = restored.expect("the same epoch");
}
