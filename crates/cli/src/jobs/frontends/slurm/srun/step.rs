//! The processes of a step, from start to end.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process_group};
use tollgate_frontends::slurm::{SlurmError, signal_words};
use tollgate_spread::hosts::JobHosts;

use super::input::StepInput;
use super::options::{SrunCall, TOOL};
use super::placement::HostTasks;
use super::{environment, signals};
use crate::jobs::frontends::slurm::failure::SlurmFailure;
use crate::operate::serve::current_program;

/// The file that holds nothing.
const NULL_FILE: &str = "/dev/null";

/// The process groups of a step that have not ended.
type LiveGroups = Arc<Mutex<Vec<Pid>>>;

/// A process of the step: a task here, or the call that runs one on another host.
struct StepProcess {
    child: Child,
    host: String,
    /// The number of the task.
    task: u32,
    is_here: bool,
}

/// The end of a process of the step.
struct StepProcessEnd {
    host: String,
    task: u32,
    is_here: bool,
    status: io::Result<ExitStatus>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepOutcome {
    /// The greatest exit code of its tasks; 128 + n after signal n.
    pub(super) code: u8,
    /// The signal that ended the task with that code, if one did.
    pub(super) signal: Option<u8>,
}

/// Runs the tasks of a step with a number.
pub(super) fn run(
    call: &SrunCall,
    hosts: &JobHosts,
    parts: &[HostTasks],
    number: Option<u32>,
) -> Result<StepOutcome, SlurmFailure> {
    let live = LiveGroups::default();
    let of_signals = Arc::clone(&live);
    let watched = signals::watch(move |signal| send(&of_signals, signal));
    watched.map_err(|error| SlurmError::of(TOOL, error.to_string()))?;
    let mut starts = StepStarts {
        call,
        facts: environment::StepFacts::new(hosts, parts, number),
        files: BTreeMap::new(),
        input: StepInput::new(parts.iter().map(|part| part.count).sum()),
    };
    let (ended, ends) = mpsc::channel();
    let mut readers = Vec::new();
    let mut n_processes = 0;
    for part in parts {
        for local in 0..part.count {
            let started = match part.host == hosts.here {
                true => starts.here(part, local),
                false => starts.elsewhere(part, local),
            };
            let mut process = started.inspect_err(|_| send(&live, Signal::KILL))?;
            starts.input.add(&mut process.child);
            if call.label {
                readers.extend(label(&mut process, starts.facts.n_tasks));
            }
            watch_end(process, Arc::clone(&live), ended.clone());
            n_processes += 1;
        }
    }
    drop(ended);
    starts.input.pass_on();
    let mut worst = StepOutcome::default();
    for end in ends.into_iter().take(n_processes) {
        let outcome = report(&end);
        if outcome.code > worst.code {
            worst = outcome;
        }
        if outcome.code != 0 && call.kills_on_failure {
            send(&live, Signal::TERM);
        }
    }
    for reader in readers {
        // A reader that panicked has printed what it could.
        let _ = reader.join();
    }
    Ok(worst)
}

/// Sends a signal to every process group of the step that has not ended.
fn send(live: &LiveGroups, signal: Signal) {
    let groups = live.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.iter() {
        // It may have ended meanwhile.
        let _ = kill_process_group(*group, signal);
    }
}

/// Waits for the end of a process in a thread of its own.
fn watch_end(process: StepProcess, live: LiveGroups, ended: mpsc::Sender<StepProcessEnd>) {
    let StepProcess {
        mut child,
        host,
        task,
        is_here,
    } = process;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    live.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .extend(group);
    thread::spawn(move || {
        let status = child.wait();
        let mut groups = live.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|known| Some(*known) != group);
        drop(groups);
        // The step may have been given up.
        let _ = ended.send(StepProcessEnd {
            host,
            task,
            is_here,
            status,
        });
    });
}

/// Prints how a task failed, as Slurm does, and returns its exit code as in a shell.
fn report(end: &StepProcessEnd) -> StepOutcome {
    let code = match &end.status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => u8::try_from(code).unwrap_or(1),
            (None, signal) => {
                let signal = u8::try_from(signal.unwrap_or(0)).unwrap_or(0);
                signal.saturating_add(128)
            }
        },
        Err(_) => 1,
    };
    let is_signal = match &end.status {
        Ok(status) => status.signal().is_some() || (!end.is_here && code > 128),
        Err(_) => false,
    };
    let words = match (&end.status, is_signal) {
        (Err(error), _) => error.to_string(),
        (Ok(_), true) => signal_words(code - 128).to_owned(),
        (Ok(_), false) => format!("Exited with exit code {code}"),
    };
    if code != 0 {
        // A closed standard error is ignored.
        let _ = writeln!(
            io::stderr().lock(),
            "{TOOL}: error: {}: task {}: {words}",
            end.host,
            end.task
        );
    }
    StepOutcome {
        code,
        signal: is_signal.then(|| code.saturating_sub(128)),
    }
}

