//! `tollgate ledger`.

use std::io;

use tollgate_client::types::{AccountEntry, LedgerReport};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{Column, write_list};

/// The options of `tollgate ledger`.
#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// `tollgate ledger`.
pub(crate) fn run(args: &LedgerArgs) -> Result<(), CliFailure> {
    let ledger: LedgerReport = args.address.connect()?.get("/v1/ledger")?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &ledger)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let columns = [
                Column::new("day", |account: &AccountEntry| account.day.clone()),
                Column::new("user", |account: &AccountEntry| account.user.clone()),
                Column::new("charges", |account: &AccountEntry| {
                    account.charges.to_string()
                }),
                Column::new("penalties", |account: &AccountEntry| {
                    account.penalties.to_string()
                }),
                Column::new("utility", |account: &AccountEntry| {
                    account.utility.to_string()
                }),
            ];
            write_list(&mut out, &columns, &ledger.accounts)?;
        }
    }
    Ok(())
}
