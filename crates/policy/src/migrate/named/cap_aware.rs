//! `rate` that sends nothing to a site whose limit is used up.

use super::{Named, Settings};
use crate::migrate::{Donor, Room, Value};

pub(super) const CAP_AWARE: Named = Named {
    name: "cap-aware",
    summary: "as rate, away from sites whose limit on running proxies is used up",
    paper: "",
    settings: Settings {
        value: Value::Rate,
        room: Room::Expected,
        donor: Donor::NextLowest,
        stop: 1.3,
        ..Settings::DEFAULT
    },
};