/// Starts the processes of a step.
struct StepStarts<'a> {
    call: &'a SrunCall,
    facts: environment::StepFacts,
    /// The files that are open, by their names: tasks with the same name share one.
    files: BTreeMap<String, File>,
    input: StepInput,
}

impl StepStarts<'_> {
    /// Starts a task on this host.
    fn here(&mut self, part: &HostTasks, local: u32) -> Result<StepProcess, SlurmFailure> {
        let task = part.first + local;
        let mut words = self.call.command.iter();
        let program = words.next().map(String::as_str).unwrap_or_default();
        let mut command = Command::new(program);
        command.args(words);
        self.facts.set(&mut command, self.call, part);
        command.env("SLURM_PROCID", task.to_string());
        command.env("SLURM_LOCALID", local.to_string());
        self.start(command, part, task, true).map_err(|error| {
            // The system's own words, without its number.
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default();
            let host = &part.host;
            let message = format!("{host}: task {task}: execve(): {program}: {words}");
            SlurmFailure::from(SlurmError {
                code: 2,
                ..SlurmError::of(TOOL, message)
            })
        })
    }

    /// Starts a task on another host. Each has a call of its own, so that the failure of one ends no other.
    fn elsewhere(&mut self, part: &HostTasks, local: u32) -> Result<StepProcess, SlurmFailure> {
        let task = part.first + local;
        let line = format!(
            "export SLURM_PROCID={task} SLURM_LOCALID={local} SLURMD_NODENAME=$TOLLGATE_HOST; exec \"$@\""
        );
        let mut command = Command::new(current_program()?);
        command.args(["spread", "-n", "1", "--on", &part.host]);
        command.args(["--", "/bin/sh", "-c", &line, "sh"]);
        command.args(&self.call.command);
        self.facts.set(&mut command, self.call, part);
        let started = self.start(command, part, task, false);
        Ok(started.map_err(|error| SlurmError::of(TOOL, error.to_string()))?)
    }

    fn start(
        &mut self,
        mut command: Command,
        part: &HostTasks,
        task: u32,
        is_here: bool,
    ) -> io::Result<StepProcess> {
        if let Some(dir) = &self.call.dir {
            command.current_dir(dir);
        }
        let name = |template: &Option<String>| {
            template
                .as_deref()
                .map(|template| self.facts.file_name(template, task, part))
        };
        let (input, output, error) = (
            name(&self.call.input),
            name(&self.call.output),
            name(&self.call.error),
        );
        command.stdin(match input.as_deref() {
            Some("none") => Stdio::null(),
            Some("all") | None if is_here => self.input.next()?,
            // Nothing is passed on to other hosts.
            Some("all") | None => Stdio::null(),
            Some(file) => match file.parse::<u32>() {
                Ok(only) if only == task && is_here => Stdio::inherit(),
                Ok(_) => Stdio::null(),
                Err(_) => File::open(file)?.into(),
            },
        });
        let piped = || {
            if self.call.label {
                Stdio::piped()
            } else {
                Stdio::inherit()
            }
        };
        match output.as_deref() {
            None | Some("all") => command.stdout(piped()),
            Some(file) => command.stdout(self.open(file)?),
        };
        match error.as_deref().or(output.as_deref()) {
            None | Some("all") => command.stderr(piped()),
            Some(file) => command.stderr(self.open(file)?),
        };
        // Signals reach the tasks through this process alone.
        command.process_group(0);
        Ok(StepProcess {
            child: command.spawn()?,
            host: part.host.clone(),
            task,
            is_here,
        })
    }

    /// Opens a file for output; the first start empties it.
    fn open(&mut self, name: &str) -> io::Result<File> {
        let name = if name == "none" { NULL_FILE } else { name };
        if let Some(open) = self.files.get(name) {
            return open.try_clone();
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = options.open(name)?;
        if !self.call.append && name != NULL_FILE {
            file.set_len(0)?;
        }
        let clone = file.try_clone()?;
        self.files.insert(name.to_owned(), file);
        Ok(clone)
    }
}

/// Passes the lines of a task on with its number before each, in threads of their own.
fn label(process: &mut StepProcess, n_tasks: u32) -> Vec<JoinHandle<()>> {
    let width = n_tasks.saturating_sub(1).to_string().len();
    let mark = format!("{:>width$}: ", process.task);
    let mut threads = Vec::new();
    if let Some(stream) = process.child.stdout.take() {
        let mark = mark.clone();
        threads.push(thread::spawn(move || {
            pass_on(stream, &mark, &mut io::stdout())
        }));
    }
    if let Some(stream) = process.child.stderr.take() {
        threads.push(thread::spawn(move || {
            pass_on(stream, &mark, &mut io::stderr())
        }));
    }
    threads
}

/// Passes lines on until the stream ends. A reader that has gone is ignored: the task gets no signal for it.
fn pass_on(stream: impl Read, mark: &str, to: &mut impl Write) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream
        .read_until(b'\n', &mut line)
        .is_ok_and(|count| count > 0)
    {
        let mut text = mark.as_bytes().to_vec();
        text.append(&mut line);
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        let _ = to.write_all(&text).and_then(|()| to.flush());
    }
}
