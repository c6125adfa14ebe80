//! The program by which forecasts know a job.

use std::path::Path;

use tollgate_model::program_word;

/// Maximum length of the name of a program, in characters.
const MAX_NAME: usize = 128;

/// Returns the file name of the [program](program_word) that a command line runs, without control characters and cut to 128
/// characters. None without a command.
pub fn executable(command: &[String]) -> Option<String> {
    let program = program_word(command.iter().map(String::as_str))?;
    let base = Path::new(program).file_name()?.to_string_lossy();
    let sound = base.chars().filter(|letter| !letter.is_control());
    Some(sound.take(MAX_NAME).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_one_interpreter_are_programs_of_their_own() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            executable(&words)
        };
        assert_eq!(of(&["python3", "/home/ada/a.py"]).as_deref(), Some("a.py"));
        assert_eq!(of(&["./a.py", "7"]).as_deref(), Some("a.py"));
        assert_ne!(of(&["python3", "a.py"]), of(&["python3", "b.py"]));
        assert_eq!(of(&["/bin/si\nm"]).as_deref(), Some("sim"));
        assert_eq!(of(&["x".repeat(200).as_str()]).unwrap().len(), MAX_NAME);
        assert_eq!(of(&[]), None);
    }
}
