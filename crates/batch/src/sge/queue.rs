//! The jobs of all users: `qstat -xml -r`, and the accounting file, which every user of `qacct` can read. Nothing is
//! changed by any of them.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};
use tollgate_model::{Instant, Span};

use super::{REFUSALS, phase};
use crate::fields::{NEUTRAL, count, digits, iso_instant};
use crate::queue::{QueueDialect, QueueJob, QueuePhase, QueueSettings};
use crate::state::BatchJobPhase;
use crate::{CommandAnswer, EngineCommand, EngineFault};

/// The queue of a Grid Engine.
pub(crate) struct SgeQueue;

/// The maximum number of tasks of an array that are listed while they wait.
const MAX_TASKS: usize = 10_000;
/// Number of the last lines of the accounting file that are read.
const MAX_RECORDS: &str = "20000";
/// The exit code of a question about records that users may not read.
const NO_RECORDS: i32 = 66;
/// The least instant in milliseconds, which Univa counts: as seconds it would be in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// The shell's words for the directory with the files of all hosts. Debian sets no variable, but has one directory.
const COMMON: &str = r#""${SGE_ROOT:-/var/lib/gridengine}/${SGE_CELL:-default}/common""#;

/// The fields of a line of the accounting file, `accounting(5)`, by position.
mod field {
    pub(super) const OWNER: usize = 3;
    pub(super) const NUMBER: usize = 5;
    pub(super) const SUBMITTED: usize = 8;
    pub(super) const STARTED: usize = 9;
    pub(super) const ENDED: usize = 10;
    pub(super) const FAILED: usize = 11;
    pub(super) const SLOTS: usize = 34;
    pub(super) const TASK: usize = 35;
    pub(super) const CATEGORY: usize = 39;
    pub(super) const PARALLEL_TASK: usize = 41;
}

/// Values of `failed` after which the job is still in the queue: migrated, run again, in error.
const NOT_OVER: [&str; 3] = ["24", "25", "30"];

impl QueueDialect for SgeQueue {
    fn queue(&self) -> EngineCommand {
        // `-u *` overrides the `sge_qstat` file of a user or a site. Tasks that wait alike are one entry.
        let words = ["qstat", "-xml", "-r", "-s", "prs", "-u", "*"];
        EngineCommand::new(NEUTRAL.into_iter().chain(words))
    }

    fn parse_queue(&self, answer: &CommandAnswer) -> Result<Vec<QueueJob>, EngineFault> {
        let document = parse_document(answer)?;
        if !document.root_element().has_tag_name("job_info") {
            return Err(EngineFault::unreadable(answer));
        }
        let entries = document.descendants();
        let mut jobs = Vec::new();
        for entry in entries.filter(|node| node.has_tag_name("job_list")) {
            let text = &answer.output[entry.range()];
            let of_entry = jobs_of(entry);
            jobs.extend(of_entry.ok_or_else(|| EngineFault::unreadable_line(answer, text))?);
        }
        Ok(jobs)
    }

    fn submissions(&self, ids: &[String]) -> Option<EngineCommand> {
        let number = |id: &String| id.split('.').next().unwrap_or(id).to_owned();
        let numbers: BTreeSet<String> = ids.iter().map(number).collect();
        let numbers: Vec<String> = numbers.into_iter().collect();
        let words = ["qstat", "-xml", "-j"].map(str::to_owned);
        let words = NEUTRAL.map(str::to_owned).into_iter().chain(words);
        Some(EngineCommand::new(words.chain([numbers.join(",")])))
    }

    fn parse_submissions(
        &self,
        answer: &CommandAnswer,
    ) -> Result<Vec<(String, Instant)>, EngineFault> {
        let document = parse_document(answer)?;
        let numbers = document.descendants();
        let numbers = numbers.filter(|node| node.has_tag_name("JB_job_number"));
        let known = numbers.filter_map(|number| {
            let job = number.parent()?;
            let text = text_of(job, "JB_submission_time")?;
            Some((text_of(job, "JB_job_number")?.to_owned(), epoch(text)?))
        });
        Ok(known.collect())
    }

