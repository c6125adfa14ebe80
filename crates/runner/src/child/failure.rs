//! Failed steps of a child, and whose fault each is.

use std::io;

use rustix::io::Errno;
use tollgate_model::{LaunchFailure, LaunchFault};

use super::setup::SpawnPhase;

/// Errors with which a file system of the site fails for a while: they are not in what the job asked for.
const STORAGE_ERRORS: [Errno; 9] = [
    Errno::NOSPC,
    Errno::IO,
    Errno::STALE,
    Errno::NOTCONN,
    Errno::HOSTDOWN,
    Errno::TIMEDOUT,
    Errno::NOMEM,
    Errno::NFILE,
    Errno::AGAIN,
];

/// Returns the failure of a step for a reason of the runner's own.
pub(crate) fn failed_step(step: SpawnPhase, reason: impl Into<String>) -> LaunchFailure {
    LaunchFailure {
        fault: fault_of_step(step),
        ..LaunchFailure::of_job(step.name(), reason)
    }
}

/// Returns the failure of a step for an error of the operating system.
pub(crate) fn failed_call(step: SpawnPhase, errno: Errno) -> LaunchFailure {
    let fault = match fault_of_step(step) {
        // The user has been looked up before.
        LaunchFault::Job if step == SpawnPhase::User => LaunchFault::Host,
        LaunchFault::Job if STORAGE_ERRORS.contains(&errno) => LaunchFault::Storage,
        own @ (LaunchFault::Job | LaunchFault::Storage | LaunchFault::Host) => own,
    };
    LaunchFailure {
        fault,
        ..LaunchFailure::of_job(step.name(), describe(step, errno))
    }
}

/// Returns whose fault a step is that fails for a reason which says nothing else.
const fn fault_of_step(step: SpawnPhase) -> LaunchFault {
    match step {
        SpawnPhase::Begin | SpawnPhase::Started | SpawnPhase::Script | SpawnPhase::Confine => {
            LaunchFault::Host
        }
        SpawnPhase::User
        | SpawnPhase::Dir
        | SpawnPhase::Input
        | SpawnPhase::Output
        | SpawnPhase::Error
        | SpawnPhase::Program => LaunchFault::Job,
    }
}

/// Returns the operating system's message without the number that Rust adds.
fn describe(step: SpawnPhase, errno: Errno) -> String {
    if [SpawnPhase::Output, SpawnPhase::Error].contains(&step) && errno == Errno::LOOP {
        return "it is a symbolic link".to_owned();
    }
    let words = io::Error::from(errno).to_string();
    words
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [SpawnPhase; 10] = [
        SpawnPhase::Begin,
        SpawnPhase::Started,
        SpawnPhase::Script,
        SpawnPhase::Confine,
        SpawnPhase::User,
        SpawnPhase::Dir,
        SpawnPhase::Input,
        SpawnPhase::Output,
        SpawnPhase::Error,
        SpawnPhase::Program,
    ];

    #[test]
    fn every_step_that_fails_has_a_side_at_fault() {
        use LaunchFault::{Host, Job, Storage};
        let table = STEPS.map(|step| {
            let of = |errno| failed_call(step, errno).fault;
            let own = failed_step(step, "").fault;
            let faults = [of(Errno::NOENT), of(Errno::NOSPC), of(Errno::BUSY), own];
            (step.name(), faults)
        });
        let expected = [
            ("start", [Host; 4]),
            ("record", [Host; 4]),
            ("script", [Host; 4]),
            ("limits", [Host; 4]),
            ("user", [Host, Host, Host, Job]),
            ("dir", [Job, Storage, Job, Job]),
            ("input", [Job, Storage, Job, Job]),
            ("output", [Job, Storage, Job, Job]),
            ("error", [Job, Storage, Job, Job]),
            ("program", [Job, Storage, Job, Job]),
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn failure_is_described_in_the_words_of_the_system() {
        let failure = failed_call(SpawnPhase::Dir, Errno::NOENT);
        assert_eq!(failure.to_string(), "dir: No such file or directory");
        let failure = failed_call(SpawnPhase::Output, Errno::LOOP);
        assert_eq!(failure.to_string(), "output: it is a symbolic link");
    }
}
