//! Tests of the durable form over long times, with many sites.

use tollgate_federation::durable::{DurableSite, DurableState};
use tollgate_federation::{SiteEffect, SiteId, SiteMessage, SiteRecord};
use tollgate_model::{Instant, Span};

use crate::network::{MessageFaults, SiteNetwork};
use crate::session::{PROXIES, restore, run, sites};

/// Returns the number of transfers that began while another was in flight, and the number of all
/// transfers that began.
fn overlaps(network: &SiteNetwork<DurableSite>) -> (usize, usize) {
    let mut spans: Vec<(Instant, Instant)> = Vec::new();
    for site in &network.sites {
        for record in &network.disk[site.id().0 as usize] {
            let &SiteRecord::Given {
                ballot,
                to: receiver,
                ..
            } = record
            else {
                continue;
            };
            let of = |is_counted: fn(&SiteMessage) -> bool, from: SiteId, to: SiteId| {
                let sent = network.sent.iter();
                let mut sent = sent.filter(move |s| (s.1, s.2) == (from, to) && is_counted(&s.3));
                sent.find(|s| message_ballot(&s.3) == Some(ballot))
                    .map(|s| s.0)
            };
            let request = |m: &SiteMessage| matches!(m, SiteMessage::Request { .. });
            let confirm = |m: &SiteMessage| matches!(m, SiteMessage::Confirm { .. });
            let begin = of(request, receiver, site.id());
            let end = of(confirm, receiver, site.id());
            spans.extend(begin.zip(end));
        }
    }
    spans.sort();
    let overlapping = spans.windows(2).filter(|pair| pair[1].0 < pair[0].1);
    (overlapping.count(), spans.len())
}

fn message_ballot(message: &SiteMessage) -> Option<tollgate_federation::Ballot> {
    match message {
        SiteMessage::Propose { ballot, .. }
        | SiteMessage::Answer { ballot, .. }
        | SiteMessage::Handover { ballot, .. }
        | SiteMessage::Request { ballot }
        | SiteMessage::Given { ballot }
        | SiteMessage::Denied { ballot }
        | SiteMessage::Confirm { ballot } => Some(*ballot),
    }
}

/// Checks property 10. The paper's form takes some thousands of messages.
#[test]
fn decision_takes_two_messages_per_site_plus_two() {
    let mut network = sites(16, MessageFaults::default(), 1);
    run(&mut network, 500, |_| {});
    let requests = network.sent.iter();
    let requests = requests.filter(|sent| matches!(sent.3, SiteMessage::Request { .. }));
    let decisions = requests.count();
    let mean = network.messages() as f64 / decisions as f64;
    let (overlapping, transfers) = overlaps(&network);
    println!("{decisions} decisions, {transfers} transfers, {mean:.1} messages each");
    assert!(decisions > 250, "{decisions}");
    assert!(mean <= 40.0, "{mean}");
    // 7. Without faults rounds do not overlap.
    assert_eq!(overlapping, 0);
}

#[test]
fn message_loss_never_loses_a_proxy() {
    for seed in 0..5 {
        let faults = MessageFaults {
            loss: 0.05,
            duplication: 0.05,
        };
        let mut network = sites(16, faults, seed);
        run(&mut network, 300, |_| {});
        let (overlapping, transfers) = overlaps(&network);
        println!("{transfers} transfers, {overlapping} overlap");
        assert!(transfers > 60, "{transfers}");
        assert!(overlapping * 100 <= transfers, "{overlapping} {transfers}");
    }
}

/// Runs sites that crash and restart with the state on their disks. A record that was being written
/// at the crash is on disk or is not.
fn run_with_crashes(count: u32, periods: i64, seed: u64) -> usize {
    let faults = MessageFaults {
        loss: 0.1,
        duplication: 0.1,
    };
    let mut network = sites(count, faults, seed);
    run(&mut network, periods, |network| {
        for site in 0..network.sites.len() {
            if network.down[site] {
                restart(network, site);
            } else if network.unit() < 0.1 {
                let (now, later) = (network.now, network.unit() * 500.0);
                network.run_until(now + Span::from_secs_f64(later / 10.0));
                network.crash(site);
                // A proxy whose record is not on disk does not exist.
                restore(network, site);
            }
        }
    });
    network.count(SiteEffect::Add)
}

fn restart(network: &mut SiteNetwork<DurableSite>, at: usize) {
    restore(network, at);
    network.down[at] = false;
}

#[test]
fn crashes_of_sixteen_sites_never_lose_a_proxy() {
    let moved: usize = (0..5).map(|seed| run_with_crashes(16, 200, seed)).sum();
    println!("{moved} moved");
    assert!(moved > 50, "{moved}");
}

#[test]
fn crashes_of_sixty_four_sites_never_lose_a_proxy() {
    let moved = run_with_crashes(64, 100, 9);
    println!("{moved} moved");
    assert!(moved > 5, "{moved}");
}

#[test]
fn dead_site_delays_a_round_by_at_most_the_time_out() {
    let mut network = sites(16, MessageFaults::default(), 3);
    network.down[5] = true;
    run(&mut network, 100, |_| {});
    assert!(network.count(SiteEffect::Add) > 50);
}

/// Every kind of record is needed, and a journal that is cut short is still a valid journal.
#[test]
fn site_is_restored_from_its_records() {
    let mut network = sites(4, MessageFaults::default(), 4);
    run(&mut network, 50, |_| {});
    for (site, records) in network.sites.iter().zip(&network.disk) {
        let mut durable = DurableState::new(1, PROXIES);
        records.iter().for_each(|&record| durable.apply(record));
        assert_eq!(&durable, site.durable());
    }
    let given = |record: &&SiteRecord| matches!(record, SiteRecord::Given { .. });
    assert!(network.disk.iter().flatten().filter(given).count() > 20);
}
