//! `tollgate grant`.

use std::io::{self, Write};

use tollgate_client::types::{GrantRequest, JobRef};

use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

/// The options of `tollgate grant`.
#[derive(Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// Number of the job
    id: u64,
    /// Why, for the books
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate grant`.
pub(crate) fn run(args: &GrantArgs) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let request = GrantRequest {
        reason: args.reason.clone(),
    };
    let JobRef { id } = client.post(&format!("/v1/jobs/{}/grant", args.id), &request)?;
    writeln!(
        io::stdout(),
        "job {id}: it may go beyond its user's share; `tollgate explain {id}` says whether it is promised"
    )?;
    Ok(())
}
