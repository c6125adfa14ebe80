//! `tollgate serve`.

use std::path::PathBuf;

use tollgate_service::{Config, Folder, serve};

use super::address::Address;
use crate::exit::Failure;
use crate::voice::Voice;

/// Serve: decide which jobs to promise to finish, by when and at what price, and run them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    address: Address,
    /// Settings, as TOML [default: config.toml in the data folder, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Who gets in, instead of what the settings say: `tollgate policies` lists them
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    policy: Option<String>,
}

/// `tollgate serve`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let folder = Folder::lock(&args.address.folder()?)?;
    let mut config = match &args.config {
        Some(file) => Config::read(file)?,
        None => default_config(&folder)?,
    };
    if let Some(policy) = &args.policy {
        config.policy.clone_from(policy);
    }
    let rules = config.rules()?;
    let engine = tollgate_engine::MemoryEngine::open(&world());
    let socket = folder.socket();
    serve(&folder, engine, &rules, || {
        let policy = &rules.policy;
        Voice::Notes.note(format_args!("policy {policy}; listening on {}", socket.display()));
    })?;
    Ok(())
}

fn default_config(folder: &Folder) -> Result<Config, Failure> {
    let file = folder.path().join("config.toml");
    if file.exists() {
        return Ok(Config::read(&file)?);
    }
    Ok(Config::default())
}

fn world() -> tollgate_engine::MemoryWorld {
    tollgate_engine::MemoryWorld::new(2, 1 << 30, tollgate_engine::memory::Deed::of_command)
}
