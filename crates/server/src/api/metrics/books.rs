//! The books as metrics: counters of jobs by what became of them and of their promises.

use tollgate_model::{BookEntry, Books};

use super::text::MetricsText;

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
enum BookFamily {
    Kept,
    Broken,
    Void,
    Unpromised,
    WithoutDeadline,
    Rejected,
}

impl BookFamily {
    const ALL: [Self; 6] = [
        Self::Kept,
        Self::Broken,
        Self::Void,
        Self::Unpromised,
        Self::WithoutDeadline,
        Self::Rejected,
    ];

    /// Returns the name without its suffix, and the help text.
    const fn name_and_help(self) -> (&'static str, &'static str) {
        match self {
            Self::Kept => ("tollgate_jobs_kept", "Jobs whose promise was kept."),
            Self::Broken => (
                "tollgate_jobs_broken",
                "Jobs whose promise was broken, by the cause.",
            ),
            Self::Void => (
                "tollgate_jobs_void",
                "Jobs with a promise that failed by themselves or were cancelled in time.",
            ),
            Self::Unpromised => (
                "tollgate_jobs_unpromised",
                "Jobs whose deadline was not promised, by what became of it.",
            ),
            Self::WithoutDeadline => (
                "tollgate_jobs_without_deadline",
                "Jobs without a deadline that ran.",
            ),
            Self::Rejected => (
                "tollgate_jobs_rejected",
                "Rejected jobs, by whether they asked for a deadline.",
            ),
        }
    }
}

/// Writes the numbers of jobs by what became of them, and the ratios of deadlines.
pub(super) fn write(text: &mut MetricsText, books: &Books) {
    for family in BookFamily::ALL {
        let (name, help) = family.name_and_help();
        text.family(name, "counter", help);
        let name = format!("{name}_total");
        for entry in BookEntry::ALL {
            let (of, label) = family_of(entry);
            if of == family {
                let labels: Vec<(&str, &str)> = label.into_iter().collect();
                text.sample(&name, &labels, books.count(entry) as f64);
            }
        }
    }
    for (name, help, percent) in [
        (
            "tollgate_sla_ratio",
            "Kept promises over submitted jobs with a deadline.",
            books.sla_pct(),
        ),
        (
            "tollgate_reliability_ratio",
            "Kept promises over kept and broken ones.",
            books.reliability_pct(),
        ),
        (
            "tollgate_in_time_ratio",
            "Jobs in time, promised or not, over submitted jobs with a deadline.",
            books.in_time_pct(),
        ),
    ] {
        if let Some(percent) = percent {
            text.family(name, "gauge", help)
                .sample(name, &[], percent / 100.0);
        }
    }
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
        let mut text = MetricsText::new();
        write(&mut text, &books);
        let text = text.finish();
        let counters = text.lines().filter(|line| line.contains("_total"));
        let counts: Vec<u64> = counters
            .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
            .collect();
        assert_eq!(
            counts,
            (1..=BookEntry::ALL.len() as u64).collect::<Vec<_>>()
        );
    }
}
