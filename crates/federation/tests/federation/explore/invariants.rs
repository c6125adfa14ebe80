//! Checks of the invariants of every state and every step.

use std::collections::BTreeMap;

use tollgate_federation::durable::SiteActivity;
use tollgate_federation::{
    Ballot, SiteEffect, SiteEvent, SiteId, SiteMessage, SiteReport, SiteValue,
};

use tollgate_model::Instant;

use super::world::{ExploredWorld, SiteStep};

/// Checks conservation, transfers and rounds against the journals and the messages.
pub(crate) fn check_state(world: &ExploredWorld) {
    conservation(world);
    transfers(world);
    ballots(world);
    no_mutual_refusals(world);
}

/// Checks invariant 1: pending, running and in-flight proxies add up to the initial number.
fn conservation(world: &ExploredWorld) {
    let held: u32 = world.sites.iter().map(|site| site.durable().proxies).sum();
    let given = world.sites.iter().flat_map(|site| &site.durable().given);
    let in_flight = given.filter(|(ballot, transfer)| {
        let receiver = &world.sites[transfer.to.0 as usize];
        !receiver.durable().added.contains_key(ballot)
    });
    let in_flight = in_flight.count() as u32;
    assert_eq!(held + in_flight, world.proxies, "conservation");
    for site in &world.sites {
        assert_eq!(site.pending() + site.running(), site.durable().proxies);
    }
}

/// Checks invariants 2 and 3: a round deletes at one site at most and adds at one at most, and adds
/// only a proxy that the donor's record shows as deleted for that very site.
fn transfers(world: &ExploredWorld) {
    let (mut given, mut added) = (BTreeMap::new(), BTreeMap::new());
    for site in &world.sites {
        for (ballot, transfer) in &site.durable().given {
            let earlier = given.insert(*ballot, (site.id(), transfer.to));
            assert_eq!(earlier, None, "{ballot:?} deletes once");
        }
        for (ballot, from) in &site.durable().added {
            let earlier = added.insert(*ballot, (*from, site.id()));
            assert_eq!(earlier, None, "{ballot:?} adds once");
        }
    }
    let confirmed = world.sites.iter().flat_map(|site| &site.durable().given);
    for (ballot, _) in confirmed.filter(|(_, transfer)| transfer.confirmed) {
        assert!(added.contains_key(ballot), "what is confirmed has arrived");
    }
    for (ballot, transfer) in added {
        assert_eq!(
            given.get(&ballot),
            Some(&transfer),
            "no add before its delete"
        );
    }
}

/// Checks invariant 6: a ballot has one proposer, one value and one report of each site, and at
/// most one decision.
fn ballots(world: &ExploredWorld) {
    let mut proposed: BTreeMap<Ballot, (SiteId, SiteValue)> = BTreeMap::new();
    let mut reported: BTreeMap<(Ballot, SiteId), SiteReport> = BTreeMap::new();
    let mut decided: BTreeMap<Ballot, (SiteId, SiteId)> = BTreeMap::new();
    for &(from, to, message) in &world.network {
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
    for &(from, to, message) in &world.network {
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
            .filter_map(|&(_, _, message)| match message {
                SiteMessage::Propose { ballot: b, worth } if b == ballot => Some(worth),
                SiteMessage::Propose { .. }
                | SiteMessage::Answer { .. }
                | SiteMessage::Handover { .. }
                | SiteMessage::Request { .. }
                | SiteMessage::Given { .. }
                | SiteMessage::Denied { .. }
                | SiteMessage::Confirm { .. } => None,
            });
        let above = |worth| (report.worth, from) > (worth, to);
        if proposals.into_iter().any(above) {
            assert!(!refused.contains(&(to, from)), "{from:?} and {to:?}");
            refused.push((from, to));
        }
    }
}

/// Checks the invariants of one step of a site.
pub(crate) fn check_step(before: &ExploredWorld, after: &ExploredWorld, step: &SiteStep) {
    let (old, new) = (step.before.durable(), after.sites[step.site].durable());
    let count = |wanted: SiteEffect| step.effects.iter().filter(|&&e| e == wanted).count();
    // 2. Every delete and add has its record, and no record has two.
    assert_eq!(count(SiteEffect::Delete), new.given.len() - old.given.len());
    assert_eq!(count(SiteEffect::Add), new.added.len() - old.added.len());
    assert!(new.promised >= old.promised);
    if count(SiteEffect::Delete) > 0 {
        check_grant(after, step);
    }
    leadership(before, step);
}

fn check_grant(after: &ExploredWorld, step: &SiteStep) {
    let old = step.before.durable();
    let SiteEvent::Received {
        message: SiteMessage::Request { ballot },
        ..
    } = step.event
    else {
        panic!("only who is asked gives");
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

/// Checks invariant 9: the site that decides has the highest value of all it has seen, or hands the
/// round to the highest.
fn leadership(before: &ExploredWorld, step: &SiteStep) {
    let SiteActivity::Proposing(round) = step.before.activity() else {
        return;
    };
    let own = (round.own.worth, SiteId(step.site as u32));
    let mut known: Vec<(SiteValue, SiteId)> = vec![own];
    let answers = round.answers.iter();
    known.extend(answers.filter_map(|(&site, report)| Some((report.ok()?.worth, site))));
    if let SiteEvent::Received {
        from,
        message: SiteMessage::Answer {
            ballot,
            report: Ok(report),
        },
    } = step.event
        && ballot == round.ballot
        && !round.answers.contains_key(&from)
    {
        known.push((report.worth, from));
    }
    let highest = known.into_iter().max().map(|(_, site)| site);
    for effect in &step.effects {
        let SiteEffect::Send { to, message } = effect else {
            continue;
        };
        match message {
            SiteMessage::Handover { .. } => assert_eq!(Some(*to), highest),
            SiteMessage::Request { .. } => assert_eq!(Some(before.sites[step.site].id()), highest),
            SiteMessage::Propose { .. }
            | SiteMessage::Answer { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }
}