    fn records(&self, since: Instant, until: Instant) -> EngineCommand {
        let seconds = |at: Instant| at.as_micros().div_euclid(1_000_000).to_string();
        // `qacct` reads the whole file, which may have millions of lines. The last lines have the last ends.
        // A file that was rotated has the ends before that: the last one is read if it was written since.
        let script = format!(
            "file={COMMON}/accounting; \
             old=$(ls -t \"$file\".[0-9]* \"$file\"-[0-9]* 2>/dev/null | head -n 1); \
             [ -r \"$file\" ] || [ -r \"$old\" ] || exit {NO_RECORDS}; \
             {{ if [ -r \"$old\" ] && [ \"$(stat -c %Y \"$old\")\" -ge \"$1\" ]; then case \"$old\" in \
             *.gz) gzip -dc \"$old\" | tail -n {MAX_RECORDS} ;; *) tail -n {MAX_RECORDS} \"$old\" ;; esac; fi; \
             [ ! -r \"$file\" ] || tail -n {MAX_RECORDS} \"$file\"; }} | tail -n {MAX_RECORDS} | \
             awk -F: -v since=\"$1\" -v until=\"$2\" \
             '{{ end = $11 < {MILLISECONDS_FROM} ? $11 : $11 / 1000 }} end >= since && end < until'"
        );
        shell(script, [seconds(since), seconds(until)])
    }

    fn parse_records(&self, answer: &CommandAnswer) -> Result<Option<Vec<QueueJob>>, EngineFault> {
        if answer.exit == NO_RECORDS {
            return Ok(None);
        }
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let lines = answer.lines().filter(|line| !line.starts_with('#'));
        let jobs: Result<Vec<Option<QueueJob>>, EngineFault> = lines
            .map(|line| record(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect();
        Ok(Some(jobs?.into_iter().flatten().collect()))
    }

    fn settings(&self) -> EngineCommand {
        let script = format!(
            "qconf -sss >/dev/null || exit; common={COMMON}; \
             echo \"cluster ${{SGE_CLUSTER_NAME:-$(cat \"$common/cluster_name\" 2>/dev/null)}}\"; \
             if [ -e \"$common/accounting\" ]; then [ -r \"$common/accounting\" ]; \
             else qconf -sconf global | grep -q accounting=true; fi && echo records; true"
        );
        shell(script, [])
    }

    fn parse_settings(&self, answer: &CommandAnswer) -> Result<QueueSettings, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let name = answer
            .lines()
            .find_map(|line| line.strip_prefix("cluster"))
            .ok_or_else(|| EngineFault::unreadable(answer))?;
        Ok(QueueSettings {
            cluster: match name.trim() {
                "" => "Grid Engine".to_owned(),
                name => name.to_owned(),
            },
            hides_jobs: false,
            keeps_records: answer.lines().any(|line| line == "records"),
            lists_ended: false,
        })
    }

    fn clock(&self) -> Option<EngineCommand> {
        // The master says no time; the host of the commands is one of its cluster.
        Some(EngineCommand::new(
            NEUTRAL.into_iter().chain(["date", "+%s"]),
        ))
    }

    fn parse_clock(&self, answer: &CommandAnswer) -> Option<Instant> {
        epoch(answer.output.trim())
    }
}

/// Returns a script with arguments as a command.
fn shell(script: String, arguments: impl IntoIterator<Item = String>) -> EngineCommand {
    let words = ["sh", "-c"].map(str::to_owned).into_iter();
    let words = NEUTRAL.map(str::to_owned).into_iter().chain(words);
    let words = words.chain([script, "sh".to_owned()]);
    EngineCommand::new(words.chain(arguments))
}

fn parse_document(answer: &CommandAnswer) -> Result<Document<'_>, EngineFault> {
    if !answer.is_success() {
        return Err(EngineFault::classify(answer, REFUSALS));
    }
    Document::parse(&answer.output).map_err(|_| EngineFault::unreadable(answer))
}

