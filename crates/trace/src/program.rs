//! The programs of records that have command lines.

use tollgate_model::program_word;

/// Returns the word that names the program of a command: `file`, or the first argument without one, with these arguments. A
/// first word that is no text is it.
pub(crate) fn program<'a>(file: &'a [u8], arguments: &'a [u8]) -> &'a [u8] {
    let words = || {
        let words = arguments.split(u8::is_ascii_whitespace);
        let all = std::iter::once(file).chain(words);
        all.filter(|word| !word.is_empty())
    };
    let text = words().map_while(|word| std::str::from_utf8(word).ok());
    match program_word(text) {
        Some(word) => word.as_bytes(),
        None => words().next().unwrap_or_default(),
    }
}
