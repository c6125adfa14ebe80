//! Tests that the book holds together: every page is in its table of contents, and every link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::{metadata, prose};

/// The maximum number of words of a page: a reader finds a place on a page of this size.
const MAX_WORDS: usize = 3_000;

/// The links and the anchors of a document.
#[derive(Debug, Default, PartialEq, Eq)]
struct DocumentLinks {
    /// The targets of links and images, in their order.
    targets: Vec<String>,
    /// The fragments by which headings are linked to.
    anchors: BTreeSet<String>,
}

/// Returns the fragment of a heading as GitHub and mdBook form it. A heading that repeats another one has none of its own.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    letters.collect::<String>().to_lowercase()
}

/// Reads the links and headings of a Markdown text.
fn links(text: &str) -> DocumentLinks {
    let mut links = DocumentLinks::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            links.targets.push(dest_url.into_string());
        } else if let Event::Start(Tag::Heading { .. }) = event {
            heading = Some(String::new());
        } else if let Event::End(TagEnd::Heading(_)) = event {
            links.anchors.extend(heading.take().as_deref().map(anchor));
        } else if let (Event::Text(text) | Event::Code(text), Some(heading)) = (event, &mut heading)
        {
            heading.push_str(&text);
        }
    }
    links
}

/// Returns a path without `.` and `..` components.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the folder of the book.
fn book() -> PathBuf {
    metadata::root().join("docs")
}

/// Returns the links of all documents by path.
fn all_links() -> BTreeMap<PathBuf, DocumentLinks> {
    let documents = prose::documents(&metadata::root()).into_iter();
    documents
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable text");
            (resolved(&path), links(&text))
        })
        .collect()
}

#[test]
fn links_of_documents_resolve() {
    let documents = all_links();
    let book = resolved(&book());
    let mut broken = Vec::new();
    for (path, document) in &documents {
        for target in &document.targets {
            if target.contains("://") {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let linked = match file {
                "" => path.clone(),
                file => resolved(&path.with_file_name(file)),
            };
            let has_fragment = documents
                .get(&linked)
                .is_none_or(|linked| fragment.is_empty() || linked.anchors.contains(fragment));
            // The book is built from its folder alone.
            let leaves_the_book = path.starts_with(&book) && !linked.starts_with(&book);
            if !linked.exists() || !has_fragment || leaves_the_book {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    let n_links: usize = documents.values().map(|links| links.targets.len()).sum();
    assert!(n_links > 300, "{n_links} links");
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn pages_of_the_book_are_listed_once() {
    let book = resolved(&book());
    let summary = book.join("SUMMARY.md");
    let documents = all_links();
    let listed = documents[&summary].targets.iter();
    let listed: Vec<PathBuf> = listed.map(|page| resolved(&book.join(page))).collect();
    let in_book = |path: &&PathBuf| path.starts_with(&book) && **path != summary;
    let wrong = documents.keys().filter(in_book).filter_map(|page| {
        let n_times = listed.iter().filter(|listed| *listed == page).count();
        (n_times != 1).then(|| format!("{}: {n_times} times in SUMMARY.md", page.display()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn pages_of_the_book_are_short() {
    let documents = prose::documents(&metadata::root()).into_iter();
    let mut long = Vec::new();
    for path in documents.filter(|path| path.starts_with(book())) {
        let text = fs::read_to_string(&path).expect("a readable text");
        // Readers search in a generated page, and do not read it.
        let is_generated = text.contains("<!-- Written by `tollgate generate");
        let n_words = text.split_whitespace().count();
        if n_words > MAX_WORDS && !is_generated {
            long.push(format!("{}: {n_words} words", path.display()));
        }
    }
    assert!(
        long.is_empty(),
        "more than {MAX_WORDS} words:\n{}",
        long.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_found_outside_code() {
        let text = "# The `plan`, measured\n\nA [page](a.md#b) and `[code](c.md)`.\n\n```text\n# no\n[x](y)\n```\n\n\
                    | cell |\n|---|\n| ![](d.svg) |\n";
        let found = links(text);
        assert_eq!(found.targets, ["a.md#b", "d.svg"]);
        assert_eq!(
            found.anchors,
            BTreeSet::from(["the-plan-measured".to_owned()])
        );
    }

    #[test]
    fn anchor_has_letters_digits_and_dashes() {
        assert_eq!(anchor("qsub, qstat & qdel: 2_x"), "qsub-qstat--qdel-2_x");
        assert_eq!(anchor("Lazarević's end?"), "lazarevićs-end");
    }
}
