//! Quotes that are held: promises that nobody has taken up yet, and that lapse.
//!
//! To the gate a held quote is a job like any other: it takes its place, and its nodes where the
//! policy starts it at once. Nothing is run for it, and nothing is charged, until it is claimed.

use tollgate_gate::Input;

use super::Core;
use super::outcome::{Change, Ignored, Step};

impl Core {
    /// A quote becomes a job.
    pub(super) fn claim(&mut self, job: u64, step: &mut Step) -> Result<(), Ignored> {
        let now = self.now;
        let live = self.jobs.claim(job).ok_or(Ignored::NoQuote)?;
        let (slot, key) = (live.slot, live.attempt_key(job));
        self.ahead.forget(slot);
        step.changes.push(Change::Claimed { job });
        if live.has_nodes() {
            live.started = Some(now);
            self.order_start(key, slot, step);
            let placement = self.gate.view(now).job(slot).placement().to_vec();
            for node in placement.iter().flat_map(|range| range.nodes()) {
                self.set_shares(node, step);
            }
        }
        Ok(())
    }

    /// Its user takes a job back, or does not want a quote any more.
    pub(super) fn cancel(&mut self, job: u64, step: &mut Step) -> Result<(), Ignored> {
        let live = self.jobs.get(job).ok_or(Ignored::UnknownJob)?;
        let (slot, attempt) = (live.slot, live.gate_attempt);
        let nothing_runs = live.held.is_some() && live.has_nodes();
        self.input(Input::Cancel { job: slot }, step)?;
        if nothing_runs {
            // There is nobody to report that it ended.
            self.input(Input::Evicted { job: slot, attempt }, step)?;
        }
        Ok(())
    }

    /// Drops the quotes whose time is over.
    pub(super) fn lapse_due(&mut self, step: &mut Step) {
        while let Some((lapses, job)) = self.jobs.next_lapse() {
            if lapses > self.now || self.cancel(job, step).is_err() {
                return;
            }
        }
    }
}
