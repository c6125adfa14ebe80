//! Checks of what a proposer decides, from the reports that it has.

use tollgate_federation::durable::SiteActivity;
use tollgate_federation::{SiteEffect, SiteEvent, SiteId, SiteMessage, SiteReport};

use super::world::SiteStep;

/// Checks invariant 9: the site that decides has the highest value of all it has seen, or hands the
/// round to the highest. Checks the rule of moves: the donor is the lowest site that may give.
pub(crate) fn check(step: &SiteStep) {
    let Some(mut known) = reports(step) else {
        return;
    };
    known.sort_by_key(|(site, report)| (report.measured.worth, *site));
    let (highest, receiver) = *known.last().expect("the own report");
    for effect in &step.effects {
        let SiteEffect::Send { to, message } = effect else {
            continue;
        };
        match message {
            SiteMessage::Handover { donor, .. } => {
                assert_eq!(*to, highest);
                check_donor(step, &known, *donor, &receiver);
            }
            SiteMessage::Request { .. } => {
                assert_eq!(step.site(), highest);
                check_donor(step, &known, *to, &receiver);
            }
            SiteMessage::Propose { .. }
            | SiteMessage::Answer { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }
}

/// Returns the reports that a proposer has when it decides; None if the site proposes nothing.
fn reports(step: &SiteStep) -> Option<Vec<(SiteId, SiteReport)>> {
    let SiteActivity::Proposing(round) = step.before.activity() else {
        return None;
    };
    let mut known = vec![(step.site(), round.own)];
    let answers = round.answers.iter();
    known.extend(answers.filter_map(|(&site, report)| Some((site, report.ok()?))));
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
        known.push((from, report));
    }
    Some(known)
}

/// Checks that `donor` is the first of `known`, from the lowest value on, that the rule allows.
fn check_donor(
    step: &SiteStep,
    known: &[(SiteId, SiteReport)],
    donor: SiteId,
    receiver: &SiteReport,
) {
    let moves = step.before.terms().moves;
    let best = receiver.measured.worth.0;
    let lowest = known[0].1.measured.worth.0;
    assert!(best > lowest && best >= moves.stop() * lowest, "alike");
    let may_give = |report: &SiteReport| {
        let measured = report.measured;
        let loses = moves.guard() && receiver.measured.arriving.0 < measured.staying.0;
        report.pending >= 2 && measured.worth.0 < best && !loses
    };
    let first = known.iter().find(|(_, report)| may_give(report));
    assert_eq!(first.map(|(site, _)| *site), Some(donor));
}
