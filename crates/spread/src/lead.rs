//! The process in the job that starts the copies and passes their output on.

mod connection;
mod start;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use start::PartStarter;
use tollgate_engine::PartEvent;

use crate::hosts::{HostCopies, JobHosts, JobHostsError};
use crate::message::{CopyOrder, LeadMessage, PartMessage};
use crate::part::STOP_TIMEOUT;
use tollgate_sealed::ListenError;
use tollgate_sealed::SealedWriter;

/// Maximum time from a request until the part is connected.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time from asking copies to end until they are given up. A part kills its copies sooner.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(STOP_TIMEOUT.as_secs() + 5);
/// The exit code of a copy whose program cannot be started, as of a shell.
const CANNOT_START: u8 = 127;
/// The exit code after the loss of a host.
const LOST: u8 = 1;
/// Number of the signal of a closed output.
const SIGPIPE: u8 = 13;

/// The program to spread.
#[derive(Clone, Debug)]
pub struct SpreadOptions {
    /// The number of copies; None for one on each host.
    pub copies: Option<u32>,
    /// The only host; None for all hosts of the job.
    pub on: Option<String>,
    /// The program and its arguments. At least one word.
    pub command: Vec<OsString>,
    /// The program of this workspace, which runs the copies of this host.
    pub program: PathBuf,
}

