//! Reasons why jobs wait, in sentences.

use tollgate_client::types::WaitReason;

/// The words of Slurm, Grid Engine and HTCondor, by their beginning, each with its kind and a sentence.
const REASONS: [(&str, WaitReason, &str); 21] = [
    (
        "Priority",
        WaitReason::Priority,
        "jobs with a higher priority are before it",
    ),
    (
        "Resources",
        WaitReason::Resources,
        "it is next, and its processors or memory are not free",
    ),
    (
        "Dependency",
        WaitReason::Dependency,
        "it depends on a job that is not over",
    ),
    ("JobHeldUser", WaitReason::Held, "its user holds it"),
    (
        "JobHeldAdmin",
        WaitReason::Held,
        "an administrator holds it",
    ),
    ("BeginTime", WaitReason::Begin, "it may start only later"),
    (
        "JobArrayTaskLimit",
        WaitReason::ArrayLimit,
        "its array runs as many tasks as it may",
    ),
    (
        "Licenses",
        WaitReason::Licences,
        "licences that it needs are taken",
    ),
    (
        "PartitionDown",
        WaitReason::Resources,
        "its partition is down",
    ),
    (
        "PartitionTimeLimit",
        WaitReason::Resources,
        "its limit is above that of the partition",
    ),
    (
        "ReqNodeNotAvail",
        WaitReason::Host,
        "nodes that it needs are reserved or down",
    ),
    // Grid Engine: its state, or the option of `qsub` that holds it.
    (
        "hold_jid",
        WaitReason::Dependency,
        "it depends on a job that is not over",
    ),
    (
        "hqw",
        WaitReason::Held,
        "its user or an administrator holds it",
    ),
    (
        "hRwq",
        WaitReason::Held,
        "its user or an administrator holds it",
    ),
    (
        "Eqw",
        WaitReason::Held,
        "its start failed, and `qmod -cj` lets it try again",
    ),
    // HTCondor: the reason of a hold, or of the last rejection by the negotiator.
    ("by user", WaitReason::Held, "its user holds it"),
    (
        "no match found",
        WaitReason::Resources,
        "no machine that is free takes it",
    ),
    (
        "insufficient priority",
        WaitReason::Priority,
        "jobs of users with a better priority are before it",
    ),
    (
        "submitter limit",
        WaitReason::Priority,
        "its user runs as much as the share of that user allows",
    ),
    (
        "fair share",
        WaitReason::Priority,
        "its user runs as much as the share of that user allows",
    ),
    (
        "concurrency limit",
        WaitReason::Licences,
        "as many jobs of its kind run as may run at once",
    ),
];

/// Returns the kind and the sentence of a reason. None for one that is not known.
pub(super) fn known_reason(reason: &str) -> Option<(WaitReason, &'static str)> {
    let known = REASONS.iter().find(|(word, ..)| reason.starts_with(word));
    known.map(|(_, kind, sentence)| (*kind, *sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_all_engines_have_sentences() {
        let kind = |reason| known_reason(reason).map(|(kind, _)| kind);
        assert_eq!(kind("Priority"), Some(WaitReason::Priority));
        assert_eq!(kind("hold_jid 8,9"), Some(WaitReason::Dependency));
        assert_eq!(kind("by user: via condor_hold"), Some(WaitReason::Held));
        assert_eq!(kind("no match found "), Some(WaitReason::Resources));
        assert_eq!(kind("of another site"), None);
    }
}
