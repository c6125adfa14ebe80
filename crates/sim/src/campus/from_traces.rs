//! A campus from records: the operator's own log-ins and tasks in place of the synthetic ones.

use tollgate_grid_policies::select::CampusComputer;
use tollgate_model::{Instant, NodeId, Span};
use tollgate_trace::logins::{ComputerPresence, LoginTrace};
use tollgate_trace::usage::TraceStatus;
use tollgate_trace::{Trace, TraceAttemptEnd};
use tollgate_workload::rng::{StreamFamily, StreamPurpose};

use super::layout::CampusLayout;
use super::sessions::{CampusSessions, UserSession};
use super::settings::CampusConfig;
use super::tasks::{CampusTask, TaskTruth};

/// The options for reading records as a campus.
#[derive(Clone, Debug, PartialEq)]
pub struct CampusTraceOptions {
    /// Computers at each place that the log-ins name; at least 1. A user takes the first free
    /// computer.
    pub computers: u32,
    /// Time of the daily reboot of every computer, after midnight UTC; None if there are no
    /// reboots.
    pub reboot: Option<Span>,
    /// Power, losses of allocations, and the distribution of session lengths. Sessions without a
    /// recorded end draw their length as on the synthetic campus.
    pub settings: CampusConfig,
}

/// Notes on the conversion of records, beyond their contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CampusTraceNotes {
    /// Number of sessions without an end: their lengths were drawn.
    pub ends_drawn: usize,
    /// Number of log-ins at a place all of whose computers were taken: dropped.
    pub crowded: usize,
    /// Number of jobs that never ran: dropped.
    pub never_ran: usize,
    /// Number of jobs on several processors: each is a task of one computer.
    pub wide: usize,
    /// Number of weeks by which the log-ins were moved to the time of the tasks.
    pub weeks_moved: i64,
    /// Number of tasks that their users cancelled while they waited or ran.
    pub removed: usize,
    /// Number of tasks that were evicted and not tried again.
    pub abandoned: usize,
}

/// Time after the end of the records without log-ins, so that waiting tasks may end.
const DRAIN_PERIOD: Span = Span::from_secs(7 * 86_400);
const WEEK_US: i64 = 7 * 86_400_000_000;

/// The Unix epoch was a Thursday: three days after a Monday.
const EPOCH_AFTER_MONDAY_US: i64 = 3 * 86_400_000_000;

/// Returns the last Monday, midnight UTC, that is not after a Unix time.
fn monday(unix: Instant) -> Instant {
    let weeks = (unix.as_micros() + EPOCH_AFTER_MONDAY_US).div_euclid(WEEK_US);
    Instant::from_micros(weeks * WEEK_US - EPOCH_AFTER_MONDAY_US)
}

/// Builds a campus from log-ins and tasks. Log-ins of another time than the tasks' are moved by
/// whole weeks, so that both begin in the same week. None if no job ever ran.
pub fn environment(
    trace: &Trace,
    logins: &LoginTrace,
    reading: &CampusTraceOptions,
) -> Option<(super::CampusEnvironment, CampusTraceNotes)> {
    let mut notes = CampusTraceNotes::default();
    let mut tasks = tasks(trace, &mut notes);
    let unix = |trace_time: Instant| {
        trace.unix_start.unwrap_or(Instant::ZERO) + trace_time.since(Instant::ZERO)
    };
    let first = unix(tasks.first()?.submit);
    let last = unix(tasks.last()?.submit);
    let origin = monday(first);
    let begin = logins.sessions.first()?.from;
    let ends = logins.sessions.iter().map(|one| one.to.unwrap_or(one.from));
    let end = ends.max()?;
    if trace.unix_start.is_none() || end < first || last < begin {
        let shift_us = origin.since(monday(begin)).as_micros();
        notes.weeks_moved = shift_us / WEEK_US;
    }
    let moved = Span::from_micros(notes.weeks_moved * WEEK_US);
    let horizon = Instant::ZERO + (end + moved).max(last).since(origin) + DRAIN_PERIOD;
    for task in &mut tasks {
        let later = unix(Instant::ZERO).since(origin);
        task.submit += later;
        if let TaskTruth::Bad { removed } = &mut task.truth {
            *removed += later;
        }
    }
    let clock = |unix: Instant| Instant::ZERO + (unix + moved).since(origin);
    let sessions = sessions(logins, reading, clock, &mut notes);
    let layout = layout(sessions.len(), reading);
    let sessions = CampusSessions::of(sessions, horizon);
    let campus = super::CampusEnvironment::of(layout, sessions, tasks, &reading.settings);
    Some((campus, notes))
}

