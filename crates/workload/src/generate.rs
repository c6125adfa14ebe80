//! The embedded default workload: jobs like those of the published subset of SDSC SP2.
//!
//! The code holds nothing of the trace but a few dozen quantiles and shares, measured on its last 5000
//! records. They are combined so that the properties that policies react to come out alike. These are when
//! users submit (day, week, busy days, sessions), how wide and how long jobs are, and above all how wrong
//! estimates are. Most estimates are several times too long; a few are overrun by the half minute that it
//! takes to kill a job at its limit.

mod calendar;
mod curve;
mod latent;
mod machine;
mod outcome;
mod request;
mod user;

use tollgate_model::{Instant, Span};

use self::calendar::SubmissionCalendar;
pub use self::machine::GeneratedMachine;
use self::user::{GeneratedJob, GeneratedSession, UserPopulation};
use crate::rng::{StreamFamily, StreamPurpose};
use tollgate_trace::ColumnSelection;
use tollgate_trace::RecordNames;
use tollgate_trace::TraceUsage;
use tollgate_trace::{Trace, TraceJob, TraceMetadata};

/// A generator of traces: the same trace for the same settings, on every platform and in every
/// version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkloadGenerator {
    /// Number of jobs, at least 1 to be of use. Default 5000.
    pub jobs: usize,
    /// Seed of the draws. Default 864: of the first 2000 seeds, its 5000 jobs come nearest to the
    /// published means; other seeds scatter by a tenth around them.
    pub seed: u64,
    /// The machine that gives the jobs their widths and their arrivals. Default SDSC SP2.
    pub machine: GeneratedMachine,
    /// Whether users, groups and executables have names.
    pub columns: ColumnSelection,
}

impl Default for WorkloadGenerator {
    fn default() -> Self {
        Self {
            jobs: 5000,
            seed: 864,
            machine: GeneratedMachine::SdscSp2,
            columns: ColumnSelection::Core,
        }
    }
}

impl WorkloadGenerator {
    /// Generates the trace, in order of submission. Its clock starts on a Monday at midnight; the
    /// times are whole seconds, as in the archive.
    pub fn trace(&self) -> Trace {
        let mut drafts = self.session_jobs();
        drafts.sort_by_key(|draft| draft.submit_s);
        drafts.truncate(self.jobs);
        self.machine.stretch(&mut drafts);
        let mut trace = Trace::empty("the embedded workload");
        trace.max_procs = Some(self.machine.nodes());
        trace.max_nodes = Some(self.machine.nodes());
        trace.jobs = (1..)
            .zip(&drafts)
            .map(|(number, draft)| record(number, draft))
            .collect();
        trace.metadata = match self.columns {
            ColumnSelection::Core => None,
            ColumnSelection::All => Some(names(&drafts)),
        };
        trace
    }

    /// Returns at least as many jobs as are wanted, by session.
    fn session_jobs(&self) -> Vec<GeneratedJob> {
        let sessions = self.sessions();
        let span_s = self.machine.span_s(self.jobs, sessions.iter().flatten());
        let calendar = SubmissionCalendar::new(self.seed, span_s);
        let starts = calendar.arrivals(self.seed, sessions.len());
        let mut drafts = Vec::with_capacity(self.jobs);
        for (session, start_s) in sessions.into_iter().zip(starts) {
            for mut draft in session {
                draft.submit_s += start_s as i64;
                drafts.push(draft);
            }
        }
        drafts
    }

    fn sessions(&self) -> Vec<GeneratedSession> {
        let mut users = UserPopulation::new(self.machine, self.seed);
        let family = StreamFamily::new(self.seed, StreamPurpose::Sessions);
        let mut sessions = Vec::new();
        let mut jobs = 0;
        while jobs < self.jobs {
            let mut stream = family.stream(sessions.len() as u64);
            let session = users.session(&mut stream);
            jobs += session.len();
            sessions.push(session);
        }
        sessions
    }
}

fn record(number: u64, draft: &GeneratedJob) -> TraceJob {
    TraceJob {
        number,
        submit: Instant::from_secs(draft.submit_s),
        runtime: Span::from_secs(draft.runtime_s),
        estimate: Span::from_secs(draft.request.estimate_s),
        is_estimated: true,
        procs: draft.request.procs,
    }
}

fn names(drafts: &[GeneratedJob]) -> TraceMetadata {
    let mut metadata = TraceMetadata::default();
    for draft in drafts {
        let user = format!("user{}", draft.user);
        let group = format!("group{}", draft.user / 2);
        let executable = format!("{user}/program{}", draft.program);
        let names = RecordNames {
            user: user.as_bytes(),
            group: group.as_bytes(),
            executable: executable.as_bytes().into(),
            ..RecordNames::default()
        };
        metadata.push(names, TraceUsage::default());
    }
    metadata
}
