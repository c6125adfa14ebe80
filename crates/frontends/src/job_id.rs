//! Job numbers in the notation of PBS and Grid Engine.

use tollgate_client::types::JobDetails;

use crate::tool::FrontendDialect;

/// The server name in the job numbers of PBS.
pub const SERVER_NAME: &str = "tollgate";

/// Parses a job number as the service names the job: `7.tollgate` is 7, and `7[3]` or Grid Engine's
/// `7.3` are the task `7_3`.
pub fn parse(word: &str, style: FrontendDialect) -> Option<String> {
    let number = |text: &str| text.parse::<u64>().ok();
    let (job, rest) = match word.find(['.', '[', '_']) {
        Some(end) => word.split_at(end),
        None => (word, ""),
    };
    let job = number(job)?;
    let task = |text: &str| Some(format!("{job}_{}", text.parse::<u32>().ok()?));
    let rest = match style {
        FrontendDialect::Pbs => rest.split('.').next().unwrap_or_default(),
        FrontendDialect::GridEngine => rest,
    };
    match rest {
        "" | "[]" => Some(job.to_string()),
        rest => {
            let inside = rest
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            let behind = rest.strip_prefix(['.', '_']);
            task(inside.or(behind)?)
        }
    }
}

/// Formats a job number in the notation of the style.
pub fn format(job: &JobDetails, style: FrontendDialect) -> String {
    let id = job.id;
    match (style, &job.array, job.task) {
        (FrontendDialect::Pbs, Some(_), None) => format!("{id}[].{SERVER_NAME}"),
        (FrontendDialect::Pbs, _, Some(task)) => format!("{id}[{task}].{SERVER_NAME}"),
        (FrontendDialect::Pbs, None, None) => format!("{id}.{SERVER_NAME}"),
        (FrontendDialect::GridEngine, _, _) => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_ids_of_pbs_and_grid_engine_are_parsed() {
        for (word, style, expected) in [
            ("7", FrontendDialect::Pbs, Some("7")),
            ("7.tollgate", FrontendDialect::Pbs, Some("7")),
            ("7[].tollgate", FrontendDialect::Pbs, Some("7")),
            ("7[3].tollgate", FrontendDialect::Pbs, Some("7_3")),
            ("7_3", FrontendDialect::Pbs, Some("7_3")),
            ("7", FrontendDialect::GridEngine, Some("7")),
            ("7.3", FrontendDialect::GridEngine, Some("7_3")),
            ("seven", FrontendDialect::Pbs, None),
            ("7[x]", FrontendDialect::Pbs, None),
            ("", FrontendDialect::GridEngine, None),
            ("../7", FrontendDialect::GridEngine, None),
        ] {
            assert_eq!(parse(word, style).as_deref(), expected, "{word}");
        }
    }
}
