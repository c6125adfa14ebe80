//! Checks of the invariants of every state and every step.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_federation::durable::{DurableState, WriteOff, in_flight};
use tollgate_federation::{
    Ballot, Envelope, SiteEffect, SiteEvent, SiteId, SiteMessage, SiteReport, SiteValue,
};
use tollgate_model::Instant;

use super::decisions;
use super::history::TransferHistory;
use super::world::{ExploredWorld, SiteStep};

/// Checks conservation, transfers and rounds against the journals and the messages.
pub(crate) fn check_state(world: &ExploredWorld) {
    conservation(world);
    transfers(world);
    cut_journals(world);
    write_off(world);
    ballots(world);
    no_mutual_refusals(world);
}

/// Checks invariant 1: pending, running and in-flight proxies add up to the initial number. The journals are
/// right about proxies in flight between sites that stay.
fn conservation(world: &ExploredWorld) {
    let held: u32 = world.sites.iter().map(|site| site.durable().proxies).sum();
    let flying = world.history.in_flight().count() as u32;
    let all = world.setting.proxies * world.sites.len() as u32;
    assert_eq!(held + flying, all, "conservation");
    for site in &world.sites {
        let running = site.running().unwrap_or(site.durable().proxies);
        let pending = site.durable().proxies.saturating_sub(running);
        assert_eq!(site.pending(), pending);
    }
    let states = states(world);
    let journals = in_flight(&states).map(|proxy| (proxy.ballot, (proxy.from, proxy.to)));
    let journals: BTreeSet<_> = journals.collect();
    let stays = |site| states.contains_key(&site);
    let in_flight = world.history.in_flight();
    let in_flight = in_flight.filter(|&(_, (from, to))| stays(from) && stays(to));
    assert_eq!(journals, in_flight.collect(), "journals");
}

/// Returns the states of the sites that stay.
fn states(world: &ExploredWorld) -> BTreeMap<SiteId, DurableState> {
    let sites = world.staying().map(|at| &world.sites[at]);
    sites
        .map(|site| (site.id(), site.durable().clone()))
        .collect()
}

/// Checks invariant 3: a site adds only a proxy that the donor's record shows as deleted for that
/// very site. A donor takes for confirmed only what has arrived.
fn transfers(world: &ExploredWorld) {
    let TransferHistory { given, added } = &world.history;
    for (ballot, transfer) in added {
        assert_eq!(given.get(ballot), Some(transfer), "no add before delete");
    }
    for (at, site) in world.sites.iter().enumerate() {
        for (&to, transfer) in &site.durable().given {
            let written_off = world.has_entered(at) && Some(to) == world.left.lost;
            let over = added.contains_key(&transfer.ballot) || written_off;
            assert!(over || !transfer.confirmed, "confirmed before it arrived");
        }
    }
}

/// Checks that every site remembers at most one transfer to and one from each other site.
fn cut_journals(world: &ExploredWorld) {
    let others = world.sites.len() - 1;
    for site in &world.sites {
        let state = site.durable();
        assert!(state.given.len() <= others && state.received.len() <= others);
    }
}

/// Checks the account of a lost site, whichever sites have entered the next epoch. It has what the site had
/// at the start and was given since, less what others have received from it.
fn write_off(world: &ExploredWorld) {
    let Some(lost) = world.left.lost else {
        return;
    };
    let all = world.setting.proxies * world.sites.len() as u32;
    let states = states(world);
    let current = &world.setting.terms.membership;
    let account = WriteOff::new(current, lost, all, &states).expect("the lost site is a member");
    let given = world.history.given.values().filter(|(_, to)| *to == lost);
    let received = world.history.added.values();
    let received = received.filter(|(from, _)| *from == lost);
    let expected = world.setting.proxies as usize + given.count() - received.count();
    assert_eq!(account.written_off as usize, expected, "written off");
    assert_eq!(account.kept + account.written_off, all);
    if world.staying().all(|site| world.has_entered(site)) {
        assert_eq!(account.states, states, "a second write-off changes nothing");
    }
}

