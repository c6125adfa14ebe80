//! Jobs to start after, as `sbatch -d` names them.

use super::error::SlurmError;

/// Jobs that a job starts after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlurmDependencies {
    /// Those that are named, in the words of a request: `7`, `any:8`, `failed:9`.
    pub(crate) after: Vec<String>,
    /// Whether it also starts after the user's jobs of the same name that are not over.
    pub(crate) is_singleton: bool,
}

/// Parses dependencies such as `afterok:7:8,afterany:9`, `afternotok:7`, `7` or `singleton`.
///
/// # Errors
/// If a kind of dependency does not exist here, or a word is no job.
pub(crate) fn parse(tool: &str, text: &str) -> Result<SlurmDependencies, SlurmError> {
    let refused = |reason: &str| SlurmError::refused(tool, "--dependency", reason);
    let mut found = SlurmDependencies::default();
    if text.contains('?') {
        let reason =
            "`?` (any of them) does not exist here; separate the jobs with commas to wait for all";
        return Err(refused(reason));
    }
    for clause in text.split(',').filter(|clause| !clause.is_empty()) {
        let (kind, jobs) = clause.split_once(':').unwrap_or((clause, ""));
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let (prefix, jobs) = match kind.to_ascii_lowercase().as_str() {
            "afterok" => ("", jobs),
            "afterany" => ("any:", jobs),
            "afternotok" => ("failed:", jobs),
            "singleton" if jobs.is_empty() => {
                found.is_singleton = true;
                continue;
            }
            "aftercorr" => {
                let reason =
                    "aftercorr does not exist here; afterok:JOB waits for every task of the array";
                return Err(refused(reason));
            }
            "after" | "afterburstbuffer" | "expand" => {
                let reason = format!("{kind} does not exist here; use afterok:JOB or afterany:JOB");
                return Err(refused(&reason));
            }
            word if is_number(word) && jobs.is_empty() => ("any:", clause),
            _ => return Err(problem(tool)),
        };
        for job in jobs.split(':') {
            if job.contains(['_', '+']) {
                let reason = "expected jobs, without tasks and minutes; name the whole array";
                return Err(refused(reason));
            }
            let number = job.parse::<u64>().map_err(|_| problem(tool))?;
            found.after.push(format!("{prefix}{number}"));
        }
    }
    Ok(found)
}

fn problem(tool: &str) -> SlurmError {
    SlurmError::submission(tool, "Job dependency problem")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_those_of_a_request() {
        for (text, expected) in [
            ("afterok:7:8,afterany:9", "7 8 any:9"),
            ("7", "any:7"),
            ("AfterOK:7", "7"),
            ("afternotok:7", "failed:7"),
            ("", ""),
        ] {
            let found = parse("sbatch", text).unwrap();
            assert_eq!(found.after.join(" "), expected, "{text}");
            assert!(!found.is_singleton);
        }
        let both = parse("sbatch", "singleton,7").unwrap();
        assert_eq!(
            (both.is_singleton, both.after.join(" ")),
            (true, "any:7".to_owned())
        );
    }

    #[test]
    fn missing_kinds_are_refused_with_a_way_out() {
        for text in [
            "aftercorr:7",
            "after:7+5",
            "afterok:7?afterok:8",
            "afterok:7_3",
        ] {
            let error = parse("sbatch", text).unwrap_err();
            assert!(
                error.text.starts_with("sbatch: error: --dependency: "),
                "{error}"
            );
            assert_eq!(error.code, 1);
        }
        let error = parse("sbatch", "afterok:x").unwrap_err();
        let expected = "sbatch: error: Batch job submission failed: Job dependency problem";
        assert_eq!(error.text, expected);
    }
}
