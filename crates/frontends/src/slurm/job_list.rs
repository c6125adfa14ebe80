//! Jobs as Slurm's commands name them: `7`, `7_3`, `7_[1-3,9]`, `7.0`, `7.batch`, in lists with commas.

/// A job, some of its tasks, or a step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJobName {
    /// The number of a job, or the whole number of a task.
    pub number: u64,
    /// The tasks: `1-3,9`. None for all.
    pub tasks: Option<String>,
    /// The step: `0` or `batch`. None for the whole job.
    pub step: Option<String>,
}

impl SlurmJobName {
    /// Parses one name. None if it has another form.
    pub fn parse(word: &str) -> Option<Self> {
        let (job, step) = match word.rsplit_once('.') {
            Some((job, step)) => (job, Some(step)),
            None => (word, None),
        };
        let is_step = |step: &str| {
            let is_number = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
            is_number || matches!(step, "batch" | "extern" | "interactive")
        };
        if step.is_some_and(|step| !is_step(step)) {
            return None;
        }
        let (number, tasks) = match job.split_once('_') {
            Some((number, tasks)) => (number, Some(parse_tasks(tasks)?)),
            None => (job, None),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_number.then(|| number.parse::<u64>().ok()).flatten();
        Some(Self {
            number: number.filter(|number| *number > 0)?,
            tasks: tasks.flatten(),
            step: step.map(str::to_owned),
        })
    }

    /// Parses a list with commas. Returns the first word that is no name as the error.
    ///
    /// # Errors
    /// The word.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, String> {
        let words = split_list(list);
        let names = words.into_iter();
        names.map(|word| Self::parse(&word).ok_or(word)).collect()
    }

    /// Returns the name as the service knows the job or its tasks: `7_1-3`.
    pub fn selector(&self) -> String {
        match &self.tasks {
            None => self.number.to_string(),
            Some(tasks) => format!("{}_{tasks}", self.number),
        }
    }
}

/// Parses `3`, `[1-3,9]` or `[1-3%2]`, and `*` for all tasks. The outer None is for another form.
fn parse_tasks(text: &str) -> Option<Option<String>> {
    if matches!(text, "*" | "[*]") {
        return Some(None);
    }
    let inside = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    if inside.contains(['[', ']']) {
        return None;
    }
    let array = super::numbers::parse_array(inside)?;
    let tasks = array.tasks;
    let tasks = tasks.split('%').next().unwrap_or_default();
    Some(Some(tasks.to_owned()))
}

/// Splits a list at the commas outside brackets, without empty words.
fn split_list(list: &str) -> Vec<String> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_usize);
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => words.push(std::mem::take(&mut word)),
            _ => {
                match letter {
                    '[' => depth += 1,
                    ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                word.push(letter);
            }
        }
    }
    words.push(word);
    let words = words.iter().map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_tasks_and_steps_are_named() {
        let read = |list| {
            let names = SlurmJobName::parse_list(list)?;
            let names = names.iter().map(|name| match &name.step {
                None => name.selector(),
                Some(step) => format!("{}.{step}", name.selector()),
            });
            Ok::<_, String>(names.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(read("7,7_3,5_[1-3,9],6"), Ok("7 7_3 5_1-3,9 6".to_owned()));
        assert_eq!(read("7.0,7_3.batch"), Ok("7.0 7_3.batch".to_owned()));
        assert_eq!(read("7_[1-4%2]"), Ok("7_1-4".to_owned()));
        assert_eq!(read("7_*,"), Ok("7".to_owned()));
        for word in ["abc", "7_", "7_x", "0", "7.x", "-1", "7_[3-1]", "7_[1"] {
            assert_eq!(read(word), Err(word.to_owned()), "{word}");
        }
    }
}