/// Checks invariant 6: a ballot has one proposer, one value and one report of each site, and at
/// most one decision.
fn ballots(world: &ExploredWorld) {
    let mut proposed: BTreeMap<Ballot, (SiteId, SiteValue)> = BTreeMap::new();
    let mut reported: BTreeMap<(Ballot, SiteId), SiteReport> = BTreeMap::new();
    let mut decided: BTreeMap<Ballot, (SiteId, SiteId)> = BTreeMap::new();
    for &(to, Envelope { from, message, .. }) in &world.network {
        match message {
            SiteMessage::Propose { ballot, worth } => {
                let first = *proposed.entry(ballot).or_insert((from, worth));
                assert_eq!(first, (from, worth), "one proposal a ballot");
                assert_eq!(ballot.site, from);
            }
            SiteMessage::Answer {
                ballot,
                report: Ok(report),
            } => {
                let first = *reported.entry((ballot, from)).or_insert(report);
                assert_eq!(first, report, "values are frozen a ballot");
            }
            SiteMessage::Request { ballot } => {
                let first = *decided.entry(ballot).or_insert((from, to));
                assert_eq!(first, (from, to), "one decision a ballot");
            }
            SiteMessage::Answer { report: Err(_), .. }
            | SiteMessage::Handover { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }
}

/// Checks invariant 5: no two sites refuse each other by value. Values do not change here, so a
/// site that a higher site refuses never refuses the higher site.
fn no_mutual_refusals(world: &ExploredWorld) {
    let mut refused: Vec<(SiteId, SiteId)> = Vec::new();
    for &(to, Envelope { from, message, .. }) in &world.network {
        let SiteMessage::Answer {
            ballot,
            report: Ok(report),
        } = message
        else {
            continue;
        };
        let proposals = world
            .network
            .iter()
            .filter_map(|(_, envelope)| match envelope.message {
                SiteMessage::Propose { ballot: b, worth } if b == ballot => Some(worth),
                SiteMessage::Propose { .. }
                | SiteMessage::Answer { .. }
                | SiteMessage::Handover { .. }
                | SiteMessage::Request { .. }
                | SiteMessage::Given { .. }
                | SiteMessage::Denied { .. }
                | SiteMessage::Confirm { .. } => None,
            });
        let above = |worth| (report.measured.worth, from) > (worth, to);
        if proposals.into_iter().any(above) {
            assert!(!refused.contains(&(to, from)), "{from:?} and {to:?}");
            refused.push((from, to));
        }
    }
}

/// Checks the invariants of one step of a site.
pub(crate) fn check_step(before: &ExploredWorld, after: &ExploredWorld, step: &SiteStep) {
    let (old, new) = (step.before.durable(), after.sites[step.site].durable());
    let count = |effect: SiteEffect| step.effects.iter().filter(|&&e| e == effect).count();
    // 2. Every delete and add has its record, and no record has two.
    let (deletes, adds) = (count(SiteEffect::Delete), count(SiteEffect::Add));
    let grown = |before: &BTreeMap<_, _>, after: &BTreeMap<_, _>| after.len() - before.len();
    let (was, is) = (&before.history, &after.history);
    assert_eq!(deletes, grown(&was.given, &is.given));
    assert_eq!(adds, grown(&was.added, &is.added));
    assert_eq!(new.proxies as usize + deletes, old.proxies as usize + adds);
    assert!(new.promised >= old.promised);
    if deletes > 0 {
        check_grant(after, step);
    }
    decisions::check(step);
}

fn check_grant(after: &ExploredWorld, step: &SiteStep) {
    let old = step.before.durable();
    let SiteEvent::Received {
        message: SiteMessage::Request { ballot },
        ..
    } = step.event
    else {
        panic!("only the donor of a request gives");
    };
    // 4. One proxy stays. 6. No ballot below the promise is served. 7. No transfer starts in a
    // cool-down.
    assert!(after.sites[step.site].pending() >= 1, "a donor keeps one");
    assert!(ballot >= old.promised, "nothing is served below a promise");
    assert!(
        old.cool_until <= Instant::ZERO,
        "nothing is given in a cool-down"
    );
}
