//! `tollgate trace anonymise`: traces that can be published.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tollgate_host::random_bytes;
use tollgate_trace::anonymise::{AnonymiserKey, TraceAnonymiser};

use super::error::TraceError;
use super::input::{ClockOrigin, each_batch, print_findings};
use super::output;
use crate::args::parse_integer;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// The minimum size of a key file in bytes.
const MIN_KEY_BYTES: usize = 16;

/// Write the jobs of records with a token for every name
///
/// Users, groups, accounts, executables and queues get tokens, and so does every cell of unknown
/// columns, hosts among them. The same name gives the same token.
/// Numbers and times stay; comments are left out.
#[derive(Debug, clap::Args)]
pub(super) struct TraceAnonymiseArgs {
    /// Records of any known format
    ///
    /// `-` is standard input. The jobs of several records are written one after the other.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// File with a secret key of at least 16 bytes [default: a random key]
    ///
    /// The same key gives the same tokens in every run.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Number as the key: repeatable, but not secret
    #[arg(
        long, value_name = "N", conflicts_with = "key",
        value_parser = parse_integer::<u64>, allow_negative_numbers = true,
    )]
    seed: Option<u64>,

    /// Columns to leave as they are
    ///
    /// user, group, account, executable, queue, or an unknown column.
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    keep: Vec<String>,

    #[command(flatten)]
    output: output::TraceOutputArgs,

    /// Print no notes, only errors
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &TraceAnonymiseArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let target = args.output.target()?;
    let mut anonymiser = TraceAnonymiser::new(key(args, verbosity)?, kept_columns(&args.keep));
    let mut output = target.open()?;
    let mut clock = ClockOrigin::default();
    for path in &args.files {
        let mut jobs = 0;
        let header = each_batch(path, |batch| {
            clock.check_same_origin(batch)?;
            jobs += batch.jobs.len();
            output.write(&anonymiser.anonymise(batch))
        })?;
        print_findings(&header, verbosity);
        verbosity.note(format_args!(
            "{} from {}",
            pluralise(jobs, "job"),
            header.source
        ));
    }
    output.finish(verbosity)
}

fn kept_columns(columns: &[String]) -> BTreeSet<String> {
    columns
        .iter()
        .map(|column| column.trim().to_owned())
        .collect()
}

fn key(args: &TraceAnonymiseArgs, verbosity: Verbosity) -> Result<AnonymiserKey, TraceError> {
    match (&args.key, args.seed) {
        (Some(path), _) => read_key(path),
        (None, Some(seed)) => {
            verbosity
                .note("anyone who knows the seed can try names: use `--key` where that matters");
            Ok(AnonymiserKey::new(u128::from(seed)))
        }
        (None, None) => {
            verbosity.note("the key was drawn for this run: the next gives other tokens");
            random_key()
        }
    }
}

fn read_key(path: &Path) -> Result<AnonymiserKey, TraceError> {
    let file = path.display().to_string();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Err(TraceError::Key { file, error }),
    };
    if bytes.len() < MIN_KEY_BYTES {
        return Err(TraceError::ShortKey {
            file,
            bytes: bytes.len(),
            least: MIN_KEY_BYTES,
        });
    }
    Ok(AnonymiserKey::from_bytes(&bytes))
}

fn random_key() -> Result<AnonymiserKey, TraceError> {
    let bytes = random_bytes().map_err(|error| TraceError::NoRandomness(error.to_string()))?;
    Ok(AnonymiserKey::new(u128::from_le_bytes(bytes)))
}
