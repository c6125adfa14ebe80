//! Suggestions for misspelt words.

/// Returns the candidate that takes the fewest single-letter changes from `word`, if they are at
/// most a third of its letters; ties go to the first.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(changes, _)| *changes <= limit)
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, candidate)| candidate)
}

/// Returns the number of letters to insert, delete or replace (Levenshtein 1966).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (at, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = exchanged.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_changes() {
        for (from, to, changes) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("vary", "vary", 0),
        ] {
            assert_eq!(distance(from, to), changes);
            assert_eq!(distance(to, from), changes);
        }
    }

    #[test]
    fn only_a_close_match_is_suggested() {
        let keys = ["name", "policies", "values"];
        assert_eq!(nearest("value", keys), Some("values"));
        assert_eq!(nearest("polices", keys), Some("policies"));
        assert_eq!(nearest("colour", keys), None);
    }
}
