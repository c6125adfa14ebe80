//! The books as metrics: counters of jobs by what became of them and of their promises.

use tollgate_model::{BookEntry, Books};

use super::families::{MetricSample, sample};

/// Returns the family of counters to which an entry of the books belongs, with its label there.
const fn family_of(entry: BookEntry) -> (BookFamily, Option<(&'static str, &'static str)>) {
    match entry {
        BookEntry::Kept => (BookFamily::Kept, None),
        BookEntry::Broken(cause) => (BookFamily::Broken, Some(("cause", cause.key()))),
        BookEntry::Void => (BookFamily::Void, None),
        BookEntry::UnpromisedInTime => (BookFamily::Unpromised, Some(("outcome", "in_time"))),
        BookEntry::UnpromisedLate => (BookFamily::Unpromised, Some(("outcome", "late"))),
        BookEntry::UnpromisedDropped => (BookFamily::Unpromised, Some(("outcome", "dropped"))),
        BookEntry::UnpromisedVoid => (BookFamily::Unpromised, Some(("outcome", "void"))),
        BookEntry::NoDeadline => (BookFamily::WithoutDeadline, None),
        BookEntry::Rejected => (BookFamily::Rejected, Some(("deadline", "yes"))),
        BookEntry::NoDeadlineRejected => (BookFamily::Rejected, Some(("deadline", "no"))),
    }
}

/// A family of counters of jobs by what became of them. Tasks of arrays count one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BookFamily {
    Kept,
    Broken,
    Void,
    Unpromised,
    WithoutDeadline,
    Rejected,
}

/// Returns the counters of a family: the numbers of jobs by what became of them.
pub(super) fn book_samples(books: &Books, family: BookFamily) -> Vec<MetricSample> {
    let counters = BookEntry::ALL.into_iter().filter_map(|entry| {
        let (of, label) = family_of(entry);
        let counter = || sample("_total", label, books.count(entry) as f64);
        (of == family).then(counter)
    });
    counters.collect()
}

/// Returns a ratio from a percentage; no sample without one.
pub(super) fn ratio(percent: Option<f64>) -> Vec<MetricSample> {
    let ratio = percent.map(|percent| sample("", None, percent / 100.0));
    ratio.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_books_is_one_counter() {
        let mut books = Books::default();
        for (times, entry) in (1u64..).zip(BookEntry::ALL) {
            books.add(entry, times);
        }
        let families = [
            BookFamily::Kept,
            BookFamily::Broken,
            BookFamily::Void,
            BookFamily::Unpromised,
            BookFamily::WithoutDeadline,
            BookFamily::Rejected,
        ];
        let samples = families.map(|family| book_samples(&books, family));
        let counts: Vec<f64> = samples.iter().flatten().map(|one| one.value).collect();
        let expected = (1..=BookEntry::ALL.len() as u64).map(|count| count as f64);
        assert_eq!(counts, expected.collect::<Vec<_>>());
    }
}
