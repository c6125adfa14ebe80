//! `tollgate ledger`.

use std::io;

use tollgate_client::types::LedgerReport;

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{new_table, write_table};

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
            let mut table = new_table();
            table.set_header(["day", "user", "charges", "penalties", "utility"]);
            for account in &ledger.accounts {
                table.add_row([
                    account.day.clone(),
                    account.user_id.to_string(),
                    account.charges.to_string(),
                    account.penalties.to_string(),
                    account.utility.to_string(),
                ]);
            }
            write_table(&mut out, &table)?;
        }
    }
    Ok(())
}
