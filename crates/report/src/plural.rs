//! Counts with their nouns.

/// Formats a count with its noun: `1 node`, `2 nodes`.
pub fn pluralise(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
