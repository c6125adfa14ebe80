//! A stand-in for Slurm: its commands are functions, its jobs are processes of this host.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_batch::{CommandAnswer, EngineCommand};
use tollgate_batch_engine::CommandRunner;
use tollgate_sites::ShellError;

/// The engine. Clones are the same engine.
#[derive(Clone, Default)]
pub(crate) struct StandIn(Arc<Mutex<StandInState>>);

#[derive(Default)]
struct StandInState {
    jobs: Vec<StandInJob>,
    /// The outcomes of the next submissions, the last first.
    faults: Vec<SubmitFault>,
    /// Number of commands of any kind that fail from now on.
    outage: u32,
    commands: Vec<String>,
}

struct StandInJob {
    name: String,
    process: Option<Child>,
    state: &'static str,
}

/// A fault of one submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmitFault {
    /// The job is accepted, and the answer is lost.
    LostAnswer,
    /// The job is accepted, and the command hangs until it is killed.
    Hangs,
    /// The job is accepted twice.
    Twice,
    /// The controller cannot be reached.
    Unreachable,
    /// The user has too many jobs.
    Full,
    /// The partition does not take the job.
    Refused,
    /// Nothing that is known.
    Unreadable,
}

impl StandIn {
    /// Applies these faults to the next submissions, in this order.
    pub(crate) fn with_faults(faults: &[SubmitFault]) -> Self {
        let engine = Self::default();
        engine.lock().faults = faults.iter().rev().copied().collect();
        engine
    }

    /// Fails this number of commands.
    pub(crate) fn fail(&self, commands: u32) {
        self.lock().outage = commands;
    }

    /// Returns the number of jobs that were ever accepted.
    pub(crate) fn n_jobs(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Returns the names of the programs that were run.
    pub(crate) fn programs(&self) -> Vec<String> {
        self.lock().commands.clone()
    }

    /// Kills the processes of all jobs, as a node that fails does.
    pub(crate) fn kill_jobs(&self) {
        for job in &mut self.lock().jobs {
            if let Some(process) = &mut job.process {
                let _ = process.kill();
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, StandInState> {
        self.0.lock().expect("no test panics under this lock")
    }
}

impl CommandRunner for StandIn {
    fn run(&self, command: &EngineCommand) -> Result<CommandAnswer, ShellError> {
        let mut state = self.lock();
        let program = command.program().to_owned();
        state.commands.push(program.clone());
        if state.outage > 0 {
            state.outage -= 1;
            return Ok(failed(
                "Unable to contact slurm controller (connect failure)",
            ));
        }
        match program.as_str() {
            "sbatch" => state.submit(command),
            "squeue" => Ok(done(state.states())),
            "scancel" => {
                state.cancel(command);
                Ok(done(String::new()))
            }
            "sinfo" => Ok(done(
                match command.words.iter().any(|word| word == "--Node") {
                    true => "n1|tollgate*|4|4000|idle\nn2|tollgate*|4|4000|down*\n".to_owned(),
                    false => "tollgate*|2:00:00|2|4|4000\n".to_owned(),
                },
            )),
            "sacct" => Ok(failed("Slurm accounting storage is disabled")),
            other => Ok(failed(&format!("{other}: not known"))),
        }
    }
}

impl StandInState {
    fn submit(&mut self, command: &EngineCommand) -> Result<CommandAnswer, ShellError> {
        let fault = self.faults.pop();
        match fault {
            Some(SubmitFault::Unreachable) => {
                return Ok(failed(
                    "Unable to contact slurm controller (connect failure)",
                ));
            }
            Some(SubmitFault::Full) => return Ok(failed("Job violates accounting/QOS policy")),
            Some(SubmitFault::Refused) => {
                return Ok(failed("Requested node configuration is not available"));
            }
            Some(SubmitFault::Unreadable) => return Ok(failed("purple")),
            Some(SubmitFault::LostAnswer | SubmitFault::Hangs | SubmitFault::Twice) | None => {}
        }
        let name = command
            .words
            .iter()
            .find_map(|word| word.strip_prefix("--job-name="));
        let name = name.expect("a name").to_owned();
        let copies = if fault == Some(SubmitFault::Twice) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let process = run_script(&command.input).expect("a shell");
            self.jobs.push(StandInJob {
                name: name.clone(),
                process: Some(process),
                state: "RUNNING",
            });
        }
        match fault {
            Some(SubmitFault::LostAnswer) => Ok(failed("sbatch: error: Connection reset by peer")),
            Some(SubmitFault::Hangs) => Err(ShellError::TimedOut {
                program: "sbatch".to_owned(),
                limit: Duration::from_secs(30),
            }),
            _ => Ok(done(format!("{}\n", self.jobs.len()))),
        }
    }

    fn states(&mut self) -> String {
        let mut text = String::new();
        for (at, job) in self.jobs.iter_mut().enumerate() {
            if let Some(status) = job
                .process
                .as_mut()
                .and_then(|process| process.try_wait().ok()?)
            {
                job.process = None;
                job.state = match status.success() {
                    true => "COMPLETED",
                    false => "NODE_FAIL",
                };
            }
            let start = "2026-11-23T00:00:00";
            let (id, state, name) = (at + 1, job.state, &job.name);
            let _ = writeln!(text, "{id}|{state}|{start}|{start}|{start}|None|{name}");
        }
        text
    }

    fn cancel(&mut self, command: &EngineCommand) {
        for word in &command.words {
            let id = word.parse::<usize>().ok();
            let job = id.and_then(|id| self.jobs.get(id.checked_sub(1)?));
            if let Some(process) = job.and_then(|job| job.process.as_ref()) {
                let _ = kill_process(Pid::from_child(process), Signal::TERM);
            }
        }
    }
}

impl Drop for StandInState {
    fn drop(&mut self) {
        for process in self.jobs.iter_mut().filter_map(|job| job.process.as_mut()) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn run_script(script: &str) -> io::Result<Child> {
    let mut shell = Command::new("sh");
    let shell = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut shell = shell.env_clear().spawn()?;
    let mut input = shell.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(script.as_bytes())?;
    drop(input);
    Ok(shell)
}

fn done(output: String) -> CommandAnswer {
    CommandAnswer {
        output,
        ..CommandAnswer::default()
    }
}

fn failed(message: &str) -> CommandAnswer {
    CommandAnswer {
        exit: 1,
        errors: format!("{message}\n"),
        ..CommandAnswer::default()
    }
}
