//! The placeholders in names of files, as `sbatch` takes them and as the service does.

/// The default output of a job, and of a task of an array.
const DEFAULT_OUTPUT: (&str, &str) = ("slurm-%j.out", "slurm-%j_%a.out");
/// The maximum number of digits to which a number is padded.
const MAX_PADDING: usize = 10;
/// The file that holds nothing.
pub(crate) const NULL_FILE: &str = "/dev/null";

/// Returns the default name of the output.
pub(crate) const fn default_output(is_array: bool) -> &'static str {
    match is_array {
        false => DEFAULT_OUTPUT.0,
        true => DEFAULT_OUTPUT.1,
    }
}

/// Returns a name with the placeholders of the service. `%j` of an array becomes the numbers of the array and of the task,
/// because both names tell tasks apart. `%n`, `%t` and `%s` are those of the script itself.
pub(crate) fn for_service(name: &str, is_array: bool) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('%') {
        text.push_str(before);
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (width, behind) = behind.split_at(digits);
        let letter = behind.chars().next();
        let names_task = has_a_file_per_task(name);
        match letter {
            Some('j' | 'J') if is_array && !names_task => {
                text.push_str(&format!("%{width}j_%a"));
            }
            Some('j' | 'J' | 'A') => text.push_str(&format!("%{width}j")),
            Some('n' | 't') => text.push_str(&format!(
                "{:0>1$}",
                0,
                width.parse().unwrap_or(1).min(MAX_PADDING)
            )),
            Some('s') => text.push_str("batch"),
            Some(other) => text.push_str(&format!("%{width}{other}")),
            None => text.push_str(&format!("%{width}")),
        }
        rest = &behind[letter.map_or(0, char::len_utf8)..];
    }
    text + rest
}

/// Returns whether the tasks of an array have different files of a name that [`for_service`] returned.
pub(crate) fn has_a_file_per_task(name: &str) -> bool {
    let mut rest = name;
    while let Some((_, behind)) = rest.split_once('%') {
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let behind = &behind[digits..];
        match behind.chars().next() {
            Some('a') => return true,
            letter => rest = &behind[letter.map_or(0, char::len_utf8)..],
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_those_of_the_service() {
        for (name, is_array, expected) in [
            ("slurm-%j.out", false, "slurm-%j.out"),
            ("x-%J.out", false, "x-%j.out"),
            ("x-%J.out", true, "x-%j_%a.out"),
            ("%A_%a.out", true, "%j_%a.out"),
            ("%x/%4j-%5a", true, "%x/%4j-%5a"),
            ("%n%t%s%N%u%%", false, "00batch%N%u%%"),
            ("100%", false, "100%"),
        ] {
            assert_eq!(for_service(name, is_array), expected, "{name}");
        }
        assert!(has_a_file_per_task("a%4a") && has_a_file_per_task("%%%a"));
        assert!(!has_a_file_per_task("%j%%a") && !has_a_file_per_task("out"));
    }
}
