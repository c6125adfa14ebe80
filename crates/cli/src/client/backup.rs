//! `tollgate backup`, `restore` and `check`.

use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use tollgate_policy::PolicyRegistry;
use tollgate_store::CheckedRows;
use tollgate_store::DataDir;
use tollgate_store::backup;

use super::endpoint::DataDirArgs;
use crate::exit::CliFailure;

/// The options of `tollgate backup`.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// Directory for the backup: empty or missing
    #[arg(value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// The options of `tollgate restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Directory of the backup
    #[arg(value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// The options of `tollgate check`.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreCheckArgs {
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// `tollgate backup`.
pub(crate) fn back_up(args: &BackupArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let now = Timestamp::now().to_string();
    let checked = backup::back_up(&args.data_dir.data_dir()?, &args.to, now, registry)?;
    print_checked(&format!("backup in {}", args.to.display()), checked)
}

/// `tollgate restore`.
pub(crate) fn restore(args: &RestoreArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let folder = DataDir::lock(&args.data_dir.data_dir()?)?;
    let (manifest, checked) = backup::restore(&args.from, &folder, registry)?;
    let made_at = manifest.made_at;
    print_checked(
        &format!("restored what was backed up at {made_at}"),
        checked,
    )
}

/// `tollgate check`.
pub(crate) fn check(args: &StoreCheckArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let checked = backup::check(&args.data_dir.data_dir()?, registry)?;
    print_checked("nothing is damaged", checked)
}

fn print_checked(done: &str, checked: CheckedRows) -> Result<(), CliFailure> {
    let CheckedRows {
        rows,
        jobs,
        ledger_entries,
    } = checked;
    writeln!(
        io::stdout().lock(),
        "{done}: {jobs} jobs, {ledger_entries} ledger entries, {rows} rows checked"
    )?;
    Ok(())
}
