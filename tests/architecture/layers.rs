//! The crates of the workspace, from the top layer down. `ARCHITECTURE.md` describes each crate.

/// A crate under `crates/`.
pub(crate) struct CrateRule {
    /// The directory of the crate. The package is called `tollgate-<dir>`.
    pub(crate) dir: &'static str,
    /// The crates whose code this crate may use.
    pub(crate) may_use: &'static [&'static str],
    /// Whether the crate must stay free of I/O, clocks, threads and global randomness.
    pub(crate) purity: CratePurity,
}

/// Whether a crate may perform I/O.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CratePurity {
    /// The crate gets time and random streams as arguments, and returns actions as values.
    Pure,
    /// The crate is at the edge, where input and output belong.
    Edge,
}

use CratePurity::{Edge, Pure};

/// Every crate, including crates that are not built yet. A crate stands below all crates that it
/// may use.
pub(crate) const CRATE_RULES: &[CrateRule] = &[
    rule("host", &[], Edge),
    rule("model", &[], Pure),
    rule("presence", &["host", "model"], Edge),
    rule("policy", &["model"], Pure),
    rule("policies", &["model", "policy"], Pure),
    rule("federation", &["model"], Pure),
    rule("grid-policies", &["model", "policy", "federation"], Pure),
    rule("forest", &[], Pure),
    rule("forecast", &["model", "policy", "forest"], Pure),
    rule("risk", &["model"], Pure),
    rule("gate", &["model", "policy"], Pure),
    rule("batch", &["model"], Pure),
    rule("beside", &["model", "forecast"], Pure),
    rule("provisioning", &["model", "forecast", "beside"], Pure),
    rule("trace", &["model"], Edge),
    rule("workload", &["model", "trace"], Edge),
    rule(
        "site-forecast",
        &["host", "model", "forecast", "trace"],
        Edge,
    ),
    rule("engine", &["model"], Edge),
    rule("runner", &["host", "model", "engine"], Edge),
    rule(
        "sim",
        &[
            "model",
            "policy",
            "policies",
            "grid-policies",
            "federation",
            "forecast",
            "gate",
            "trace",
            "beside",
            "provisioning",
            "workload",
        ],
        Edge,
    ),
    rule(
        "study",
        &["host", "model", "risk", "trace", "workload", "sim"],
        Edge,
    ),
    rule("exec-policy", &["model", "policy"], Edge),
    rule("report", &["model", "risk", "forecast", "study"], Edge),
    rule(
        "replay",
        &[
            "model", "policy", "risk", "trace", "workload", "sim", "report",
        ],
        Edge,
    ),
    rule(
        "service",
        &["model", "policy", "grid-policies", "forecast", "gate"],
        Pure,
    ),
    rule(
        "store",
        &["host", "model", "policy", "gate", "engine", "service"],
        Edge,
    ),
    rule(
        "workers",
        &["host", "model", "gate", "engine", "service", "store"],
        Edge,
    ),
    rule("client", &["host", "model"], Edge),
    rule("overview", &["model", "client"], Edge),
    rule(
        "web",
        &["host", "model", "report", "client", "overview"],
        Edge,
    ),
    rule("top", &["model", "client", "overview"], Edge),
    rule("frontends", &["client"], Edge),
    rule("listen", &[], Edge),
    rule(
        "sites",
        &["host", "model", "batch", "provisioning", "beside"],
        Edge,
    ),
    rule(
        "agents",
        &[
            "host",
            "model",
            "grid-policies",
            "federation",
            "client",
            "listen",
            "sites",
        ],
        Edge,
    ),
    rule(
        "batch-engine",
        &["model", "batch", "engine", "runner", "sites"],
        Edge,
    ),
    rule("inside", &["host", "model", "batch", "sites"], Edge),
    rule("sealed", &["host"], Edge),
    rule("spread", &["model", "engine", "listen", "sealed"], Edge),
    rule("terminal", &["host", "listen", "sealed"], Edge),
    rule(
        "server",
        &[
            "host",
            "model",
            "policy",
            "risk",
            "gate",
            "batch",
            "engine",
            "presence",
            "runner",
            "service",
            "store",
            "workers",
            "client",
            "listen",
            "batch-engine",
        ],
        Edge,
    ),
    rule(
        "session",
        &[
            "host",
            "model",
            "federation",
            "batch",
            "runner",
            "store",
            "client",
            "frontends",
            "sites",
            "agents",
            "inside",
            "terminal",
            "server",
        ],
        Edge,
    ),
    rule(
        "cli",
        &[
            "host",
            "model",
            "policy",
            "policies",
            "grid-policies",
            "exec-policy",
            "forecast",
            "federation",
            "risk",
            "trace",
            "workload",
            "engine",
            "presence",
            "runner",
            "sim",
            "study",
            "report",
            "replay",
            "site-forecast",
            "service",
            "store",
            "client",
            "frontends",
            "batch",
            "sites",
            "agents",
            "batch-engine",
            "provisioning",
            "beside",
            "inside",
            "spread",
            "terminal",
            "server",
            "session",
            "overview",
            "web",
            "top",
        ],
        Edge,
    ),
];

const fn rule(
    dir: &'static str,
    may_use: &'static [&'static str],
    purity: CratePurity,
) -> CrateRule {
    CrateRule {
        dir,
        may_use,
        purity,
    }
}

/// Returns the rule of a package. None if the package is not a crate of the list.
pub(crate) fn rule_of(package: &str) -> Option<&'static CrateRule> {
    let dir = package.strip_prefix("tollgate-")?;
    CRATE_RULES.iter().find(|room| room.dir == dir)
}

/// Returns the layer of a crate. The top layer is 0.
pub(crate) fn layer(dir: &str) -> Option<usize> {
    CRATE_RULES.iter().position(|room| room.dir == dir)
}

#[test]
fn crates_use_only_higher_layers() {
    for (below, room) in CRATE_RULES.iter().enumerate() {
        for used in room.may_use {
            let above = layer(used).unwrap_or_else(|| panic!("{used} is no room"));
            assert!(above < below, "{} uses {used}, below it", room.dir);
        }
    }
}

#[test]
fn pure_crates_use_only_pure_crates() {
    for room in CRATE_RULES.iter().filter(|room| room.purity == Pure) {
        for used in room.may_use {
            let used = &CRATE_RULES[layer(used).expect("a room")];
            assert!(used.purity == Pure, "{} uses {}", room.dir, used.dir);
        }
    }
}
