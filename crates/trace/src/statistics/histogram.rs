//! A histogram of spans of very different length, with bins that grow two- to threefold.

use tollgate_model::Span;

const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;

/// The beginnings of the bins, in seconds: durations that people have words for.
const STARTS_S: [i64; 22] = [
    0,
    1,
    2,
    5,
    10,
    30,
    MINUTE_S,
    2 * MINUTE_S,
    5 * MINUTE_S,
    10 * MINUTE_S,
    30 * MINUTE_S,
    HOUR_S,
    2 * HOUR_S,
    5 * HOUR_S,
    12 * HOUR_S,
    DAY_S,
    2 * DAY_S,
    5 * DAY_S,
    10 * DAY_S,
    30 * DAY_S,
    100 * DAY_S,
    300 * DAY_S,
];

/// A histogram of spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanHistogram {
    /// The bins from the first nonempty one to the last; empty without spans.
    pub bins: Vec<SpanBin>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanBin {
    /// Minimum span of the bin, inclusive.
    pub from: Span,
    /// Maximum span of the bin, exclusive; None for the last bin of all.
    pub to: Option<Span>,
    /// Number of spans.
    pub count: u64,
}

impl SpanHistogram {
    /// Counts `spans`, none of which is negative.
    pub(super) fn of(spans: impl Iterator<Item = Span>) -> Self {
        let mut counts = [0; STARTS_S.len()];
        for span in spans {
            let after = STARTS_S.partition_point(|&start| Span::from_secs(start) <= span);
            counts[after.saturating_sub(1)] += 1;
        }
        let ends = STARTS_S[1..].iter().copied().map(Some).chain([None]);
        let bins: Vec<SpanBin> = STARTS_S
            .into_iter()
            .zip(ends)
            .zip(counts)
            .map(|((from, to), count)| SpanBin {
                from: Span::from_secs(from),
                to: to.map(Span::from_secs),
                count,
            })
            .collect();
        let filled = |bin: &SpanBin| bin.count > 0;
        let first = bins.iter().position(filled).unwrap_or(bins.len());
        let end = bins.iter().rposition(filled).map_or(first, |last| last + 1);
        Self {
            bins: bins[first..end].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bin_end_is_exclusive_and_last_bin_is_unbounded() {
        let spans = [0.5, 4.9, 5.0, 1e11].map(Span::from_secs_f64);
        let histogram = SpanHistogram::of(spans.into_iter());
        let bins = &histogram.bins;
        assert_eq!((bins[0].count, bins[1].count), (1, 0));
        assert_eq!((bins[2].count, bins[3].count), (1, 1));
        assert_eq!(bins[3].from, Span::from_secs(5));
        let last = bins.last().unwrap();
        assert_eq!((last.to, last.count), (None, 1));
        assert!(SpanHistogram::of(std::iter::empty()).bins.is_empty());
    }
}
