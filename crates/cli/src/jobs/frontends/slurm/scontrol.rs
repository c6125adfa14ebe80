//! `scontrol`.
//!
//! | module | contents |
//! |---|---|
//! | [`show`](self::show) | what it shows |
//! | [`change`] | what it changes |

mod change;
mod show;

use std::io::{self, Write};

use tollgate_client::ApiClient;
use tollgate_frontends::slurm::getopt::{OptionRule, OptionValue, rule};
use tollgate_frontends::slurm::{SlurmError, SlurmJobName, SlurmRow};

use self::change::{JobVerb, act, update};
use self::show::{RecordLayout, show};
use super::failure::SlurmFailure;
use super::fetch;
use crate::connection::endpoint::ServiceAddressArgs;
use OptionValue::{Bare, Required};

/// The name of the command in its messages.
const TOOL: &str = "scontrol";
const RULES: &[OptionRule] = &[
    rule("all", Some('a'), Bare),
    rule("clusters", Some('M'), Required),
    rule("details", Some('d'), Bare),
    rule("federation", None, Bare),
    rule("future", Some('F'), Bare),
    rule("help", Some('h'), Bare),
    rule("hide", None, Bare),
    rule("local", None, Bare),
    rule("oneliner", Some('o'), Bare),
    rule("quiet", Some('Q'), Bare),
    rule("sibling", None, Bare),
    rule("uid", Some('u'), Required),
    rule("verbose", Some('v'), Bare),
    rule("version", Some('V'), Bare),
];

/// Shows or changes a job, or shows hosts and settings.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let parsed = super::parse(TOOL, RULES, words)?;
    let has = |name: &str| parsed.options.iter().any(|typed| typed.name == name);
    if has("version") {
        return super::print_version();
    }
    let mut out = io::stdout().lock();
    if has("help") || parsed.operands.is_empty() {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Scontrol);
        return Ok(writeln!(
            out,
            "Usage: scontrol [OPTIONS] COMMAND [WORDS]\n\n{help}"
        )?);
    }
    let operands: Vec<&str> = parsed.operands.iter().map(String::as_str).collect();
    let layout = RecordLayout {
        one_line: has("oneliner"),
    };
    let (verb, rest) = operands
        .split_first()
        .map_or(("", &[][..]), |(verb, rest)| (*verb, rest));
    match verb.to_ascii_lowercase().as_str() {
        "show" => {
            let (entity, names) = rest
                .split_first()
                .map_or(("", &[][..]), |(word, rest)| (*word, rest));
            show(&mut out, entity, names, layout, address)
        }
        "hold" | "uhold" => act(JobVerb::Hold, rest, address),
        "release" => act(JobVerb::Release, rest, address),
        "requeue" => act(JobVerb::Requeue, rest, address),
        "update" => update(rest, address),
        "ping" => {
            address.connect()?;
            let host = rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned();
            Ok(writeln!(out, "Slurmctld(primary) at {host} is UP")?)
        }
        "suspend" | "resume" => {
            let reason = "jobs are not suspended here; hold a job before it starts, or cancel it";
            Err(refused(&format!("{verb}: {reason}")))
        }
        "reconfigure" | "create" | "delete" | "shutdown" | "takeover" | "setdebug" => {
            let reason = "the service has settings of its own: tollgate generate config shows them";
            Err(refused(&format!("{verb}: {reason}")))
        }
        "version" => super::print_version(),
        _ => Err(SlurmError::new(format!("invalid keyword: {verb}"), 1).into()),
    }
}

fn refused(message: &str) -> SlurmFailure {
    SlurmError::of(TOOL, message).into()
}

/// Returns the rows of one job, for commands that need all of it.
pub(super) fn rows_of(client: &mut ApiClient, word: &str) -> Result<Vec<SlurmRow>, SlurmFailure> {
    let name = SlurmJobName::parse(word).ok_or_else(SlurmError::unknown_job)?;
    let rows = fetch::named(client, &name, false)?;
    Ok(rows.ok_or_else(SlurmError::unknown_job)?)
}
