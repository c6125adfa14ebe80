//! `tollgate backup`, `restore` and `check`.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tollgate_policy::PolicyRegistry;
use tollgate_server::check_own_files;
use tollgate_store::backup::{self, CheckedStore};
use tollgate_store::{
    CheckedRows, DataDir, ImpossibleValue, with_owner_rights, with_writer_rights,
};

use super::serve::default_config;
use crate::connection::endpoint::DataDirArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::while_waiting;

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
    /// Replace values that cannot be true by the nearest possible ones
    #[arg(long)]
    repair: bool,
    /// Check only whether this version could go on with the jobs
    ///
    /// This also works while the service runs.
    #[arg(long, conflicts_with = "repair")]
    upgrade: bool,
    #[command(flatten)]
    data_dir: DataDirArgs,
}

/// The store has values that cannot be true.
#[derive(Debug, thiserror::Error)]
#[error("the store has {} that cannot be true", pluralise(*.0, "value"))]
struct ImpossibleValues(usize);

impl CliError for ImpossibleValues {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(
            "`tollgate check --repair` replaces each by the nearest possible one",
        ))
    }
}

/// `tollgate backup`.
pub(crate) fn back_up(args: &BackupArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let now = Timestamp::now().to_string();
    let data = args.data_dir.data_dir()?;
    let checked = while_waiting("copying and checking the store", || {
        backup::back_up(&data, &args.to, now, registry)
    })?;
    note_impossible(&checked);
    print_checked(&format!("backup in {}", args.to.display()), checked.rows)
}

/// `tollgate restore`.
pub(crate) fn restore(args: &RestoreArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let folder = DataDir::lock(&args.data_dir.data_dir()?)?;
    let (manifest, checked) = while_waiting("copying and checking the backup", || {
        backup::restore(&args.from, &folder, registry)
    })?;
    note_impossible(&checked);
    let made_at = manifest.made_at;
    print_checked(
        &format!("restored what was backed up at {made_at}"),
        checked.rows,
    )
}

/// `tollgate check`.
pub(crate) fn check(args: &StoreCheckArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let data = args.data_dir.data_dir()?;
    if args.upgrade {
        backup::check_upgrade(&data)?;
        writeln!(
            io::stdout().lock(),
            "this version could go on with the jobs"
        )?;
        return Ok(());
    }
    if args.repair {
        let (values, checked) = while_waiting("repairing and checking the store", || {
            backup::repair(&data, registry)
        })?;
        print_values("replaced", &values)?;
        return print_checked("nothing is damaged", checked.rows);
    }
    let checked = while_waiting("checking the store", || backup::check(&data, registry))?;
    check_files(&data, registry)?;
    if !checked.impossible.is_empty() {
        print_values("impossible", &checked.impossible)?;
        return Err(ImpossibleValues(checked.impossible.len()).into());
    }
    print_checked("nothing is damaged", checked.rows)
}

/// Checks the settings and the other files beside the store, each with the rights of the account that reads
/// it when a service starts.
fn check_files(data: &Path, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    let failed = |error| CliFailure::read_failed(data.display().to_string(), error);
    with_writer_rights(data, || check_own_files(data)).map_err(failed)??;
    let settings = with_owner_rights(data, || {
        let settings = default_config(data)?;
        settings.rules(registry)?;
        settings.serve_options().map(drop)
    });
    Ok(settings.map_err(failed)??)
}

/// Prints a line for each of the values.
fn print_values(word: &str, values: &[ImpossibleValue]) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    for value in values {
        writeln!(out, "{word}: {value}")?;
    }
    Ok(())
}

/// Writes a note if a store has values that cannot be true.
fn note_impossible(checked: &CheckedStore) {
    if !checked.impossible.is_empty() {
        let values = pluralise(checked.impossible.len(), "value");
        Verbosity::Notes.note(format_args!(
            "the store has {values} that cannot be true: `tollgate check` lists them"
        ));
    }
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
