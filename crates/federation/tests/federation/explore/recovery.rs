//! 8. Liveness: from every world a round decides once faults end.

use std::collections::BTreeMap;

use tollgate_federation::durable::DurableSite;
use tollgate_federation::{Ballot, Envelope, SiteEffect, SiteEvent, SiteId};
use tollgate_model::{Instant, Span};

use super::history::TransferHistory;
use super::world::{ExploredWorld, TIMING};

/// Checks recovery from `world`. From then on no message is lost, duplicated or slower than the
/// longest delay; messages in flight are lost. A change of the epoch that has begun is completed,
/// and every queue can be read. Within four periods a round decides or the rule allows no move,
/// and every transfer is confirmed. The same holds with any one site dead that a majority does not
/// need.
pub(crate) fn check(world: &ExploredWorld) {
    let mut world = world.clone();
    let mut there: Vec<usize> = (0..world.sites.len()).collect();
    if world.staying().any(|site| world.has_entered(site)) {
        there = world.staying().collect();
        for &site in &there {
            if !world.has_entered(site) {
                world.enter(site);
            }
        }
    }
    for site in &mut world.sites {
        let running = site.running().unwrap_or(0);
        site.handle(Instant::ZERO, SiteEvent::Running(running), &mut Vec::new());
    }
    assert!(decides(&world, &there), "no round decides once faults end");
    let majority = there.len() / 2 + 1;
    for dead in there.iter().filter(|_| there.len() > majority) {
        let others: Vec<usize> = there.iter().copied().filter(|site| site != dead).collect();
        assert!(decides(&world, &others), "a dead site stops the others");
    }
}

/// Returns whether a round decided among the sites that are `there`, or no round could.
fn decides(world: &ExploredWorld, there: &[usize]) -> bool {
    let mut sites = world.sites.clone();
    let open: Vec<(usize, Ballot)> = there
        .iter()
        .flat_map(|&site| {
            let open = sites[site].durable().unconfirmed();
            open.map(move |(ballot, to)| (site, ballot, to))
        })
        .filter(|(_, _, to)| there.contains(&(to.0 as usize)))
        .map(|(site, ballot, _)| (site, ballot))
        .collect();
    let given = run(&mut sites, there);
    let closed = |&(from, ballot): &(usize, Ballot)| {
        let mut open = sites[from].durable().unconfirmed();
        open.all(|(other, _)| other != ballot)
    };
    assert!(
        open.iter().all(closed),
        "a donor repeats itself until the receiver confirms"
    );
    given > 0 || !move_is_possible(world, &sites, there)
}

/// Runs the sites that are `there` for four periods. Returns the number of proxies given.
fn run(sites: &mut [DurableSite], there: &[usize]) -> usize {
    let mut network: BTreeMap<(Instant, i64), (SiteId, Envelope)> = BTreeMap::new();
    let mut history = TransferHistory::default();
    let mut sent = 0;
    let end = Instant::ZERO + Span::from_micros(TIMING.period.as_micros() * 4);
    loop {
        let wakes = there.iter().map(|&site| (sites[site].next_wake(), site));
        let (wake, waking) = wakes.min().expect("a site is there");
        let (now, at, event) = match network.first_key_value() {
            Some((&key, &(to, envelope))) if key.0 <= wake => {
                network.remove(&key);
                let at = to.0 as usize;
                match sites[at].terms().membership.admit(envelope) {
                    Some(event) => (key.0, at, event),
                    None => continue,
                }
            }
            Some(_) | None => (wake, waking, SiteEvent::Due),
        };
        if now >= end {
            return history.given.len();
        }
        if !there.contains(&at) {
            continue;
        }
        let mut effects = Vec::new();
        let from = sites[at].id();
        sites[at].handle(now, event, &mut effects);
        sites[at].handle(now, SiteEvent::Written(u64::MAX), &mut effects);
        history.extend(from, &effects);
        for effect in effects {
            let SiteEffect::Send { to, message } = effect else {
                continue;
            };
            sent += 1;
            // Delays are uneven, so that messages overtake each other, and within the longest
            // delay.
            let delay = Span::from_micros(1 + sent * 7 % 10);
            let envelope = sites[at].terms().membership.envelope(from, message);
            network.insert((now + delay, sent), (to, envelope));
        }
    }
}

/// Returns whether a site can give a proxy to the highest site under the rule of moves.
fn move_is_possible(world: &ExploredWorld, sites: &[DurableSite], there: &[usize]) -> bool {
    let moves = world.setting.terms.moves;
    let worth = |site: usize| world.values(site).worth.0;
    let highest = there
        .iter()
        .max_by(|&&a, &&b| worth(a).total_cmp(&worth(b)));
    let lowest = there
        .iter()
        .min_by(|&&a, &&b| worth(a).total_cmp(&worth(b)));
    let (Some(&highest), Some(&lowest)) = (highest, lowest) else {
        return false;
    };
    let arriving = world.values(highest).arriving.0;
    let mut donors = there.iter().filter(|&&site| {
        let loses = moves.guard() && arriving < world.values(site).staying.0;
        worth(site) < worth(highest) && sites[site].pending() >= 2 && !loses
    });
    worth(highest) >= moves.stop() * worth(lowest) && donors.next().is_some()
}
