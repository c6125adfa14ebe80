//! JSON schemas of the `--format json` output of each command of a running service.

use std::path::Path;
use std::{fs, io};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use tollgate_client::types::{
    CalibrationReport, JobDetails, JobExplanation, JobList, LedgerReport, NewToken, NodeList,
    SubmitResponse, TokenList,
};
use tollgate_server::api::openapi;

use super::figures::StatusView;

/// A function that returns the schema of the output of a command.
type CommandSchemaFn = fn() -> Schema;

/// The commands, and the schemas of their output.
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

/// Writes one schema file per command, and one for the service itself.
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
