//! To where a proxy does most a tick, by the waits that were seen.

use super::{Named, Settings};
use crate::migrate::{Donor, Value};

pub(super) const RATE: Named = Named {
    name: "rate",
    summary: "to where a proxy does most a tick, by the waits that were seen",
    paper: "",
    settings: Settings {
        value: Value::Rate,
        donor: Donor::NextLowest,
        stop: 1.1,
        guard: true,
        ..Settings::DEFAULT
    },
};
