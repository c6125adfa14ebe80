//! A job that says what works at a site.

mod clock;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::{
    BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, EngineCommand, QueueLimits, RecordAge,
};
use tollgate_model::{Instant, Span};

use self::clock::{clock_error, slow_start};
use crate::control::SiteControl;
use crate::core_speed::CoreSpeed;
use crate::error::SiteError;
use crate::journal::now;
use crate::node_size::{describe, excess, own_queues};
use crate::script::probe_script;

/// The shortest and the longest pause between two looks at the probe.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(10)];
/// How long the file of a probe that ended may take to appear: caches of network file systems.
const FILE_LIMIT: Duration = Duration::from_secs(5);

/// One thing that works at a site or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFinding {
    /// The thing: `commands`, `limits`, `submission`, `wait`, `directory`, `clock`, `program`, `service`.
    pub what: &'static str,
    /// Whether it works.
    pub outcome: ProbeOutcome,
    /// A sentence about it.
    pub text: String,
}

/// Whether something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It works.
    Works,
    /// It does not work, and pilots need it.
    Fails,
    /// It was not looked at, because something before it fails.
    Unknown,
}

/// A look at everything that pilots need at a site.
pub struct SiteProbe<'a> {
    control: &'a SiteControl,
    /// The command that runs on the node, and prints `reached yes` or `reached no` and a reason.
    pub words: Vec<String>,
    /// How long the probe may wait and run.
    pub timeout: Duration,
}

impl<'a> SiteProbe<'a> {
    /// Returns a probe whose job runs the command `words` on the node.
    pub fn new(control: &'a SiteControl, words: Vec<String>, timeout: Duration) -> Self {
        Self {
            control,
            words,
            timeout,
        }
    }