/// Returns the jobs of an entry: one job, or tasks of an array that wait alike. None for an entry that is not understood.
fn jobs_of(entry: Node<'_, '_>) -> Option<Vec<QueueJob>> {
    let state = text_of(entry, "state")?;
    let phase = match phase(state)? {
        BatchJobPhase::Runs => QueuePhase::Runs,
        BatchJobPhase::Over => return Some(Vec::new()),
        BatchJobPhase::Waits if !state.contains('h') => QueuePhase::Waits,
        BatchJobPhase::Waits | BatchJobPhase::Stuck => QueuePhase::Held,
    };
    let number = text_of(entry, "JB_job_number")?;
    digits(number)?;
    let instant = |name| match text_of(entry, name) {
        Some(text) => Some(Some(iso_instant(text)?)),
        None => Some(None),
    };
    let mut limits = ["h_rt", "s_rt"].into_iter();
    let dependency = text_of(entry, "predecessor_jobs");
    let job = QueueJob {
        id: number.to_owned(),
        user: text_of(entry, "JB_owner")?.to_owned(),
        queue: first_queue(text_of(entry, "hard_req_queue").unwrap_or_default()).to_owned(),
        procs: count(text_of(entry, "slots")?)?.max(1),
        limit: limits.find_map(|name| requested(entry, name)),
        // Grid Engine lists the submission of a job until it runs.
        submitted: instant("JB_submission_time")?,
        eligible: None,
        started: instant("JAT_start_time")?.filter(|_| phase == QueuePhase::Runs),
        ended: None,
        phase,
        reason: match (phase, dependency) {
            (QueuePhase::Held, Some(jobs)) => format!("hold_jid {jobs}"),
            (QueuePhase::Held, None) => state.to_owned(),
            (QueuePhase::Waits | QueuePhase::Runs | QueuePhase::Over, _) => String::new(),
        },
    };
    let Some(tasks) = text_of(entry, "tasks") else {
        return Some(vec![job]);
    };
    let task = |task| QueueJob {
        id: format!("{number}.{task}"),
        ..job.clone()
    };
    Some(tasks_of(tasks)?.into_iter().map(task).collect())
}

fn text_of<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let child = node.children().find(|child| child.has_tag_name(name))?;
    Some(child.text().unwrap_or_default().trim())
}

/// Returns a requested time, which is listed in seconds.
fn requested(entry: Node<'_, '_>, name: &str) -> Option<Span> {
    let mut requests = entry
        .children()
        .filter(|node| node.has_tag_name("hard_request"));
    let request = requests.find(|node| node.attribute("name") == Some(name))?;
    seconds(request.text()?.trim())
}

fn seconds(text: &str) -> Option<Span> {
    digits(text).map(Span::from_secs)
}

/// Returns the first one of several queues, without its host or host group.
fn first_queue(text: &str) -> &str {
    let first = text.split(',').next().unwrap_or(text);
    first.split('@').next().unwrap_or(first)
}

/// Returns the tasks of a list such as `1-9:2,12`, at most 10,000. None for another text.
fn tasks_of(list: &str) -> Option<Vec<i64>> {
    let mut tasks = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (digits(first)?, digits(last)?);
        let step = usize::try_from(digits(step)?).ok()?.max(1);
        let rest = MAX_TASKS - tasks.len();
        tasks.extend((first..=last).step_by(step).take(rest));
    }
    Some(tasks)
}

/// Parses a line of the accounting file. The inner None stands for a job that never ran, or is still in the queue, and for
/// a part of a parallel job.
fn record(line: &str) -> Option<Option<QueueJob>> {
    let fields: Vec<&str> = line.split(':').collect();
    let value = |idx: usize| fields.get(idx).copied();
    let number = value(field::NUMBER).filter(|number| digits(number).is_some())?;
    let times = [field::SUBMITTED, field::STARTED, field::ENDED];
    let [submitted, started, ended] = times.map(|idx| value(idx).map(epoch));
    let (submitted, started, ended) = (submitted??, started?, ended?);
    let task = value(field::TASK)?;
    let category = value(field::CATEGORY)?;
    let is_part = value(field::PARALLEL_TASK).is_some_and(|task| task != "NONE");
    let is_over = !NOT_OVER.contains(&value(field::FAILED)?);
    let slots = count(value(field::SLOTS)?)?.max(1);
    let (Some(started), Some(ended), true, false) = (started, ended, is_over, is_part) else {
        return Some(None);
    };
    let limit = |name| of_category(category, "-l").find_map(|list| of_list(list, name));
    Some(Some(QueueJob {
        id: match task {
            "0" => number.to_owned(),
            task => format!("{number}.{task}"),
        },
        user: value(field::OWNER)?.to_owned(),
        queue: of_category(category, "-q")
            .next()
            .map_or("", first_queue)
            .to_owned(),
        procs: slots,
        limit: limit("h_rt").or_else(|| limit("s_rt")).and_then(seconds),
        submitted: Some(submitted),
        eligible: None,
        started: Some(started),
        ended: Some(ended),
        phase: QueuePhase::Over,
        reason: String::new(),
    }))
}

