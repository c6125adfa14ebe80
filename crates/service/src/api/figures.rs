//! What is said of the whole: objectives, kept promises, nodes.

use super::instant::iso;
use super::types::{Calibration, CalibrationBin, Node, Nodes, Objectives, Shadow};
use crate::core::{Comparison, Sums};
use crate::keeper::Site;
use crate::store::{Bin, Figures};

/// The objectives that follow from sums.
pub(super) fn objectives(sums: &Figures) -> Objectives {
    let pct = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
    let budgets = sums.budgets.as_f64();
    let fulfilled = sums.fulfilled as f64;
    Objectives {
        submitted: sums.submitted,
        accepted: sums.accepted,
        fulfilled: sums.fulfilled,
        wait_s: (sums.fulfilled > 0).then(|| sums.wait.as_secs_f64() / fulfilled),
        sla_pct: pct(sums.fulfilled, sums.submitted),
        reliability_pct: pct(sums.fulfilled, sums.accepted),
        profitability_pct: (budgets > 0.0).then(|| 100.0 * sums.utility.as_f64() / budgets),
    }
}

/// Two policies side by side.
pub(super) fn shadow(comparison: &Comparison) -> Shadow {
    let sums = |of: &Sums| {
        objectives(&Figures {
            submitted: of.submitted,
            accepted: of.accepted,
            fulfilled: of.fulfilled,
            wait: of.wait,
            budgets: of.budgets,
            utility: of.utility,
        })
    };
    Shadow {
        policy: comparison.policy.clone(),
        since_at: iso(comparison.since),
        running: comparison.running,
        queued: comparison.queued,
        undecided: comparison.undecided,
        by_forecast: comparison.by_forecast,
        real_objectives: sums(&comparison.real),
        paper_objectives: sums(&comparison.paper),
    }
}

/// Promised against kept.
pub(super) fn calibration(bins: &[Bin]) -> Calibration {
    let bin = |bin: &Bin| CalibrationBin {
        from: f64::from(bin.tenth) / 10.0,
        to: f64::from(bin.tenth + 1) / 10.0,
        promises: bin.promises,
        promised: bin.expected / bin.promises as f64,
        kept: bin.kept,
        kept_part: bin.kept as f64 / bin.promises as f64,
    };
    Calibration {
        bins: bins.iter().map(bin).collect(),
    }
}

/// What there is to run on.
pub(super) fn nodes(site: &Site) -> Nodes {
    let node = |(id, tasks): (u32, &Option<u32>)| Node {
        id,
        state: match tasks {
            None => "down",
            Some(0) => "idle",
            Some(_) => "busy",
        }
        .to_owned(),
        tasks: tasks.unwrap_or(0),
    };
    let words = site.capacity.to_string();
    Nodes {
        nodes: (0..).zip(&site.nodes).map(node).collect(),
        memory_per_node_bytes: site.capacity.memory_per_node,
        enforced: words.lines().map(str::to_owned).collect(),
    }
}
