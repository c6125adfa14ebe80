//! The ends of batch jobs, in the words of their schedulers.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, Zoned};

/// The reason for which the end of a batch job is not known.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JobEndError {
    /// No scheduler that can be asked has started the process.
    #[error(
        "`auto` needs a job of Slurm or Grid Engine, or TOLLGATE_UNTIL: expected a time as in +55m"
    )]
    NoScheduler,
    /// A command failed.
    #[error("`{command}` failed: {reason}: expected a time as in +55m")]
    Command { command: String, reason: String },
    /// The job has no time limit, or the answer is not understood.
    #[error("{scheduler} names no end of job {job}, but `{text}`: expected a time as in +55m")]
    NoEnd {
        scheduler: &'static str,
        job: String,
        text: String,
    },
}

/// Parses the end of a job as Slurm gives it: seconds since 1970, or a local time.
pub(super) fn slurm_end(job: &str, text: &str, now: &Zoned) -> Result<Timestamp, JobEndError> {
    let end = parse_instant(text.trim(), now);
    end.ok_or_else(|| no_end("Slurm", job, text.trim()))
}

/// Parses the end that the submit side gave, as ISO 8601 or as seconds since 1970.
pub(super) fn given_end(text: &str, now: &Zoned) -> Result<Timestamp, JobEndError> {
    let end = parse_instant(text.trim(), now);
    end.ok_or_else(|| no_end("TOLLGATE_UNTIL", "here", text.trim()))
}

/// Returns the end of a job of Grid Engine: the run time that it asked for (`h_rt`), from its start.
/// `text` is the answer of `qstat -j`, `running` that of `qstat -xml -s r`.
pub(super) fn grid_engine_end(
    (job, task): (&str, &str),
    text: &str,
    running: &str,
    now: &Zoned,
) -> Result<Timestamp, JobEndError> {
    let missing = |what: &str| no_end("Grid Engine", job, what);
    let limit = hard_run_time(text).ok_or_else(|| missing("no h_rt"))?;
    let start = start_time((job, task), running).ok_or_else(|| missing("no start time"))?;
    let start = parse_instant(start, now).ok_or_else(|| missing(start))?;
    let end = start.checked_add(limit);
    end.map_err(|_| missing("a time beyond the calendar"))
}

fn no_end(scheduler: &'static str, job: &str, text: &str) -> JobEndError {
    let (job, text) = (job.to_owned(), text.to_owned());
    JobEndError::NoEnd {
        scheduler,
        job,
        text,
    }
}

fn parse_instant(text: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(secs) = text.parse::<i64>() {
        return Timestamp::from_second(secs).ok();
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp())
}

/// Returns the `h_rt` that a job asked for, in seconds or as `hours:minutes:seconds`.
fn hard_run_time(text: &str) -> Option<SignedDuration> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let list = lines.find(|(key, _)| key.replace('_', " ").trim() == "hard resource list")?;
    let mut resources = list.1.split(',').filter_map(|part| part.split_once('='));
    let (_, span) = resources.find(|(name, _)| name.trim() == "h_rt")?;
    let secs = span.trim().split(':').try_fold(0i64, |secs, part| {
        let part: i64 = part.parse().ok()?;
        secs.checked_mul(60)?.checked_add(part)
    });
    secs.filter(|&secs| secs > 0).map(SignedDuration::from_secs)
}

/// Returns the start of a job, or of a task of an array, in a list of running jobs.
fn start_time<'a>((job, task): (&str, &str), running: &'a str) -> Option<&'a str> {
    let is_task = |entry: &&str| {
        let tasks = element(entry, "tasks");
        tasks.is_none_or(|tasks| tasks == task)
    };
    let mut entries = running.split("<job_list").filter(is_task);
    let entry = entries.find(|entry| element(entry, "JB_job_number") == Some(job))?;
    element(entry, "JAT_start_time")
}

fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(text, _)| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-22T04:00:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn at(words: &str) -> Result<Timestamp, JobEndError> {
        Ok(words.parse().unwrap())
    }

    #[test]
    fn end_of_a_slurm_job_is_read_in_both_formats() {
        let end = at("2026-11-22T03:30:00Z");
        assert_eq!(slurm_end("7", "1795318200\n", &now()), end);
        assert_eq!(slurm_end("7", "2026-11-22T04:30:00\n", &now()), end);
        for text in ["", "N/A", "Unknown", "NONE"] {
            let error = slurm_end("7", text, &now()).unwrap_err();
            assert_eq!(error, no_end("Slurm", "7", text));
        }
    }

    #[test]
    fn end_of_a_grid_engine_job_is_its_start_and_its_limit() {
        let text = "job_number:   8\nhard resource_list:         arch=lx,h_rt=300\n";
        let entry = |task: &str, start: &str| {
            format!(
                "<job_list state=\"running\">\n<JB_job_number>8</JB_job_number>\n\
                 <JAT_start_time>{start}</JAT_start_time>\n{task}</job_list>\n"
            )
        };
        let alone = entry("", "2026-11-22T04:02:37");
        let end = grid_engine_end(("8", "undefined"), text, &alone, &now());
        assert_eq!(end, at("2026-11-22T03:07:37Z"));
        let array = entry("<tasks>1</tasks>\n", "2026-11-22T04:02:37")
            + &entry("<tasks>2</tasks>\n", "2026-11-22T05:00:00");
        let hours = text.replace("300", "1:00:00");
        let end = grid_engine_end(("8", "2"), &hours, &array, &now());
        assert_eq!(end, at("2026-11-22T05:00:00Z"));
    }

    #[test]
    fn end_of_a_job_is_never_guessed() {
        let text = "hard resource_list:  h_rt=300\n";
        let unlimited = grid_engine_end(("8", "undefined"), "job_number: 8\n", "", &now());
        assert_eq!(unlimited, Err(no_end("Grid Engine", "8", "no h_rt")));
        let absent = grid_engine_end(("8", "undefined"), text, "<job_info/>", &now());
        assert_eq!(absent, Err(no_end("Grid Engine", "8", "no start time")));
        assert!(given_end("soon", &now()).is_err());
        assert_eq!(
            given_end("2026-11-22T03:30:00Z", &now()),
            at("2026-11-22T03:30:00Z")
        );
    }
}
