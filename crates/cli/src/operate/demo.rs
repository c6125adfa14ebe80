//! `tollgate demo`: a service of its own, and the commands that show what it is for.
//!
//! | module | contents |
//! |---|---|
//! | `stage` | runs the commands and checks what they did |
//! | `story` | the steps |

mod stage;
mod story;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, process, thread};

use rustix::process::{Signal, getpid, kill_process};
use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, KillReason};
use tollgate_runner::LocalEngine;
use tollgate_runner::log::{self, LogLevel, LogSettings};
use tollgate_server::{LocalNodes, ServiceConfig};
use tollgate_store::DataDir;

use self::stage::{DemoError, Stage};
use super::serve::{current_program, local_engine_config, run_in};
use crate::exit::CliFailure;

/// The options of `tollgate demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Exit after the last step
    #[arg(long)]
    once: bool,
}

/// The maximum number of polls for the end of killed jobs.
const MAX_POLLS: u32 = 100;
/// The maximum time of one poll.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// `tollgate demo`.
pub(crate) fn run(args: &DemoArgs) -> Result<(), CliFailure> {
    let path = env::temp_dir().join(format!("tollgate-demo-{}", process::id()));
    let folder = DataDir::lock(&path)?;
    let shown = show(&folder, args.once);
    end_jobs(&folder)?;
    drop(folder);
    remove(&path)?;
    shown
}

/// Serves in a data directory until a signal ends the service, and shows the steps meanwhile.
fn show(folder: &DataDir, once: bool) -> Result<(), CliFailure> {
    let stage = Arc::new(Stage::new(current_program()?, folder.path()));
    // Standard output has the steps. The log holds only errors.
    let log = LogSettings {
        level: LogLevel::Warn,
        ..LogSettings::default()
    };
    log::start(log);
    let mut steps = None;
    let served = run_in(folder, &settings(), log, || {
        let stage = Arc::clone(&stage);
        steps = Some(thread::spawn(move || {
            let outcome = story::narrate(&stage, once);
            if once || outcome.is_err() {
                // The service is this process, and SIGTERM stops it.
                let _ = kill_process(getpid(), Signal::TERM);
            }
            outcome
        }));
    });
    stage.end();
    let outcome = steps.map(|steps| steps.join());
    served?;
    match outcome {
        Some(Ok(outcome)) => outcome,
        // A panic of the thread has been reported already.
        Some(Err(_)) | None => Err(DemoError::Ended.into()),
    }
}

/// Returns the settings of the service: one node, so that jobs wait for each other on every machine.
fn settings() -> ServiceConfig {
    let mut config = ServiceConfig::default();
    config.local.nodes = LocalNodes::Count(1);
    config
}

/// Kills the jobs that still run. Once their directory is gone, no service would ever record their
/// end.
fn end_jobs(folder: &DataDir) -> Result<(), CliFailure> {
    let mut engine = LocalEngine::open(local_engine_config(folder)?)?;
    for _ in 0..MAX_POLLS {
        let running: Vec<_> = engine.running()?.iter().map(|one| one.attempt).collect();
        if running.is_empty() {
            break;
        }
        engine.kill(&running, KillReason::Cancelled)?;
        let reports = engine.poll(POLL_INTERVAL)?;
        let ends = reports.iter().filter(|report| is_end(&report.event));
        let ended: Vec<_> = ends.map(|report| report.attempt).collect();
        engine.acknowledge(&ended)?;
    }
    Ok(())
}

fn is_end(event: &AttemptEvent) -> bool {
    match event {
        AttemptEvent::Started(_) => false,
        AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => true,
    }
}

fn remove(path: &Path) -> Result<(), CliFailure> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CliFailure::write_failed(path.display().to_string(), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
