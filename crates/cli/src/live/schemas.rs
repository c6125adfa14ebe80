//! What each command of a running service prints with `--format json`, as JSON schemas.

use std::path::Path;
use std::{fs, io};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use tollgate_service::api::openapi;
use tollgate_service::api::types::{
    Answer, Calibration, Explanation, Job, Jobs, Ledger, NewToken, Nodes, Tokens,
};

use super::figures::Standing;

/// The schema of what a command prints.
type Describe = fn() -> Schema;

/// The commands, and what they print.
const COMMANDS: &[(&str, Describe)] = &[
    ("submit", describe::<Answer>),
    ("quote", describe::<Answer>),
    ("status", describe::<Standing>),
    ("jobs", describe::<Jobs>),
    ("explain", describe::<Explanation>),
    ("wait", describe::<Job>),
    ("ledger", describe::<Ledger>),
    ("nodes", describe::<Nodes>),
    ("calibration", describe::<Calibration>),
    ("token new", describe::<NewToken>),
    ("token list", describe::<Tokens>),
];

/// Writes a file for each command, and one for the service itself.
pub(super) fn write(out: &Path) -> io::Result<()> {
    fs::create_dir_all(out)?;
    for (command, describe) in COMMANDS {
        let mut schema = describe();
        schema.insert(
            "title".to_owned(),
            format!("tollgate {command} --format json").into(),
        );
        let file = out.join(format!("{}.json", command.replace(' ', "-")));
        fs::write(file, format!("{:#}\n", schema.as_value()))?;
    }
    fs::write(
        out.join("openapi.json"),
        format!("{:#}\n", openapi::document()),
    )
}

fn describe<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}
