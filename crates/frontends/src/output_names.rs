//! The variables in the names of output files.

use std::path::Path;

use crate::place::SubmitPlace;

/// Returns the name of a file with the values of its variables, as `$HOME` or `${HOME}`. A variable
/// whose value is not known here stays.
pub(crate) fn expand(template: &str, job_name: &str, place: &SubmitPlace) -> String {
    let mut path = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        path.push_str(before);
        let (variable, after) = split_variable(&behind[1..]);
        match value(variable, job_name, place) {
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

fn value(variable: &str, job_name: &str, place: &SubmitPlace) -> Option<String> {
    let set = |name: &str| place.variable(name).map(str::to_owned);
    match variable {
        "PBS_JOBID" | "JOB_ID" => Some("%j".to_owned()),
        "PBS_ARRAYID" | "PBS_ARRAY_INDEX" | "TASK_ID" | "SGE_TASK_ID" => Some("%a".to_owned()),
        "JOB_NAME" | "PBS_JOBNAME" => Some(job_name.to_owned()),
        "HOME" | "PBS_O_HOME" => set("HOME"),
        "USER" | "LOGNAME" | "PBS_O_LOGNAME" => set("LOGNAME").or_else(|| set("USER")),
        "PBS_O_WORKDIR" | "SGE_O_WORKDIR" => {
            let here = place.dir.as_ref().ok();
            here.map(|path| path.display().to_string())
        }
        "HOSTNAME" | "HOST" => {
            let is_name = Path::new(&place.host).components().count() == 1;
            is_name.then(|| place.host.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    #[test]
    fn variables_of_both_dialects_are_expanded() {
        let place = fixed_place();
        for (template, expected) in [
            ("$JOB_NAME.o$JOB_ID.$TASK_ID", "sim.o%j.%a"),
            ("${PBS_JOBNAME}_${PBS_JOBID}", "sim_%j"),
            ("run^array_index^", "run%a"),
            ("$HOME/logs/x", "/home/mia/logs/x"),
            ("${HOME}2", "/home/mia2"),
            ("$USER@$HOSTNAME:$PBS_O_WORKDIR", "mia@login:/home/mia/runs"),
            ("$UNKNOWN/$", "$UNKNOWN/$"),
            ("$PBS_JOBIDS", "$PBS_JOBIDS"),
        ] {
            assert_eq!(expand(template, "sim", &place), expected, "{template}");
        }
    }
}