/// Parses an instant of the accounting file. None for 0, which stands for never, and for other words.
fn epoch(text: &str) -> Option<Instant> {
    let number = digits(text).filter(|number| *number > 0)?;
    Some(match number < MILLISECONDS_FROM {
        true => Instant::from_secs(number),
        false => Instant::from_micros(number.saturating_mul(1_000)),
    })
}

/// Returns the values of an option among the requests of a job, as in `-l h_rt=60,mem_free=1G -q all.q -pe smp 4`.
fn of_category<'a>(category: &'a str, option: &'a str) -> impl Iterator<Item = &'a str> {
    let words = category.split(' ');
    let values = category.split(' ').skip(1);
    let pairs = words.zip(values);
    pairs
        .filter(move |(word, _)| *word == option)
        .map(|(_, value)| value)
}

fn of_list<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let mut requests = list
        .split(',')
        .filter_map(|request| request.split_once('='));
    let found = requests.find(|(key, _)| *key == name);
    found.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output: &str) -> CommandAnswer {
        CommandAnswer {
            output: output.to_owned(),
            ..CommandAnswer::default()
        }
    }

    #[test]
    fn clock_is_that_of_the_host_of_the_commands() {
        let clock = |text| SgeQueue.parse_clock(&answer(text));
        assert_eq!(
            clock("1768478400\n"),
            Some(Instant::from_secs(1_768_478_400))
        );
        assert_eq!(clock("date: not found\n"), None);
    }

    const QUEUE: &str = r#"<?xml version='1.0'?>
<job_info xmlns:xsd="http://arc.liv.ac.uk/qstat.xsd">
  <queue_info>
    <job_list state="running">
      <JB_job_number>10</JB_job_number><JB_name>sleep</JB_name><JB_owner>bert</JB_owner><state>t</state>
      <JAT_start_time>2026-11-28T19:36:19</JAT_start_time><queue_name>all.q@vm</queue_name><slots>9</slots>
      <tasks>4</tasks><requested_pe name="smp">8-16</requested_pe>
      <hard_request name="h_rt" resource_contribution="0.000000">3600</hard_request>
      <hard_req_queue>all.q@vm,long.q</hard_req_queue>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>10</JB_job_number><JB_name>sleep</JB_name><JB_owner>bert</JB_owner><state>qw</state>
      <JB_submission_time>2026-11-28T19:36:16</JB_submission_time><queue_name></queue_name><slots>8</slots>
      <tasks>7-13:3,20</tasks><hard_req_queue>all.q@vm</hard_req_queue>
    </job_list>
    <job_list state="pending">
      <JB_job_number>11</JB_job_number><JB_name>sleep</JB_name><JB_owner>carl</JB_owner><state>hqw</state>
      <JB_submission_time>2026-11-28T19:36:16</JB_submission_time><queue_name></queue_name><slots>1</slots>
      <predecessor_jobs_req>8</predecessor_jobs_req><predecessor_jobs>8</predecessor_jobs>
    </job_list>
    <job_list state="pending">
      <JB_job_number>12</JB_job_number><JB_name>sleep</JB_name><JB_owner>carl</JB_owner><state>Eqw</state>
      <JB_submission_time>2026-11-28T19:36:16</JB_submission_time><queue_name></queue_name><slots>1</slots>
    </job_list>
  </job_info>
