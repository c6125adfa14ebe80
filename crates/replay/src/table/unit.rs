//! Chooses units in which a whole column is easy to read.

use std::fmt;

use tollgate_model::{Credits, Span};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl TimeUnit {
    /// Returns the unit in which the longest of `spans` has two or three digits.
    pub(super) fn fitting(spans: impl Iterator<Item = Span>) -> Self {
        let longest_s = spans.max().unwrap_or(Span::ZERO).as_secs_f64();
        let larger = [Self::Days, Self::Hours, Self::Minutes];
        let fits = |unit: &Self| longest_s >= 2.0 * unit.seconds();
        larger.into_iter().find(fits).unwrap_or(Self::Seconds)
    }

    /// Formats `span` in this unit, without the name of the unit.
    pub(super) fn write(self, span: Span) -> String {
        format!("{:.2}", span.as_secs_f64() / self.seconds())
    }

    const fn seconds(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3_600.0,
            Self::Days => 86_400.0,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
            Self::Days => "d",
        })
    }
}

/// A unit of money: credits, thousands or millions of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoneyUnit {
    Ones,
    Thousands,
    Millions,
}

impl MoneyUnit {
    /// Returns the unit in which the largest of `amounts` is easy to read. None without amounts.
    pub(super) fn fitting(amounts: impl Iterator<Item = Credits>) -> Option<Self> {
        let largest = amounts
            .map(|amount| amount.as_f64().abs())
            .max_by(f64::total_cmp)?;
        let larger = [Self::Millions, Self::Thousands];
        let fits = |unit: &Self| largest >= 10.0 * unit.credits();
        Some(larger.into_iter().find(fits).unwrap_or(Self::Ones))
    }

    /// Formats `amount` in this unit, without the name of the unit.
    pub(super) fn write(self, amount: Credits) -> String {
        format!("{:.1}", amount.as_f64() / self.credits())
    }

    const fn credits(self) -> f64 {
        match self {
            Self::Ones => 1.0,
            Self::Thousands => 1e3,
            Self::Millions => 1e6,
        }
    }
}

impl fmt::Display for MoneyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ones => "credits",
            Self::Thousands => "k",
            Self::Millions => "M",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_span_chooses_the_unit() {
        for (secs, unit, text) in [
            (0, TimeUnit::Seconds, "0.00"),
            (119, TimeUnit::Seconds, "119.00"),
            (120, TimeUnit::Minutes, "2.00"),
            (7_200, TimeUnit::Hours, "2.00"),
            (8_730_698, TimeUnit::Days, "101.05"),
        ] {
            let span = Span::from_secs(secs);
            assert_eq!(TimeUnit::fitting([Span::ZERO, span].into_iter()), unit);
            assert_eq!(unit.write(span), text);
        }
        assert_eq!(TimeUnit::fitting([].into_iter()), TimeUnit::Seconds);
    }

    #[test]
    fn a_large_loss_chooses_the_unit_too() {
        let amounts = [-2e7, 1.0].map(Credits::from_f64);
        let unit = MoneyUnit::fitting(amounts.into_iter());
        assert_eq!(unit, Some(MoneyUnit::Millions));
        assert_eq!(MoneyUnit::Millions.write(amounts[0]), "-20.0");
        assert_eq!(MoneyUnit::fitting([].into_iter()), None);
    }
}
