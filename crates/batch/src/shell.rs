//! Words quoted for a POSIX shell.

/// Returns words as one line for a POSIX shell, which reads exactly these words from it. A NUL,
/// which no word of a command can hold, is left out.
pub fn line<W: AsRef<str>>(words: &[W]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word.as_ref())).collect();
    quoted.join(" ")
}

/// Returns a word as a POSIX shell reads it: as it is if it has only harmless letters, else in
/// single quotes, within which a shell expands nothing. A NUL is left out.
pub fn quote(word: &str) -> String {
    let word = word.replace('\0', "");
    let is_harmless = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '-' | '_' | '.' | '/' | ':' | ',' | '+' | '@' | '%')
    };
    // A word with `=` would be an assignment if it stood first; quoted, it never is.
    if !word.is_empty() && word.chars().all(is_harmless) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_words_stay_as_they_are() {
        assert_eq!(
            line(&["sbatch", "-t", "60", "--mem=4G"]),
            "sbatch -t 60 '--mem=4G'"
        );
        assert_eq!(quote("/home/a/b.log"), "/home/a/b.log");
    }

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("$(reboot)"), "'$(reboot)'");
        assert_eq!(quote("a\nb"), "'a\nb'");
        assert_eq!(quote("a\0b"), "ab");
    }
}
