//! The source of run time estimates, as a file names it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tollgate_sim::EstimateOrigin;

/// The name of a source of estimates: `user`, `true`, `forecast:LEVEL` or `user+forecast:LEVEL`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EstimateName(pub EstimateOrigin);

impl fmt::Display for EstimateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for EstimateName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EstimateName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for EstimateName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Estimates".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(user|true|(user\+)?forecast:0?\.[0-9]+)$",
        })
    }
}
