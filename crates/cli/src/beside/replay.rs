//! `tollgate beside replay`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use super::error::file_error;
use super::record;
use crate::exit::CliFailure;

/// State the jobs of a record anew, one statement a line.
///
/// The statements are those that the follower made when it wrote the record, byte for byte.
#[derive(Debug, clap::Args)]
pub(super) struct BesideReplayArgs {
    /// Directory of one run of the follower, below that of --record
    #[arg(value_name = "DIR")]
    record: PathBuf,
}

/// `tollgate beside replay`.
pub(super) fn run(args: &BesideReplayArgs) -> Result<(), CliFailure> {
    let mut out = BufWriter::new(io::stdout().lock());
    record::replay(&args.record, |statements| {
        record::write_statements(&mut out, statements)
    })?;
    let flushed = out.flush();
    Ok(flushed.map_err(|error| file_error("standard output", error))?)
}