    /// Looks at everything in turn, and calls `report` with each finding as soon as it is known.
    /// Returns whether all of it works, and the speed of a core of the node.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn run(
        &self,
        mut report: impl FnMut(&ProbeFinding),
    ) -> Result<(bool, Option<CoreSpeed>), SiteError> {
        let mut works = true;
        let mut report = |what, outcome, text: String| {
            works &= outcome == ProbeOutcome::Works;
            report(&ProbeFinding {
                what,
                outcome,
                text,
            });
        };
        let speed = self.look(&mut report)?;
        Ok((works, speed))
    }

    fn look(
        &self,
        judge: &mut impl FnMut(&'static str, ProbeOutcome, String),
    ) -> Result<Option<CoreSpeed>, SiteError> {
        use ProbeOutcome::{Fails, Unknown, Works};

        let began = MonotonicInstant::now();
        let states = self.control.dialect().states();
        match self
            .control
            .query(&states, |dialect, answer| dialect.parse_states(answer))
        {
            Ok(_) => {
                let took = Span::from_secs_f64(began.elapsed().as_secs_f64());
                let program = states.program();
                judge(
                    "commands",
                    Works,
                    format!("{program} answers in {}", seconds(took)),
                );
            }
            Err(error) => {
                judge("commands", Fails, error.to_string());
                return Ok(None);
            }
        }
        match self.control.queue_limits() {
            Ok(queues) => match self.misfit(&queues) {
                None => judge("limits", Works, describe(&queues)),
                Some(misfit) => {
                    // The job would wait in vain, or be refused.
                    judge("limits", Fails, format!("{misfit}: {}", describe(&queues)));
                    return Ok(None);
                }
            },
            Err(error) => judge("limits", Unknown, error.to_string()),
        }
        let file = self.fresh_file()?;
        let shared = file.to_string_lossy().into_owned();
        let name = self
            .control
            .name_with(&format!("p{}", now().as_micros() / 1_000_000));
        let script = probe_script(self.control.settings(), &self.words, &shared);
        let command = self
            .control
            .dialect()
            .submit(&self.control.job_named(name.clone(), script));
        let answer = self.control.run(&command);
        let id = answer.and_then(|answer| {
            let id = self.control.dialect().parse_submit(&answer);
            id.map_err(|fault| self.control.engine_error(&command, fault))
        });
        let id = match id {
            Ok(id) => id,
            Err(error) => {
                judge("submission", Fails, error.to_string());
                return Ok(None);
            }
        };
        judge("submission", Works, format!("job {id}"));
        let submitted = now();
        let report = match self.wait(&name, id)? {
            Ok(report) => report,
            Err(text) => {
                judge("wait", Fails, text);
                return Ok(None);
            }
        };
        let waited = match report.as_ref().and_then(|report| report.started) {
            Some(started) => {
                // The engine's clock has whole seconds.
                let waited = started.since(submitted).max(Span::ZERO);
                format!("{} in the queue", seconds(waited))
            }
            None => "the job ended, and the engine does not say when it started".to_owned(),
        };
        judge("wait", Works, waited);
        let mut speed = None;
        match self.read(&file) {
            Some(text) => {
                speed = field(&text, "speed").and_then(CoreSpeed::parse);
                let node = field(&text, "node").unwrap_or("unknown");
                judge(
                    "directory",
                    Works,
                    format!("{shared} is there on node {node}"),
                );
                let started = report.as_ref().and_then(|report| report.started);
                self.judge_clock(&text, (submitted, started), judge);
                self.judge_node(&text, judge);
            }
            None => {
                let reason = report.map(|report| report.reason).unwrap_or_default();
                let reason = match reason.is_empty() {
                    true => String::new(),
                    false => format!(" ({reason})"),
                };
                judge(
                    "directory",
                    Fails,
                    format!("{shared} did not appear: is the directory on the nodes too?{reason}"),
                );
                judge(
                    "program",
                    Unknown,
                    "not known without the directory".to_owned(),
                );
                judge(
                    "service",
                    Unknown,
                    "not known without the directory".to_owned(),
                );
            }
        }
        Ok(speed)
    }

    /// Reports whether the clock of the node agrees with that of this host: it ran between its submission and
    /// now. Pilots leave at an instant that the engine names, by the clock of their node.
    fn judge_clock(
        &self,
        text: &str,
        (submitted, started): (Instant, Option<Instant>),
        report: &mut impl FnMut(&'static str, ProbeOutcome, String),
    ) {
        let seconds = field(text, "clock").and_then(|seconds| seconds.parse().ok());
        let Some(node) = seconds.map(Instant::from_secs) else {
            return report(
                "clock",
                ProbeOutcome::Unknown,
                "the node gives no time".to_owned(),
            );
        };
        match clock_error(node, submitted, now()) {
            None => report(
                "clock",
                ProbeOutcome::Works,
                format!("that of the node agrees{}", slow_start(node, started)),
            ),
            Some(error) => report("clock", ProbeOutcome::Fails, error),
        }
    }

    /// Reports what the probe's own command printed on the node.
    fn judge_node(&self, text: &str, report: &mut impl FnMut(&'static str, ProbeOutcome, String)) {
        use ProbeOutcome::{Fails, Unknown, Works};

        let program = &self.control.settings().program;
        let Some(version) = field(text, "version") else {
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| !line.starts_with("node "))
                .collect();
            report("program", Fails, format!("{program}: {}", lines.join("; ")));
            report(
                "service",
                Unknown,
                "not known without the program".to_owned(),
            );
            return;
        };
        let speed = field(text, "speed").and_then(CoreSpeed::parse);
        let speed = speed.map(|speed| format!(", {speed} a core"));
        report(
            "program",
            Works,
            format!("{program}, version {version}{}", speed.unwrap_or_default()),
        );
        match field(text, "reached") {
            Some("yes") => report("service", Works, "the node reaches the service".to_owned()),
            Some(reason) => report(
                "service",
                Fails,
                reason.trim_start_matches("no ").to_owned(),
            ),
            None => report(
                "service",
                Fails,
                "the probe ended before its answer".to_owned(),
            ),
        }
    }

    /// Returns how a pilot exceeds the limits of its queue. None if it is within those of one queue.
    fn misfit(&self, queues: &[QueueLimits]) -> Option<String> {
        let settings = self.control.settings();
        let own = own_queues(settings, queues);
        let excesses: Vec<String> = own
            .into_iter()
            .map(|queue| excess(settings, queue))
            .collect();
        if excesses.iter().any(String::is_empty) {
            return None;
        }
        let of_first = excesses.into_iter().next()?;
        Some(format!("a pilot does not fit: {of_first}"))
    }

    /// Waits for the end of the probe. The inner error says why there is none.
    fn wait(
        &self,
        name: &BatchJobName,
        id: BatchJobId,
    ) -> Result<Result<Option<BatchJobReport>, String>, SiteError> {
        let began = MonotonicInstant::now();
        let [mut pause, longest] = PAUSES;
        let mut seen = None;
        loop {
            let found = self.find(name, RecordAge::Live)?;
            match found {
                None => {
                    let record = self.find(name, RecordAge::Ended).ok().flatten();
                    return Ok(Ok(record.or(seen)));
                }
                Some(report) => match report.phase {
                    BatchJobPhase::Over => return Ok(Ok(Some(report))),
                    BatchJobPhase::Stuck => {
                        self.cancel(id)?;
                        return Ok(Err(format!(
                            "the engine will not run it: {}",
                            report.reason
                        )));
                    }
                    BatchJobPhase::Waits | BatchJobPhase::Runs => seen = Some(report),
                },
            }
            if began.elapsed() > self.timeout {
                self.cancel(id)?;
                let reason = seen.map(|report| report.reason).unwrap_or_default();
                let limit = Span::from_secs_f64(self.timeout.as_secs_f64());
                return Ok(Err(format!(
                    "no end within {}, cancelled; the engine says `{reason}`",
                    seconds(limit)
                )));
            }
            thread::sleep(pause);
            pause = (pause * 3 / 2).min(longest);
        }
    }

    fn find(
        &self,
        name: &BatchJobName,
        age: RecordAge,
    ) -> Result<Option<BatchJobReport>, SiteError> {
        let command = self.control.dialect().by_name(name, age);
        let found = self.control.query(&command, |dialect, answer| {
            dialect.parse_by_name(name, age, answer)
        });
        Ok(found?.pop())
    }

    fn cancel(&self, id: BatchJobId) -> Result<(), SiteError> {
        let command = self.control.dialect().cancel(&[id]);
        self.control
            .query(&command, |dialect, answer| dialect.parse_cancel(answer))
    }

    /// Returns the file for the probe, in the directory where pilots find their tokens. There is no
    /// such file yet.
    fn fresh_file(&self) -> Result<PathBuf, SiteError> {
        if self.control.settings().via.is_some() {
            let dir = self.control.in_remote_dir("rm -f probe", String::new())?;
            return Ok(Path::new(&dir).join("probe"));
        }
        let file = self.control.journal().dir().join("probe");
        let _ = fs::remove_file(&file);
        Ok(file)
    }

    /// Reads the probe's file, on this host or on the host of the engine's commands.
    fn read(&self, file: &Path) -> Option<String> {
        let began = MonotonicInstant::now();
        loop {
            let text = match self.control.settings().via {
                None => fs::read_to_string(file).ok(),
                Some(_) => {
                    let words = vec!["cat".to_owned(), file.to_string_lossy().into_owned()];
                    let command = EngineCommand {
                        words,
                        input: String::new(),
                    };
                    let answer = self.control.run(&command).ok();
                    answer
                        .filter(tollgate_batch::CommandAnswer::is_success)
                        .map(|answer| answer.output)
                }
            };
            if text.is_some() || began.elapsed() > FILE_LIMIT {
                return text;
            }
            thread::sleep(PAUSES[0]);
        }
    }
}

/// Returns the rest of the first line that begins with a word.
fn field<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
}

fn seconds(span: Span) -> String {
    format!("{:.1} s", span.as_secs_f64())
}
