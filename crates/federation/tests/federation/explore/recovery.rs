//! 8. Liveness: from every world a round decides once faults end.

use std::collections::BTreeMap;

use tollgate_federation::durable::DurableSite;
use tollgate_federation::{Ballot, SiteEffect, SiteEvent, SiteId, SiteMessage};
use tollgate_model::{Instant, Span};

use super::world::{ExploredWorld, TIMING};

/// Checks recovery from `world`. From then on no message is lost, duplicated or slower than the
/// longest delay; messages in flight are lost. Within four periods a round decides or no site below
/// the highest has two pending proxies, and every transfer is confirmed.
pub(crate) fn check(world: &ExploredWorld) {
    let decided = run(world, None);
    assert!(decided, "no round decides once faults end");
    for dead in 0..world.sites.len() {
        assert!(run(world, Some(dead)), "a dead site stops the others");
    }
}

/// Returns whether a round decided, or no round could.
fn run(world: &ExploredWorld, dead: Option<usize>) -> bool {
    let mut sites = world.sites.clone();
    let there: Vec<usize> = (0..sites.len())
        .filter(|&site| Some(site) != dead)
        .collect();
    let before = transfers(&sites);
    let open: Vec<(usize, Ballot)> = there
        .iter()
        .flat_map(|&site| {
            sites[site]
                .durable()
                .unconfirmed()
                .map(move |(b, to)| (site, b, to))
        })
        .filter(|(_, _, to)| there.contains(&(to.0 as usize)))
        .map(|(site, ballot, _)| (site, ballot))
        .collect();
    let mut network: BTreeMap<(Instant, i64), (SiteId, SiteId, SiteMessage)> = BTreeMap::new();
    let mut sent = 0;
    let end = Instant::ZERO + Span::from_micros(TIMING.period.as_micros() * 4);
    loop {
        let wakes = there.iter().map(|&site| (sites[site].next_wake(), site));
        let (wake, waking) = wakes.min().expect("somebody is there");
        let (now, at, event) = match network.first_key_value() {
            Some((&key, &(from, to, message))) if key.0 <= wake => {
                network.remove(&key);
                (key.0, to.0 as usize, SiteEvent::Received { from, message })
            }
            Some(_) | None => (wake, waking, SiteEvent::Due),
        };
        if now >= end {
            break;
        }
        if !there.contains(&at) {
            continue;
        }
        let mut effects = Vec::new();
        sites[at].handle(now, event, &mut effects);
        sites[at].handle(now, SiteEvent::Written(u64::MAX), &mut effects);
        for effect in effects {
            let SiteEffect::Send { to, message } = effect else {
                continue;
            };
            sent += 1;
            // Delays are uneven, so that messages overtake each other, and within the longest
            // delay.
            let delay = Span::from_micros(1 + sent * 7 % 10);
            network.insert((now + delay, sent), (SiteId(at as u32), to, message));
        }
    }
    let closed = |&(from, ballot): &(usize, Ballot)| sites[from].durable().given[&ballot].confirmed;
    assert!(
        open.iter().all(closed),
        "a donor repeats itself until the receiver confirms"
    );
    let highest = there.iter().max_by_key(|&&site| (world.worth(site), site));
    let mut donors = there.iter().filter(|&site| Some(site) != highest);
    let nobody = donors.all(|&site| sites[site].pending() < 2);
    transfers(&sites) > before || nobody
}

fn transfers(sites: &[DurableSite]) -> usize {
    sites.iter().map(|site| site.durable().given.len()).sum()
}
