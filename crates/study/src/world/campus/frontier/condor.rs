//! Translation of a retry policy to an HTCondor configuration.
//!
//! A waiting job (`JobStatus == 1`) was evicted as often as it was started (`NumShadowStarts`);
//! `RemoteWallClockTime` is the time that it has held computers so far.

use tollgate_model::Span;
use tollgate_sim::campus::retry::{
    DedicatedPool, EvictionFilter, RetryPolicy, RetryRule, WhenFull,
};

/// Returns the lines of the configuration, or the reason for their absence.
pub(super) fn setting(retry: &RetryPolicy) -> String {
    let waiting: Option<Vec<String>> = retry.rules().iter().map(limit_expression).collect();
    let Some(mut tests) = waiting else {
        return "none: no expression draws once an eviction, or compares with other jobs"
            .to_owned();
    };
    let too_long = retry
        .max_attempt()
        .map(|longest| format!("(JobStatus == 2 && {})", running_for(longest)));
    let note = match retry.rules().iter().any(ignores_causes) {
        true => " # counts every eviction: the cause is in no attribute of the job",
        false => "",
    };
    match retry.dedicated() {
        Some(dedicated) => {
            tests.extend(too_long);
            format!("{}{note}", on_dedicated(dedicated, &tests.join(" || ")))
        }
        None if tests.is_empty() && too_long.is_none() => "nothing to set".to_owned(),
        None => {
            let waiting = tests.join(" || ");
            let waiting = (!tests.is_empty()).then(|| format!("(JobStatus == 1 && ({waiting}))"));
            let tests: Vec<String> = waiting.into_iter().chain(too_long).collect();
            format!("SYSTEM_PERIODIC_REMOVE = {}{note}", tests.join(" || "))
        }
    }
}

/// Returns the condition under which a rule gives a waiting job up.
fn limit_expression(rule: &RetryRule) -> Option<String> {
    match *rule {
        RetryRule::Evictions { max: most, .. } => Some(format!("NumShadowStarts > {most}")),
        RetryRule::Accrued { max: most, .. } => {
            Some(format!("RemoteWallClockTime > {}", secs(most)))
        }
        RetryRule::Chance { .. } | RetryRule::Exponential { .. } | RetryRule::Percentile { .. } => {
            None
        }
    }
}

fn ignores_causes(rule: &RetryRule) -> bool {
    match rule {
        RetryRule::Evictions {
            filter: counted, ..
        }
        | RetryRule::Accrued {
            filter: counted, ..
        } => *counted != EvictionFilter::All,
        RetryRule::Chance { .. } | RetryRule::Exponential { .. } | RetryRule::Percentile { .. } => {
            false
        }
    }
}

/// Returns the lines for dedicated machines, which run the jobs that the rules gave up. If these
/// jobs wait while the pool is full, no desktop runs them.
fn on_dedicated(dedicated: DedicatedPool, enough: &str) -> String {
    // No desktop runs a job for as long, so the limit needs no condition on the machine.
    let kill = format!(
        "on dedicated machines: START = {enough}; \
         everywhere: SYSTEM_PERIODIC_REMOVE = JobStatus == 2 && {}",
        running_for(dedicated.max_attempt)
    );
    match dedicated.when_full {
        WhenFull::Wait => format!("{kill}; on desktops: START = $(START) && !({enough})"),
        WhenFull::Requeue => kill,
    }
}

fn running_for(longest: Span) -> String {
    format!("time() - JobCurrentStartDate > {}", secs(longest))
}

/// Returns whole seconds.
fn secs(span: Span) -> i64 {
    span.as_micros() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_kind_has_condor_lines_or_a_reason() {
        let line = |words: &str| setting(&words.parse::<RetryPolicy>().unwrap());
        insta::assert_snapshot!(line("x0"), @"nothing to set");
        insta::assert_snapshot!(line("n1:6"), @"SYSTEM_PERIODIC_REMOVE = (JobStatus == 1 && (NumShadowStarts > 6))");
        insta::assert_snapshot!(line("n2:3+i1:24h"), @"SYSTEM_PERIODIC_REMOVE = (JobStatus == 1 && (NumShadowStarts > 3)) || (JobStatus == 2 && time() - JobCurrentStartDate > 86400) # counts every eviction: the cause is in no attribute of the job");
        insta::assert_snapshot!(line("a1:40h"), @"SYSTEM_PERIODIC_REMOVE = (JobStatus == 1 && (RemoteWallClockTime > 144000))");
        insta::assert_snapshot!(line("r1:0.5"), @"none: no expression draws once an eviction, or compares with other jobs");
        insta::assert_snapshot!(line("d1:100,90h,3"), @"on dedicated machines: START = NumShadowStarts > 3; everywhere: SYSTEM_PERIODIC_REMOVE = JobStatus == 2 && time() - JobCurrentStartDate > 324000; on desktops: START = $(START) && !(NumShadowStarts > 3)");
        insta::assert_snapshot!(line("d2:30,90h+a1:2h"), @"on dedicated machines: START = RemoteWallClockTime > 7200; everywhere: SYSTEM_PERIODIC_REMOVE = JobStatus == 2 && time() - JobCurrentStartDate > 324000");
    }
}
