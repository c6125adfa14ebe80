//! The costs and earnings of finished jobs.

use tollgate_model::outcome::delay;
use tollgate_model::{Credits, Instant, Market, PenaltyLimit};
use tollgate_policy::{BookingKind, JobSlot};

/// Returns the bookings for a job at its end. A late job is still charged in the commodity market.
/// In the bid-based market each second of delay costs the penalty rate (Yeo & Buyya 2008, eq. 9-10),
/// up to the limit. Without a promise there is no penalty.
pub(crate) fn entries(
    market: Market,
    limit: PenaltyLimit,
    job: &JobSlot,
    finish: Instant,
) -> impl Iterator<Item = (BookingKind, Credits)> {
    let charge = job
        .accepted
        .map(|accepted| (BookingKind::Charge, accepted.price));
    let penalty = || {
        job.accepted.filter(|accepted| accepted.is_promised)?;
        let (late, sla) = (delay(finish, job.spec.due()?), job.spec.sla);
        let cost = limit.cost(sla.penalty, late, sla.budget);
        Some((BookingKind::Penalty, -cost))
    };
    let booked = match market {
        Market::None => [None, None],
        Market::Commodity => [charge, None],
        Market::Bid => [charge, penalty()],
    };
    booked
        .into_iter()
        .flatten()
        .filter(|(_, amount)| *amount != Credits::ZERO)
}

/// Returns the booking for an admitted job that is lost. The user does not pay for it. The job
/// counts as late as if it ran again from its start at once, which is the shortest wait that its
/// user can have. The papers do not treat lost jobs.
pub(crate) fn loss(
    market: Market,
    limit: PenaltyLimit,
    job: &JobSlot,
    now: Instant,
) -> Option<(BookingKind, Credits)> {
    let promise = job.accepted.filter(|accepted| accepted.is_promised);
    let due = promise.and(job.spec.due())?;
    let amount = match market {
        Market::None | Market::Commodity => Credits::ZERO,
        Market::Bid => {
            let late = delay(now + job.spec.estimate, due);
            let sla = job.spec.sla;
            -limit.cost(sla.penalty, late, sla.budget)
        }
    };
    (amount != Credits::ZERO).then_some((BookingKind::Penalty, amount))
}
