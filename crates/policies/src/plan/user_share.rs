//! How much of the machine's time up to a deadline the promises to one user may take.

/// The rule for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UserShare {
    /// A fixed part; above 0, at most 1.
    Part(f64),
    /// What the other users of the last day leave: of each it keeps back what the user would ask for at the rate of that
    /// day, at most an equal part.
    Auto,
}

impl UserShare {
    /// Returns the processor seconds that the promises to a user may take of `capacity` processor seconds.
    /// `asked_by_others` are those that each of the other users would ask for in the same time.
    pub(super) fn cap(self, capacity: f64, asked_by_others: &[f64]) -> f64 {
        match self {
            Self::Part(part) => part * capacity,
            Self::Auto => {
                let equal = capacity / (asked_by_others.len() + 1) as f64;
                let kept = asked_by_others.iter().map(|asked| asked.min(equal));
                capacity - kept.fold(0.0, |sum, kept| sum + kept)
            }
        }
    }

    /// Returns whether every promise is within the share.
    pub(super) fn is_everything(self) -> bool {
        match self {
            Self::Part(part) => part >= 1.0,
            Self::Auto => false,
        }
    }

    /// Reads a number or `auto`.
    pub(super) fn read(&mut self, word: &str) -> bool {
        if word == "auto" {
            *self = Self::Auto;
            return true;
        }
        let part = word.parse().ok();
        let part = part.filter(|part: &f64| 0.0 < *part && *part <= 1.0);
        part.map(|part| *self = Self::Part(part)).is_some()
    }
}

impl std::fmt::Display for UserShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Part(part) => part.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_who_is_alone_gets_all_and_two_who_want_all_get_half_each() {
        assert_eq!(UserShare::Auto.cap(100.0, &[]), 100.0);
        assert_eq!(UserShare::Auto.cap(100.0, &[1000.0]), 50.0);
    }

    #[test]
    fn user_who_asked_for_little_leaves_the_rest() {
        assert_eq!(UserShare::Auto.cap(100.0, &[10.0]), 90.0);
        assert_eq!(UserShare::Auto.cap(90.0, &[10.0, 1000.0]), 50.0);
    }

    proptest! {
        #[test]
        fn cap_is_between_an_equal_part_and_all(
            capacity in 0.0..1e9f64,
            asked in proptest::collection::vec(0.0..1e9f64, 0..20),
        ) {
            let cap = UserShare::Auto.cap(capacity, &asked);
            let equal = capacity / (asked.len() + 1) as f64;
            prop_assert!(equal <= cap * (1.0 + 1e-9) && cap <= capacity);
        }
    }
}
