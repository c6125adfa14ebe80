//! To where the larger share of proxies runs.

use super::{Named, Settings};
use crate::migrate::{Donor, Value};

pub(super) const SHARE: Named = Named {
    name: "share",
    summary: "to where the larger share of proxies runs, times the speed of the site",
    paper: "",
    settings: Settings {
        value: Value::Rate,
        waits: 0.0,
        donor: Donor::NextLowest,
        ..Settings::DEFAULT
    },
};