/// Returns every job that ran, in order of submission. A job cancelled by its user is bad: its user
/// cancels it after the same time as in the record. So is one that was evicted and not tried again, which goes on to
/// the end of the record: how long it would take is not known. Of several attempts the last gives the run time
/// of the job, if that attempt finished.
fn tasks(trace: &Trace, notes: &mut CampusTraceNotes) -> Vec<CampusTask> {
    let mut tasks = Vec::with_capacity(trace.jobs.len());
    let usage_of = |row: usize| trace.metadata.as_ref()?.usage.get(row);
    let wait_of = |row: usize| usage_of(row).and_then(|usage| usage.wait);
    let ends = trace.jobs.iter().enumerate().map(|(row, job)| {
        let wait = wait_of(row).unwrap_or(Span::ZERO);
        job.submit + wait + job.runtime.max(Span::ZERO)
    });
    let end_of_record = ends.max().unwrap_or(Instant::ZERO);
    for (row, job) in trace.jobs.iter().enumerate() {
        let metadata = trace.metadata.as_ref();
        let status = usage_of(row).map(|usage| usage.status);
        let attempts = metadata.and_then(|metadata| metadata.attempts.as_ref());
        let finished = attempts.and_then(|attempts| attempts.of(row).last());
        let finished = finished.filter(|attempt| attempt.ended == TraceAttemptEnd::Finished);
        let runtime = finished.map_or(job.runtime, |attempt| attempt.span());
        let wait = wait_of(row).unwrap_or(Span::ZERO);
        let taken_back = status == Some(TraceStatus::Cancelled);
        let is_abandoned = status == Some(TraceStatus::Preempted);
        let truth = if is_abandoned {
            notes.abandoned += 1;
            TaskTruth::Bad {
                removed: end_of_record,
            }
        } else if taken_back && job.runtime.max(wait) > Span::ZERO {
            notes.removed += 1;
            TaskTruth::Bad {
                removed: job.submit + wait + job.runtime.max(Span::ZERO),
            }
        } else if runtime >= Span::ZERO && !taken_back {
            let runtime = runtime.max(Span::TICK);
            TaskTruth::Good { runtime }
        } else {
            notes.never_ran += 1;
            continue;
        };
        notes.wide += usize::from(job.procs > 1);
        tasks.push(CampusTask {
            submit: job.submit,
            transfer: Span::ZERO,
            truth,
        });
    }
    tasks.sort_by_key(|task| task.submit);
    tasks
}

/// Returns the sessions by computer, the computers of each place one after another.
fn sessions(
    logins: &LoginTrace,
    reading: &CampusTraceOptions,
    clock: impl Fn(Instant) -> Instant,
    notes: &mut CampusTraceNotes,
) -> Vec<Vec<UserSession>> {
    let each = reading.computers as usize;
    let mut computers: Vec<Vec<UserSession>> = vec![Vec::new(); logins.places().len() * each];
    let lengths = StreamFamily::new(reading.settings.seed, StreamPurpose::LogIns);
    for (number, one) in logins.sessions.iter().enumerate() {
        if one.presence == ComputerPresence::Available {
            continue;
        }
        let from = clock(one.from);
        let to = one.to.map(&clock).unwrap_or_else(|| {
            notes.ends_drawn += 1;
            let mut stream = lengths.stream(number as u64);
            from + reading.settings.users.length(&mut stream)
        });
        let first = one.place.index() * each;
        let own = &mut computers[first..first + each];
        let is_free =
            |computer: &&mut Vec<UserSession>| computer.last().is_none_or(|last| last.to < from);
        match own.iter_mut().find(is_free) {
            Some(computer) => computer.push(UserSession { from, to }),
            // At a single computer one session continues into the next.
            None if each == 1 => own[0].push(UserSession { from, to }),
            None => notes.crowded += 1,
        }
    }
    computers
}

/// Builds a layout in which each place is a cluster, with the power of the synthetic campus.
fn layout(computers: usize, reading: &CampusTraceOptions) -> CampusLayout {
    let power = &reading.settings.power;
    let computer = |number: u32| {
        let (cluster, place) = (number / reading.computers, number % reading.computers);
        CampusComputer {
            cluster,
            power: power[(cluster as usize + place as usize) % power.len()],
        }
    };
    let nodes = (0..computers as u32).map(NodeId);
    CampusLayout {
        computers: nodes.map(|node| computer(node.0)).collect(),
        reboots: vec![reading.reboot; computers],
    }
}
