//! HTCondor's default: a random computer, awake if possible.

use super::BuiltinSelectPolicy;
use crate::select::RandomSelect;

/// With fewer than one in thirty computers awake, the choice is simply a random computer.
const REDRAWS: u32 = 30;

pub(super) const PREFER_AWAKE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "prefer-awake",
    alias: "c1",
    summary: "any free computer, rather one that is awake",
    paper: "McGough et al. 2013, section III",
    uses_future_logins: false,
    build: |_, _| Box::new(RandomSelect { redraws: REDRAWS }),
};