/// An error that keeps copies from being started.
#[derive(Debug, thiserror::Error)]
pub enum SpreadError {
    /// The copies cannot be assigned to hosts.
    #[error(transparent)]
    Hosts(#[from] JobHostsError),
    /// The other hosts cannot reach this one.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A call to the operating system failed.
    #[error("{action}: {error}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// An event of a lead.
pub(crate) enum LeadEvent {
    /// A part is connected, and waits for its order.
    Joined(usize, Box<SealedWriter>),
    /// A copy of a part has ended, or could not be started.
    Message(usize, PartMessage),
    /// The connection of a part is gone.
    Closed(usize),
    /// The service tells what became of a part.
    Reported(usize, PartEvent),
    /// Standard output or standard error is closed.
    OutputClosed,
    /// A signal asks this process to end.
    Signal(u8),
}

/// A part, as its lead knows it.
struct LeadPart {
    host: String,
    /// The ranks of the copies that have not ended.
    ranks: BTreeSet<u32>,
    /// The connection, as long as there is one.
    writer: Option<Box<SealedWriter>>,
    has_joined: bool,
    is_over: bool,
}

/// The state of a lead.
struct SpreadLead {
    parts: Vec<LeadPart>,
    order: CopyOrder,
    /// The exit code, from the first failure.
    code: u8,
    /// Until when copies that were asked to end are waited for.
    give_up_at: Option<Instant>,
    join_by: Instant,
    /// Receives one sentence for each failure.
    print_warning: fn(&str),
}

/// Runs copies of a program on the hosts of the job to their end, and passes their output on by the line.
/// Returns 0 if all of them do, and else the exit code of the first that failed, which ends the others;
/// 128 + n after signal n. `print_warning` receives one sentence for each failure.
///
/// # Errors
/// If this process does not belong to a job, or no copy can be started.
pub fn spread(options: &SpreadOptions, print_warning: fn(&str)) -> Result<u8, SpreadError> {
    let job = JobHosts::from_environment()?;
    let copies = job.assign(options.copies, options.on.as_deref())?;
    let (to, events) = mpsc::channel();
    let on_signal = to.clone();
    let failed = |action| move |error| SpreadError::System { action, error };
    crate::signals::watch(move |signal| drop(on_signal.send(LeadEvent::Signal(signal))))
        .map_err(failed("signals cannot be waited for"))?;
    let order = order(options, &copies).map_err(failed("the working directory cannot be found"))?;
    let mut lead = SpreadLead::new(&copies, order, print_warning);
    let mut starter = PartStarter::new(&job, &copies, &options.program, &to)?;
    for (index, copies) in copies.iter().enumerate() {
        starter
            .start(index, &copies.host)
            .map_err(failed("the copies of this host cannot be started"))?;
    }
    lead.run(&events);
    // The local part ends with its connection.
    drop(lead.parts);
    starter.wait();
    Ok(lead.code)
}

fn order(options: &SpreadOptions, copies: &[HostCopies]) -> io::Result<CopyOrder> {
    let total: usize = copies.iter().map(|copies| copies.ranks.len()).sum();
    let env = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    Ok(CopyOrder {
        argv: options
            .command
            .iter()
            .map(|word| word.clone().into_vec())
            .collect(),
        env: env.collect(),
        dir: env::current_dir()?.into_os_string().into_vec(),
        ranks: Vec::new(),
        total: u32::try_from(total).unwrap_or(u32::MAX),
    })
}

impl SpreadLead {
    fn new(copies: &[HostCopies], order: CopyOrder, print_warning: fn(&str)) -> Self {
        let part = |copies: &HostCopies| LeadPart {
            host: copies.host.clone(),
            ranks: copies.ranks.iter().copied().collect(),
            writer: None,
            has_joined: false,
            is_over: false,
        };
        Self {
            parts: copies.iter().map(part).collect(),
            order,
            code: 0,
            give_up_at: None,
            join_by: Instant::now() + JOIN_TIMEOUT,
            print_warning,
        }
    }

    /// Handles events until all parts are over, or were waited for long enough.
    fn run(&mut self, events: &Receiver<LeadEvent>) {
        while self.parts.iter().any(|part| !part.is_over) {
            let now = Instant::now();
            if self.give_up_at.is_some_and(|at| now >= at) {
                return;
            }
            let late = self
                .parts
                .iter()
                .any(|part| !part.has_joined && !part.is_over);
            let join_by = Some(self.join_by).filter(|_| late);
            let next = self.give_up_at.into_iter().chain(join_by).min();
            let wait = next.map_or(Duration::from_secs(3_600), |at| {
                at.saturating_duration_since(now)
            });
            match events.recv_timeout(wait) {
                Ok(event) => self.on_event(event),
                Err(RecvTimeoutError::Timeout) => self.on_timeout(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn on_event(&mut self, event: LeadEvent) {
        match event {
            LeadEvent::Joined(index, writer) => self.on_joined(index, writer),
            LeadEvent::Message(index, PartMessage::Exited { rank, code }) => {
                self.on_ended(index, rank, code);
            }
            LeadEvent::Message(index, PartMessage::Failed { rank, reason }) => {
                let host = self.parts[index].host.clone();
                self.fail(CANNOT_START, &format!("host {host}: the program: {reason}"));
                self.on_ended(index, rank, CANNOT_START);
            }
            // Output was passed on already, and a part is ready once.
            LeadEvent::Message(_, PartMessage::Ready | PartMessage::Output(..)) => {}
            LeadEvent::Closed(index) => self.on_closed(index),
            LeadEvent::Reported(_, PartEvent::Started) => {}
            LeadEvent::Reported(index, PartEvent::Ended(why) | PartEvent::Refused(why)) => {
                self.on_reported_end(index, &why);
            }
            LeadEvent::OutputClosed => self.stop(128 + SIGPIPE),
            LeadEvent::Signal(signal) => self.stop(128 + signal),
        }
    }

    fn on_joined(&mut self, index: usize, mut writer: Box<SealedWriter>) {
        let Some(part) = self.parts.get_mut(index).filter(|part| !part.has_joined) else {
            // Dropping the connection ends the process on the other end.
            return;
        };
        part.has_joined = true;
        if self.give_up_at.is_some() {
            part.is_over = true;
            return;
        }
        let order = CopyOrder {
            ranks: part.ranks.iter().copied().collect(),
            ..self.order.clone()
        };
        // A connection that takes nothing is found closed.
        let _ = writer.send(&LeadMessage::Run(Box::new(order)));
        part.writer = Some(writer);
    }

    fn on_ended(&mut self, index: usize, rank: u32, code: u8) {
        let part = &mut self.parts[index];
        part.ranks.remove(&rank);
        if part.ranks.is_empty() {
            part.is_over = true;
            part.writer = None;
        }
        if code != 0 {
            self.stop(code);
        }
    }

    fn on_closed(&mut self, index: usize) {
        let part = &mut self.parts[index];
        part.writer = None;
        if !std::mem::replace(&mut part.is_over, true) {
            let host = part.host.clone();
            self.fail(
                LOST,
                &format!("host {host}: its copies ended without an exit code"),
            );
        }
    }

    /// Handles the end of a part that is not connected. The end of a connection says more.
    fn on_reported_end(&mut self, index: usize, why: &str) {
        let part = &mut self.parts[index];
        if part.has_joined || std::mem::replace(&mut part.is_over, true) {
            return;
        }
        let host = part.host.clone();
        self.fail(LOST, &format!("host {host}: {why}"));
    }

    fn on_timeout(&mut self) {
        if Instant::now() < self.join_by {
            return;
        }
        for index in 0..self.parts.len() {
            let part = &mut self.parts[index];
            if !part.has_joined && !std::mem::replace(&mut part.is_over, true) {
                let host = part.host.clone();
                self.fail(LOST, &format!("host {host}: no connection from there"));
            }
        }
    }

    /// Reports a failure, unless copies are being ended because of another.
    fn fail(&mut self, code: u8, sentence: &str) {
        if self.give_up_at.is_none() {
            (self.print_warning)(sentence);
        }
        self.stop(code);
    }

    /// Asks all copies to end. The first reason gives the exit code.
    fn stop(&mut self, code: u8) {
        if self.give_up_at.is_some() {
            return;
        }
        self.code = code;
        self.give_up_at = Some(Instant::now() + GIVE_UP_TIMEOUT);
        for part in &mut self.parts {
            match &mut part.writer {
                Some(writer) => drop(writer.send(&LeadMessage::Stop)),
                // A part that connects from now on is sent away, and need not be waited for.
                None => part.is_over = true,
            }
        }
    }
}

/// Sends an event; the lead may have ended.
pub(crate) fn send_event(to: &Sender<LeadEvent>, event: LeadEvent) {
    let _ = to.send(event);
}
