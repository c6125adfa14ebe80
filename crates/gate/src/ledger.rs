//! What a job costs and earns once it is over.

use tollgate_model::market::Market;
use tollgate_model::outcome::delay;
use tollgate_model::{Credits, Instant};
use tollgate_policy::{BookingKind, JobSlot};

/// What is booked for a job at its end. A late job is still charged in the commodity market; in
/// the bid-based one each second of delay costs the penalty rate, without bound
/// (Yeo & Buyya 2008, eq. 9-10).
pub(crate) fn entries(
    market: Market,
    job: &JobSlot,
    finish: Instant,
) -> impl Iterator<Item = (BookingKind, Credits)> {
    let charge = job
        .accepted
        .map(|accepted| (BookingKind::Charge, accepted.price));
    let late = job.spec.due().map(|due| delay(finish, due));
    let penalty = late.map(|late| (BookingKind::Penalty, -job.spec.sla.penalty.times(late)));
    let booked = match market {
        Market::None => [None, None],
        Market::Commodity => [charge, None],
        Market::Bid => [charge, penalty],
    };
    booked
        .into_iter()
        .flatten()
        .filter(|(_, amount)| *amount != Credits::ZERO)
}

/// What is booked for a job that was let in and is lost: nobody pays for it, and it is as late as if it
/// were run again from its start at once, which is the least that its user has to wait. The
/// papers know no job that is lost.
pub(crate) fn loss(market: Market, job: &JobSlot, now: Instant) -> Option<(BookingKind, Credits)> {
    let due = job.accepted.and(job.spec.due())?;
    let amount = match market {
        Market::None | Market::Commodity => Credits::ZERO,
        Market::Bid => {
            let late = delay(now + job.spec.estimate, due);
            -job.spec.sla.penalty.times(late)
        }
    };
    (amount != Credits::ZERO).then_some((BookingKind::Penalty, amount))
}
