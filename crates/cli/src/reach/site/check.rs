//! `tollgate site check`, and the part of it that runs on a node of the site.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use tollgate_sites::{CoreSpeed, PilotBody, ProbeOutcome, ServiceAddress, SiteProbe};

use super::opened;
use super::reach::reach;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::parse;

/// The hidden argument with which the program, on a node, says whether it reaches the service.
pub(crate) const NODE_PROBE_ARG: &str = "__node-probe";

/// Send a small job through the queue, and report what works.
///
/// The job has the limits of a pilot, so that it waits as long as a pilot does. A site that works is no
/// longer paused.
#[derive(Debug, clap::Args)]
pub(super) struct SiteCheckArgs {
    /// Name of the site
    name: String,
    /// Maximum time until the job ends
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = parse::parse_span)]
    wait: f64,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// Something that pilots need does not work, as the output says.
#[derive(Debug, thiserror::Error)]
#[error("site {0}: pilots would not work there")]
struct UnfitSite(String);

impl CliError for UnfitSite {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// `tollgate site check`.
pub(super) fn run(args: &SiteCheckArgs) -> Result<(), CliFailure> {
    let mut site = opened::open(&args.name)?;
    let settings = site.settings();
    let service = args.address.for_workers(settings.connect.as_deref())?;
    let words = probe_words(&settings.program, &service);
    let probe = SiteProbe::new(&site, words, Duration::from_secs_f64(args.wait));
    let mut written = Ok(());
    let (works, speed) = probe.run(|finding| {
        let word = match finding.outcome {
            ProbeOutcome::Works => "ok",
            ProbeOutcome::Fails => "FAILS",
            ProbeOutcome::Unknown => "unknown",
        };
        let mut out = io::stdout().lock();
        let line = writeln!(out, "{:<11} {word:<8} {}", finding.what, finding.text);
        if let Err(error) = line.and_then(|()| out.flush()) {
            written = Err(error);
        }
    })?;
    written?;
    if let Some(speed) = speed {
        site.note_speed(speed)?;
    }
    match works {
        true => Ok(site.resume()?),
        false => Err(UnfitSite(args.name.clone()).into()),
    }
}

/// Returns the command that the probe runs on its node.
fn probe_words(program: &str, service: &ServiceAddress) -> Vec<String> {
    let mut words = vec![
        program.to_owned(),
        NODE_PROBE_ARG.to_owned(),
        service.connect.clone(),
    ];
    words.extend(service.fingerprint.clone());
    words
}

/// Prints the version of the program, the speed of a core, and whether the program reaches the service: `words` are the address
/// and the fingerprint of the service.
pub(crate) fn probe_node(words: impl Iterator<Item = OsString>) -> ExitCode {
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    let connect = words.next().unwrap_or_default();
    let service = ServiceAddress {
        connect,
        fingerprint: words.next(),
        needs_token: false,
        body: PilotBody::Worker,
    };
    let reached = match reach(&service) {
        Ok(()) => "yes".to_owned(),
        Err(reason) => format!("no {}: {reason}", service.connect),
    };
    let version = env!("CARGO_PKG_VERSION");
    let speed = CoreSpeed::measure().as_mflops();
    let answer = format!("version {version}\nspeed {speed}\nreached {reached}");
    match writeln!(io::stdout(), "{answer}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
