//! Every proxy stays where it was put.

use super::{Named, Settings};
use crate::migrate::Value;

pub(super) const NONE: Named = Named {
    name: "none",
    summary: "moves nothing",
    paper: "Walker 2009, Figure 7",
    settings: Settings {
        value: Value::Nothing,
        ..Settings::DEFAULT
    },
};
