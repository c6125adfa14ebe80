//! What each command of a running service prints with `--format json`, as JSON schemas.

use std::path::Path;
use std::{fs, io};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use tollgate_service::api::openapi;
use tollgate_service::api::types::{
    CalibrationReport, JobDetails, JobExplanation, JobList, LedgerReport, NewToken, NodeList,
    SubmitResponse, TokenList,
};

use super::figures::StatusView;

/// The schema of what a command prints.
type CommandSchemaFn = fn() -> Schema;

/// The commands, and what they print.
const COMMANDS: &[(&str, CommandSchemaFn)] = &[
    ("submit", describe::<SubmitResponse>),
    ("quote", describe::<SubmitResponse>),
    ("status", describe::<StatusView>),
    ("jobs", describe::<JobList>),
    ("explain", describe::<JobExplanation>),
    ("wait", describe::<JobDetails>),
    ("ledger", describe::<LedgerReport>),
    ("nodes", describe::<NodeList>),
    ("calibration", describe::<CalibrationReport>),
    ("token new", describe::<NewToken>),
    ("token list", describe::<TokenList>),
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
