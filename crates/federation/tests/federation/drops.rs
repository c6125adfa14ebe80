//! Tests of a site that is dropped while messages are lost and sites crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_federation::durable::{DurableSite, WriteOff};
use tollgate_federation::{SessionTerms, SiteEvent, SiteId, SiteRecord};
use tollgate_model::{Instant, Span};

use crate::network::{MessageFaults, SiteNetwork, TIMING};
use crate::session::{PROXIES, proxies, restore, restore_with, run, sites, states};

const SITES: u32 = 8;
const FAULTS: MessageFaults = MessageFaults {
    loss: 0.1,
    duplication: 0.1,
};

/// Returns what a lost site has by the records of all others: its initial proxies and what they gave
/// it, less what they received from it.
fn of_lost(network: &SiteNetwork<DurableSite>, lost: SiteId) -> i64 {
    let disks = network.disk.iter().enumerate();
    let others = disks.filter(|(site, _)| *site != lost.0 as usize);
    others
        .flat_map(|(_, records)| records)
        .fold(i64::from(PROXIES), |has, record| match record {
            SiteRecord::Given { to, .. } if *to == lost => has + 1,
            SiteRecord::Added { from, .. } if *from == lost => has - 1,
            SiteRecord::Given { .. }
            | SiteRecord::Added { .. }
            | SiteRecord::Promised { .. }
            | SiteRecord::Relinquished { .. }
            | SiteRecord::Confirmed { .. }
            | SiteRecord::Dropped { .. } => has,
        })
}

/// Runs a session in which a site is dropped. Every other site enters the next epoch at a random
/// time within four periods, between messages, and some crash meanwhile. The lost site is dead, or is
/// up all the time without knowing that it was dropped.
fn drop_a_site(seed: u64, dead: bool) -> WriteOff {
    let lost = SiteId(seed as u32 % SITES);
    let mut network = sites(SITES, FAULTS, seed);
    run(&mut network, 40, |_| {});
    network.down[lost.0 as usize] = dead;
    let current = network.sites[0].terms().clone();
    let next = Arc::new(SessionTerms {
        membership: current.membership.without(lost).expect("a member"),
        ..current.clone()
    });
    let others: Vec<usize> = (0..SITES as usize)
        .filter(|&at| at != lost.0 as usize)
        .collect();
    let mut entries: BTreeMap<Instant, usize> = BTreeMap::new();
    for &site in &others {
        let delay = network.delay(Span::from_secs(4 * 600));
        entries.insert(network.now + delay, site);
    }
    for (at, site) in entries {
        network.run_until(at);
        network.crash(site);
        restore_with(&mut network, site, Arc::clone(&next));
        network.down[site] = false;
        let worth = network.unit();
        network.measure_site(site, worth);
        network.deliver(site, SiteEvent::Running(1));
        // Another site crashes and keeps the epoch that it has.
        let other = others[(network.unit() * others.len() as f64) as usize];
        network.crash(other);
        restore(&mut network, other);
        network.down[other] = false;
    }
    let all = PROXIES * SITES;
    let staying = states(&network, Some(lost));
    let account = WriteOff::new(&current.membership, lost, all, &staying).expect("a member");
    assert_eq!(i64::from(account.written_off), of_lost(&network, lost));
    assert_eq!(account.states, staying, "every site has entered");
    assert_eq!(account.kept, proxies(&staying));
    for period in 1..=20 {
        for &site in &others {
            let worth = network.unit();
            network.measure_site(site, worth);
            network.deliver(site, SiteEvent::Running(0));
        }
        let now = network.now;
        network.run_until(now + TIMING.period);
        let states = states(&network, Some(lost));
        assert_eq!(proxies(&states), account.kept, "period {period}");
    }
    let moved = network.disk.iter().flatten();
    let given = |record: &&SiteRecord| matches!(record, SiteRecord::Given { .. });
    assert!(moved.filter(given).count() > 10);
    account
}

#[test]
fn dead_site_is_written_off() {
    for seed in 0..20 {
        drop_a_site(seed, true);
    }
}

#[test]
fn site_that_is_up_is_written_off_and_fenced() {
    let written_off: Vec<u32> = (0..20)
        .map(|seed| drop_a_site(seed, false).written_off)
        .collect();
    println!("{written_off:?} written off");
    assert!(written_off.iter().any(|&count| count != PROXIES));
}
