//! The figures of a node exporter that say how long threads ran and waited for a processor.

use std::time::Duration;

use tollgate_model::HostSlowdown;

/// The metrics of the collector `schedstat`, which is on by default: seconds by processor, since the boot.
const RAN: &str = "node_schedstat_running_seconds_total";
const WAITED: &str = "node_schedstat_waiting_seconds_total";
/// The part of one processor below which a host is idle, so that waits say nothing.
const LEAST_BUSY: f64 = 0.05;

/// The times of all threads of a host since its boot, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WaitFigures {
    /// The time on a processor. Finite, not negative.
    ran_s: f64,
    /// The time of waiting for one. Finite, not negative.
    waited_s: f64,
}

impl WaitFigures {
    /// Reads the figures from an answer in the text format of Prometheus. None if it has none, or ones that cannot be.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let [ran_s, waited_s] = [RAN, WAITED].map(|name| sum_of(text, name));
        Some(Self {
            ran_s: ran_s?,
            waited_s: waited_s?,
        })
    }

    /// Returns how much slower threads were since earlier figures, in this time. None if the host was booted since.
    pub(super) fn slowdown_since(self, before: Self, passed: Duration) -> Option<HostSlowdown> {
        let (ran_s, waited_s) = (self.ran_s - before.ran_s, self.waited_s - before.waited_s);
        if ran_s < 0.0 || waited_s < 0.0 {
            return None;
        }
        Some(match ran_s < LEAST_BUSY * passed.as_secs_f64() {
            true => HostSlowdown::NONE,
            false => HostSlowdown::nearest((ran_s + waited_s) / ran_s),
        })
    }
}

/// Returns the sum of all samples of a metric; None without any, or if it is no time.
fn sum_of(text: &str, name: &str) -> Option<f64> {
    let mut values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labelled) => labelled.rsplit_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.split_ascii_whitespace().next()?.parse::<f64>().ok()
    });
    let first = values.next()?;
    let sum = values.fold(first, |sum, value| sum + value);
    (sum.is_finite() && sum >= 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "# HELP node_schedstat_running_seconds_total Seconds.\n\
        # TYPE node_schedstat_running_seconds_total counter\n\
        node_schedstat_running_seconds_total{cpu=\"0\"} 10.5\n\
        node_schedstat_running_seconds_total{cpu=\"1\"} 1e1 1700000000\n\
        node_schedstat_timeslices_total{cpu=\"0\"} 7\n\
        node_schedstat_waiting_seconds_total{cpu=\"0\"} 4\n";

    fn figures(ran_s: f64, waited_s: f64) -> WaitFigures {
        WaitFigures { ran_s, waited_s }
    }

    #[test]
    fn times_of_all_processors_are_added() {
        assert_eq!(WaitFigures::parse(ANSWER), Some(figures(20.5, 4.0)));
    }

    #[test]
    fn answer_without_both_times_or_with_impossible_ones_has_none() {
        for bad in ["", "node_load1 3\n", &ANSWER.replace("waiting", "waits")] {
            assert_eq!(WaitFigures::parse(bad), None, "{bad}");
        }
        for value in ["NaN", "-4", "+Inf", "1e999"] {
            let lie = ANSWER.replace("} 4\n", &format!("}} {value}\n"));
            assert_eq!(WaitFigures::parse(&lie), None, "{lie}");
        }
    }

    #[test]
    fn slowdown_is_the_time_over_that_on_a_processor() {
        let since = |ran_s, waited_s| {
            let found = figures(100.0 + ran_s, 50.0 + waited_s)
                .slowdown_since(figures(100.0, 50.0), Duration::from_secs(10));
            found.map(HostSlowdown::as_f64)
        };
        assert_eq!(since(10.0, 20.0), Some(3.0));
        assert_eq!(since(10.0, 5.0), Some(1.5));
        assert_eq!(since(10.0, 1e9), Some(HostSlowdown::MAX));
        assert_eq!(since(0.1, 3.0), Some(1.0), "the host is idle");
        assert_eq!(since(-100.0, 0.0), None, "it was booted");
    }
}
