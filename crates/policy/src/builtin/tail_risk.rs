//! Admission by the tail of predictive distributions.

use tollgate_model::Market;

use super::{BuiltinPolicy, FamilyParams};
use crate::deadline_tail::TailParams;

pub(super) const TAIL_RISK: BuiltinPolicy = BuiltinPolicy {
    name: "tail-risk",
    summary: "earliest deadline runs; admits a job where every promise is kept with high probability",
    paper: "ours; the order is that of Dertouzos 1974",
    markets: &[Market::None, Market::Bid],
    settings: FamilyParams::Tail(TailParams::DEFAULT),
};
