//! JSON schemas: of the `--format json` output of each command of a running service, and of the
//! lines between a replay and a policy that is another program.

use std::path::Path;
use std::{fs, io};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use tollgate_client::records::{PruneResult, UsageReport};
use tollgate_client::types::{
    AlterResponse, CalibrationReport, JobDetails, JobExplanation, JobHistory, JobList,
    LedgerReport, NewToken, NodeList, PlacementList, SubmitResponse, TokenList,
};
use tollgate_exec_policy::protocol::{PassAnswer, PolicyEvent};
use tollgate_server::api::openapi;

use super::figures::StatusView;
use super::learn::LearnSummary;
use crate::reach::cluster::{ClusterComparison, ClusterListing, ClusterSubmission};
use crate::reach::session::{SessionAgents, SessionList};
use crate::reach::site::{SiteExplanation, SiteListing, SiteReport, SiteUsageReport};

/// A function that returns a schema.
type SchemaFn = fn() -> Schema;

/// The commands, and the schemas of their output.
const COMMANDS: &[(&str, SchemaFn)] = &[
    ("submit", describe::<SubmitResponse>),
    ("quote", describe::<SubmitResponse>),
    ("status", describe::<StatusView>),
    ("jobs", describe::<JobList>),
    ("explain", describe::<JobExplanation>),
    ("explain --history", describe::<JobHistory>),
    ("alter", describe::<AlterResponse>),
    ("wait", describe::<JobDetails>),
    ("ledger", describe::<LedgerReport>),
    ("usage", describe::<UsageReport>),
    ("prune", describe::<PruneResult>),
    ("nodes", describe::<NodeList>),
    ("nodes --jobs", describe::<PlacementList>),
    ("calibration", describe::<CalibrationReport>),
    ("learn", describe::<LearnSummary>),
    ("token new", describe::<NewToken>),
    ("token list", describe::<TokenList>),
    ("submit --to", describe::<ClusterSubmission>),
    ("quote --to", describe::<ClusterComparison>),
    ("cluster list", describe::<ClusterListing>),
    ("site list", describe::<SiteListing>),
    ("site status", describe::<SiteReport>),
    ("site report", describe::<SiteUsageReport>),
    ("explain site", describe::<SiteExplanation>),
    ("session list", describe::<SessionList>),
    ("session agents", describe::<SessionAgents>),
];

/// The lines of the policy `exec`: the name of the file, the title and the schema.
const LINES: &[(&str, &str, SchemaFn)] = &[
    (
        "exec-policy-event",
        "A line that a policy `exec` reads",
        describe::<PolicyEvent>,
    ),
    (
        "exec-policy-answer",
        "A line with which a policy `exec` answers a pass",
        describe_input::<PassAnswer>,
    ),
];

/// Writes one schema file per command, those of the policy `exec`, and one for the service itself.
pub(crate) fn write(out: &Path) -> io::Result<()> {
    fs::create_dir_all(out)?;
    for (command, describe) in COMMANDS {
        let title = format!("tollgate {command} --format json");
        write_schema(
            out,
            &command.replace(" --", "-").replace(' ', "-"),
            &title,
            describe(),
        )?;
    }
    for (name, title, describe) in LINES {
        write_schema(out, name, title, describe())?;
    }
    fs::write(
        out.join("openapi.json"),
        format!("{:#}\n", openapi::document()),
    )
}

fn write_schema(out: &Path, name: &str, title: &str, mut schema: Schema) -> io::Result<()> {
    schema.insert("title".to_owned(), title.into());
    let file = out.join(format!("{name}.json"));
    fs::write(file, format!("{:#}\n", schema.as_value()))
}

fn describe_input<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>()
}

fn describe<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}
