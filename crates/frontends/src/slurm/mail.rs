//! Mail about jobs, as `--mail-type` asks for it: notices of the service.

use super::error::SlurmError;

/// Returns the notices that stand for types of mail: `END,FAIL` is a notice of the end. Types of events of which there is no
/// notice ask for none.
///
/// # Errors
/// If a word is no type.
pub(crate) fn notices(tool: &str, list: &str) -> Result<Vec<String>, SlurmError> {
    let mut notices: Vec<&str> = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let kinds: &[&str] = match word.to_ascii_uppercase().as_str() {
            "END" | "FAIL" | "INVALID_DEPEND" => &["end"],
            "REQUEUE" => &["lost"],
            "ALL" => &["end", "lost"],
            "NONE" | "BEGIN" | "STAGE_OUT" | "TIME_LIMIT" | "TIME_LIMIT_90" | "TIME_LIMIT_80"
            | "TIME_LIMIT_50" | "ARRAY_TASKS" => &[],
            _ => {
                let message = format!("Invalid --mail-type specification: {word}");
                return Err(SlurmError::usage(tool, message));
            }
        };
        notices.extend(
            kinds
                .iter()
                .filter(|kind| !notices.contains(kind))
                .copied()
                .collect::<Vec<_>>(),
        );
    }
    Ok(notices.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_mail_are_notices() {
        for (types, expected) in [
            ("END,FAIL", "end"),
            ("all", "end lost"),
            ("BEGIN,TIME_LIMIT_80", ""),
            ("NONE", ""),
        ] {
            assert_eq!(
                notices("sbatch", types).unwrap().join(" "),
                expected,
                "{types}"
            );
        }
        let wrong = notices("sbatch", "END,NEVER").unwrap_err();
        assert_eq!(
            wrong.text,
            "sbatch: error: Invalid --mail-type specification: NEVER"
        );
    }
}
