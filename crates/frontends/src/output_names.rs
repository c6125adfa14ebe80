//! The variables in the names of output files.

use std::env;
use std::path::Path;

/// Returns the name of a file with the values of its variables, as `$HOME` or `${HOME}`. A variable
/// whose value is not known here stays.
pub fn expand(template: &str, job_name: &str) -> String {
    let mut path = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        path.push_str(before);
        let (variable, after) = split_variable(&behind[1..]);
        match value(variable, job_name) {
            Some(value) => path.push_str(&value),
            None => path.push_str(&behind[..behind.len() - after.len()]),
        }
        rest = after;
    }
    path.push_str(rest);
    path.replace("^array_index^", "%a")
}

/// Splits the name of a variable, perhaps in braces, from the text behind it.
fn split_variable(text: &str) -> (&str, &str) {
    if let Some((name, after)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return (name, after);
    }
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

fn value(variable: &str, job_name: &str) -> Option<String> {
    match variable {
        "PBS_JOBID" | "JOB_ID" => Some("%j".to_owned()),
        "PBS_ARRAYID" | "PBS_ARRAY_INDEX" | "TASK_ID" | "SGE_TASK_ID" => Some("%a".to_owned()),
        "JOB_NAME" | "PBS_JOBNAME" => Some(job_name.to_owned()),
        "HOME" | "PBS_O_HOME" => env::var("HOME").ok(),
        "USER" | "LOGNAME" | "PBS_O_LOGNAME" => {
            env::var("LOGNAME").or_else(|_| env::var("USER")).ok()
        }
        "PBS_O_WORKDIR" | "SGE_O_WORKDIR" => current_directory(),
        "HOSTNAME" | "HOST" => host_name(),
        _ => None,
    }
}

fn current_directory() -> Option<String> {
    env::current_dir()
        .ok()
        .map(|path| path.display().to_string())
}

fn host_name() -> Option<String> {
    let name = rustix::system::uname();
    let name = name.nodename().to_str().ok()?;
    (!name.is_empty() && Path::new(name).components().count() == 1).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_both_dialects_are_expanded() {
        let home = env::var("HOME").unwrap_or_default();
        for (template, expected) in [
            ("$JOB_NAME.o$JOB_ID.$TASK_ID", "sim.o%j.%a".to_owned()),
            ("${PBS_JOBNAME}_${PBS_JOBID}", "sim_%j".to_owned()),
            ("run^array_index^", "run%a".to_owned()),
            ("$HOME/logs/x", format!("{home}/logs/x")),
            ("${HOME}2", format!("{home}2")),
            ("$UNKNOWN/$", "$UNKNOWN/$".to_owned()),
            ("$PBS_JOBIDS", "$PBS_JOBIDS".to_owned()),
        ] {
            assert_eq!(expand(template, "sim"), expected, "{template}");
        }
        assert!(!expand("$HOSTNAME", "sim").contains('$'));
    }
}
