//! The risk of deadline delay on a node (Yeo & Buyya 2006, §3.2).

/// A risk of at most this much is zero.
const ZERO_RISK: f64 = 1e-9;

/// Two deadline delays this far apart surely mean a risk. N delays deviate by at least gap / sqrt(2 n), which
/// is above [`ZERO_RISK`] for up to fifty million tasks on a node.
pub(super) const RISKY_GAP: f64 = 1e-5;

/// Total share up to which the risk is zero, because no deadline delay is above it.
pub(super) const RISK_FREE_SHARE: f64 = 1.0 + ZERO_RISK;

/// Returns the risk sigma (eq. 6) of tasks given as (seconds to the deadline, share): the standard
/// deviation of their deadline delays (eq. 4), as predicted with the shares frozen as they are.
///
/// With a total share S the tasks end in order of deadline d1 <= d2 <= .. at F1 = d1 S and
/// Fk = F(k-1) + (dk - d(k-1)) (sk + .. + sn). The deadline delay of task k is max(1, Fk / dk). A task without a share has no
/// predicted work left, and no delay.
///
/// The mean is taken first and the deviations after it: eq. 6 as printed subtracts two nearly
/// equal numbers and calls many zero risks positive.
pub(super) fn sigma(tasks: &mut [(f64, f64)]) -> f64 {
    tasks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut running: f64 = tasks.iter().map(|task| task.1).sum();
    let (mut finish, mut last_deadline) = (0.0, 0.0);
    for task in &mut *tasks {
        let (deadline, share) = *task;
        finish += (deadline - last_deadline) * running;
        running -= share;
        last_deadline = deadline;
        let delay = if share > 0.0 { finish / deadline } else { 1.0 };
        task.1 = f64::max(delay, 1.0);
    }
    let n = tasks.len() as f64;
    let mean = tasks.iter().map(|task| task.1).sum::<f64>() / n;
    let squares: f64 = tasks.iter().map(|task| (task.1 - mean).powi(2)).sum();
    (squares / n).sqrt()
}

/// Returns true if a node with these tasks has no risk of deadline delay.
pub(super) fn is_zero(tasks: &mut [(f64, f64)]) -> bool {
    sigma(tasks) <= ZERO_RISK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delays_follow_the_prediction() {
        // Shares .6 (due in 10), .3 (due in 20) and .6 (due in 10): total 1.5. The two tasks due
        // first end at 15, 1.5 times their deadline; the last ends at 15 + 10 x .3 = 18, in time.
        let risk = sigma(&mut [(10.0, 0.6), (20.0, 0.3), (10.0, 0.6)]);
        let (mean, n) = (4.0 / 3.0, 3.0);
        let expected: f64 = 2.0 * (1.5f64 - mean).powi(2) + (1.0f64 - mean).powi(2);
        assert!((risk - (expected / n).sqrt()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_risk_within_capacity(tasks in prop::collection::vec((0.1..1e4f64, 0.0..1.0f64), 1..8)) {
            let total: f64 = tasks.iter().map(|task| task.1).sum::<f64>().max(1.0);
            let mut fitting: Vec<_> = tasks.iter().map(|&(d, s)| (d, s / total)).collect();
            prop_assert!(is_zero(&mut fitting));
        }

        #[test]
        fn single_task_has_no_risk(deadline in 0.1..1e4f64, share in 0.0..50.0f64) {
            prop_assert!(is_zero(&mut [(deadline, share)]));
        }

        #[test]
        fn overload_is_a_risk(first in 1.0..1e3f64, gap in 0.1..1e3f64, s in 0.05..3.0f64, t in 1.0..3.0f64) {
            prop_assert!(!is_zero(&mut [(first, s), (first + gap, t)]));
        }
    }
}
