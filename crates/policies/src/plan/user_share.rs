//! How much of the machine's time up to a deadline the promises to one user may take.

use tollgate_model::Span;
use tollgate_policy::ParameterWord;

/// The maximum difference of sums of products by rounding.
const ROUNDING: f64 = 1e-9;

/// The rule for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UserShare {
    /// A fixed part; above 0, at most 1.
    Part(f64),
    /// The share that the other users of the last day leave. Each of them has a reserve for requests at the
    /// rate of that day, at most an equal part.
    Auto,
}

impl UserShare {
    /// Returns how many of `all` processors the promises to a user may take in the mean. `others` has the
    /// processors that each of the other users asked for in the mean of the last day.
    pub(super) fn processors(self, all: f64, others: &[f64]) -> f64 {
        match self {
            Self::Part(part) => part * all,
            Self::Auto if others.is_empty() => f64::INFINITY,
            Self::Auto => {
                let equal = all / (others.len() + 1) as f64;
                let kept = others.iter().map(|request| request.min(equal));
                all - kept.fold(0.0, |sum, kept| sum + kept)
            }
        }
    }

    /// Returns whether every promise is within the share, whatever others ask for.
    pub(super) fn is_everything(self) -> bool {
        match self {
            Self::Part(part) => part >= 1.0,
            Self::Auto => false,
        }
    }
}

impl ParameterWord for UserShare {
    fn values(&self) -> String {
        "a number, above 0 and at most 1, or auto".to_owned()
    }

    fn word(&self) -> String {
        match self {
            Self::Part(part) => part.to_string(),
            Self::Auto => "auto".to_owned(),
        }
    }

    fn set_word(&mut self, word: &str) -> bool {
        if word == "auto" {
            *self = Self::Auto;
            return true;
        }
        let part = word.parse().ok();
        let part = part.filter(|part: &f64| 0.0 < *part && *part <= 1.0);
        part.map(|part| *self = Self::Part(part)).is_some()
    }
}

/// Promised work at its latest: it holds processors from one time from now to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatestWork {
    procs: f64,
    starts: Span,
    ends: Span,
}

impl LatestWork {
    /// Returns work that takes `run` on `procs` processors and ends by `ends` from now.
    pub(super) fn new(procs: u32, count: u32, run: Span, ends: Span) -> Self {
        Self {
            procs: f64::from(procs) * f64::from(count),
            starts: (ends - run).max(Span::ZERO),
            ends,
        }
    }
}

/// Returns whether promised work, with more that is asked for, needs by no instant more than this number of
/// processors could do. Only from the end of the added work on, since it changes nothing before.
pub(super) fn is_within(
    processors: f64,
    promised: impl Iterator<Item = LatestWork>,
    added: LatestWork,
) -> bool {
    let all = promised.chain([added]);
    let mut changes: Vec<(Span, f64)> = all
        .flat_map(|work| [(work.starts, work.procs), (work.ends, -work.procs)])
        .collect();
    changes.sort_by_key(|&(at, _)| at);
    let (mut at, mut busy, mut needed) = (Span::ZERO, 0.0, 0.0);
    for (next, change) in changes {
        needed += busy * (next - at).as_secs_f64();
        if next >= added.ends && needed > processors * next.as_secs_f64() * (1.0 + ROUNDING) {
            return false;
        }
        busy += change;
        at = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns work of a second on one processor that ends by `ends`.
    fn second(ends: i64) -> LatestWork {
        LatestWork::new(1, 1, Span::from_secs(1), Span::from_secs(ends))
    }

    #[test]
    fn work_that_is_due_later_takes_nothing_from_a_sooner_deadline() {
        // A machine's half of a day is promised for the end of the day; of two processors one may be taken.
        let day = (0..43_200).map(|_| second(86_400));
        assert!(is_within(1.0, day.clone(), second(60)));
        assert!(!is_within(0.5, day, second(60)));
    }

    #[test]
    fn work_that_runs_takes_its_processors_from_sooner_deadlines() {
        let hour = Span::from_secs(3600);
        let runs = LatestWork::new(1, 1, hour, hour);
        assert!(!is_within(1.0, [runs].into_iter(), second(60)));
        assert!(is_within(1.1, [runs].into_iter(), second(60)));
    }

    #[test]
    fn single_user_gets_all_and_two_users_get_half_each() {
        assert_eq!(UserShare::Auto.processors(100.0, &[]), f64::INFINITY);
        assert_eq!(UserShare::Auto.processors(100.0, &[1000.0]), 50.0);
    }

    #[test]
    fn user_with_few_requests_leaves_the_rest() {
        assert_eq!(UserShare::Auto.processors(100.0, &[10.0]), 90.0);
        assert_eq!(UserShare::Auto.processors(90.0, &[10.0, 1000.0]), 50.0);
    }

    proptest! {
        #[test]
        fn processors_are_between_an_equal_part_and_all(
            all in 0.0..1e9f64,
            asked in proptest::collection::vec(0.0..1e9f64, 1..20),
        ) {
            let share = UserShare::Auto.processors(all, &asked);
            let equal = all / (asked.len() + 1) as f64;
            prop_assert!(equal <= share * (1.0 + ROUNDING) && share <= all);
        }
    }
}
