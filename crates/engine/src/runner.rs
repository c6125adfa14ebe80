//! The runner: a small process that starts tasks and keeps the record of them, so that the service
//! can be restarted, or crash, and no task and no exit status is lost.
//!
//! It lives in a folder that only its owner can enter:
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by the runner, and by each child until its program has replaced it |
//! | `socket` | where the service asks (one JSON value a line, see `wire`) |
//! | `runner.json` | its settings |
//! | `journal` | attempts taken, ended, acknowledged; append-only, a checksum a line |
//! | `attempts/<attempt>` | the attempt was started: made with O_EXCL by the child itself |
//!
//! The order of things keeps an attempt from being started twice and an end from being forgotten:
//!
//! 1. It is in the journal, and that on the disk, before the service hears that it was taken on.
//! 2. Its child makes the `started` file before it becomes the program, and ends with the runner until then.
//! 3. Its end is in the journal before the service hears of it, and stays until that is acknowledged.
//!
//! A runner that is killed leaves its tasks running. The next one finds those that are alive by
//! number and start, watches them, and learns their exit status from the kernel (Linux 6.15 and newer; on
//! older ones they are reported as lost when they end). Those that have ended meanwhile are
//! lost; those that have no `started` file never ran, and are started.

mod adopt;
mod calls;
mod cgroup;
mod child;
mod claim;
mod client;
mod clock;
mod door;
mod fault;
pub(crate) mod folder;
mod group;
mod happening;
mod journal;
mod keeper;
mod live;
mod log;
mod machine;
mod meter;
mod mounts;
mod nice;
mod plan;
mod process;
mod recall;
pub(crate) mod settings;
mod slot;
mod slots;
mod sys;
mod takeover;
mod task;
mod timers;
mod tree;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;

use crate::EngineError;
use folder::Folder;
use journal::Journal;
use keeper::Keeper;
use machine::Machine;
use settings::Settings;
use slots::Slots;

/// Runs the runner of the folder that is the only word of `args`, until it is not needed any more:
/// nobody is connected, and nothing runs. Ends with 1 if it cannot begin, with 2 on wrong usage; another
/// runner in the folder is no failure.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let [folder] = args.as_slice() else {
        log::say(format_args!("expected the folder to work in"));
        return ExitCode::from(2);
    };
    match run(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::say(format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(path: &Path) -> Result<(), EngineError> {
    fault::arm();
    let failed = |step| {
        move |source| EngineError::Setup {
            path: path.to_owned(),
            step,
            source,
        }
    };
    // Its own session, so that no terminal and no process group of the service's ends it. It fails
    // if it has one already, and then nothing needs to be done.
    let _ = rustix::process::setsid();
    let ours = Some(rustix::process::getpid());
    rustix::process::set_child_subreaper(ours)
        .map_err(|error| failed("becoming its tasks' reaper")(error.into()))?;
    let Some(folder) = Folder::take(path)? else {
        return Ok(());
    };
    let settings = Settings::read(path)?;
    let machine = Machine::look(path, &settings).map_err(failed("looking at the machine"))?;
    let (journal, entries) = Journal::open(&folder.journal())?;
    let (to, happenings) = mpsc::channel();
    let most = settings.slots_per_node.max(1) as usize * machine.cpus.len();
    let slots = Slots::new(most, folder.attempts(), to.clone());
    let mut keeper = Keeper {
        tasks: recall::tasks(&entries),
        folder,
        settings,
        machine,
        journal,
        waiting: Default::default(),
        placed: Default::default(),
        slots,
        timers: Default::default(),
        client: Default::default(),
        to: to.clone(),
        unwritten: Vec::new(),
    };
    keeper.take_over(recall::is_of_boot(&entries, &keeper.machine.boot));
    keeper.write_down();
    let listener = keeper
        .folder
        .listen()
        .map_err(failed("opening its socket"))?;
    door::accept(listener, to);
    keeper.work(&happenings);
    Ok(())
}
