//! To where one more proxy does most: what the product does unless it is told otherwise.

use super::{Named, Settings};
use crate::migrate::{Donor, Room, Value};

pub(super) const MARGINAL: Named = Named {
    name: "marginal",
    summary: "to where one more proxy does most, by what runs, by waits and by what a limit leaves",
    paper: "",
    settings: Settings {
        value: Value::Rate,
        waits: 0.5,
        steadied: 4.0,
        room: Room::Chance,
        donor: Donor::NextLowest,
        guard: true,
        ..Settings::DEFAULT
    },
};