</job_info>"#;

    #[test]
    fn queue_is_read_with_the_tasks_of_arrays() {
        let jobs = SgeQueue.parse_queue(&answer(QUEUE)).expect("a queue");
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(ids, ["10.4", "10.7", "10.10", "10.13", "10.20", "11", "12"]);
        let [runs, waits, ..] = jobs.as_slice() else {
            panic!("{jobs:?}");
        };
        assert_eq!((runs.procs, runs.limit), (9, Some(Span::from_secs(3_600))));
        assert_eq!(runs.started, Some(Instant::from_secs(1_795_894_579)));
        assert_eq!((runs.phase, runs.submitted), (QueuePhase::Runs, None));
        assert_eq!(
            (waits.phase, waits.queue.as_str()),
            (QueuePhase::Waits, "all.q")
        );
        assert_eq!((waits.procs, waits.user.as_str()), (8, "bert"));
        assert_eq!(waits.submitted, Some(Instant::from_secs(1_795_894_576)));
        let reasons: Vec<&str> = jobs[4..].iter().map(|job| job.reason.as_str()).collect();
        assert_eq!(reasons, ["", "hold_jid 8", "Eqw"]);
        assert_eq!(jobs[5].phase, QueuePhase::Held);
    }

    #[test]
    fn submissions_of_running_jobs_are_read() {
        let text = "<detailed_job_info><djob_info><element><JB_job_number>8</JB_job_number>\
                    <JB_submission_time>1795894576</JB_submission_time></element><element>\
                    <JB_job_number>9</JB_job_number><JB_submission_time>1795894577</JB_submission_time>\
                    </element></djob_info></detailed_job_info>";
        let known = SgeQueue.parse_submissions(&answer(text)).expect("jobs");
        let at = |seconds| Instant::from_secs(seconds);
        let expected = [("8", at(1_795_894_576)), ("9", at(1_795_894_577))];
        assert_eq!(known, expected.map(|(id, at)| (id.to_owned(), at)));
        let unknown = "<unknown_jobs><ST_name>9999</ST_name></unknown_jobs>";
        assert_eq!(SgeQueue.parse_submissions(&answer(unknown)), Ok(Vec::new()));
    }

    fn line(times: &str, failed: u32, slots: u32, task: u32, category: &str, part: &str) -> String {
        let zeros = "0:".repeat(18);
        format!(
            "all.q:vm:users:anna:sleep:10:sge:0:{times}:{failed}:0:{zeros}NONE:dept:smp:{slots}:{task}:0.1:0.0:0.0:\
             {category}:0.0:{part}:0.0:0:0"
        )
    }

    #[test]
    fn records_are_read_in_seconds_and_in_milliseconds() {
        let category = "-q all.q@vm -l h_rt=60,mem_free=1G -pe smp 4";
        let text = [
            "# Version: 8.1.9".to_owned(),
            line(
                "1795894576:1795894579:1795894582",
                0,
                4,
                3,
                category,
                "NONE",
            ),
            line(
                "1795894576000:1795894579000:1795894582000",
                0,
                1,
                0,
                "NONE",
                "NONE",
            ),
        ];
        let records = SgeQueue.parse_records(&answer(&text.join("\n")));
        let records = records.expect("records").expect("are kept");
        let [task, whole] = records.as_slice() else {
            panic!("{records:?}");
        };
        assert_eq!((task.id.as_str(), task.queue.as_str()), ("10.3", "all.q"));
        assert_eq!((task.procs, task.limit), (4, Some(Span::from_secs(60))));
        assert_eq!((whole.id.as_str(), whole.limit), ("10", None));
        let times = (whole.submitted, whole.started, whole.ended);
        let seconds = [1_795_894_576, 1_795_894_579, 1_795_894_582].map(Instant::from_secs);
        assert_eq!(
            times,
            (Some(seconds[0]), Some(seconds[1]), Some(seconds[2]))
        );
    }

    #[test]
    fn jobs_that_are_still_in_the_queue_have_not_ended() {
        let times = "1795894576:1795894579:1795894582";
        let text = [
            // In error before its start, run again, and a part of a parallel job.
            line("1795894576:0:0", 28, 1, 0, "NONE", "NONE"),
            line(times, 25, 1, 0, "NONE", "NONE"),
            line(times, 0, 1, 0, "NONE", "1.node7"),
        ];
        let records = SgeQueue.parse_records(&answer(&text.join("\n")));
        assert_eq!(records, Ok(Some(Vec::new())));
        let hidden = CommandAnswer {
            exit: NO_RECORDS,
            ..CommandAnswer::default()
        };
        assert_eq!(SgeQueue.parse_records(&hidden), Ok(None));
    }

    #[test]
    fn large_array_is_cut() {
        assert_eq!(
            tasks_of("1-1000000:1").map(|tasks| tasks.len()),
            Some(MAX_TASKS)
        );
        assert_eq!(tasks_of("3"), Some(vec![3]));
        assert_eq!(tasks_of("1-x"), None);
    }
}
