//! One pass of a head-only or backfilling policy.

use tollgate_model::{Instant, Reason, Span};

use super::{OracleCluster, OracleDropRule};

impl OracleCluster<'_> {
    /// Starts heads for as long as they fit; returns the head that has to wait, if there is one.
    pub(super) fn start_heads(&mut self) -> Option<usize> {
        while let Some(&head) = self.ordered().first() {
            let fits = self.fits(head);
            if let Some(reason) = self.hopeless(head, fits) {
                self.reject(head, reason);
            } else if fits {
                self.start(head);
            } else {
                return Some(head);
            }
        }
        None
    }

    /// Starts every job behind the waiting `head` that does not delay the head by the estimates.
    pub(super) fn backfill(&mut self, head: usize, extra: bool) {
        let (shadow, left_over) = self.reservation(head);
        let mut spare = if extra { left_over } else { 0 };
        for job in self.ordered().into_iter().filter(|&job| job != head) {
            if self.free.is_empty() {
                return;
            }
            let spec = &self.jobs[job].spec;
            let in_time = self.now + spec.estimate <= shadow + Span::TICK;
            let could_start = self.fits(job) && (in_time || spec.procs <= spare);
            if let Some(reason) = self.hopeless(job, could_start) {
                self.reject(job, reason);
            } else if could_start {
                spare -= if in_time { 0 } else { spec.procs };
                self.start(job);
            }
        }
    }

    /// Returns the minimum run time assumed for `job`.
    fn least(&self, job: usize) -> Span {
        let estimate = self.jobs[job].spec.estimate;
        if self.settings.part == 1.0 {
            return estimate;
        }
        Span::from_secs_f64(self.settings.part * estimate.as_secs_f64()).max(Span::TICK)
    }

    /// Returns the shadow time of `head`, which is the earliest instant at which estimated ends
    /// leave it enough processors, and the number of further processors that are free by then.
    fn reservation(&self, head: usize) -> (Instant, u32) {
        let need = self.jobs[head].spec.procs;
        let mut ends: Vec<(Instant, u32)> = Vec::new();
        for running in &self.running {
            let end = running.estimated_end.max(self.now);
            ends.push((end, self.jobs[running.job].spec.procs));
        }
        ends.sort();
        let free_at = |instant: Instant| {
            let ended = ends.iter().take_while(|&&(end, _)| end <= instant);
            self.free.len() as u32 + ended.map(|&(_, procs)| procs).sum::<u32>()
        };
        let shadow = ends.iter().map(|&(end, _)| end);
        let shadow = shadow.into_iter().find(|&end| free_at(end) >= need);
        let shadow = shadow.expect("a job no wider than the machine fits once all have ended");
        (shadow, free_at(shadow) - need)
    }

    /// Returns why `job`, examined now, is to be dropped; `could_start` if nothing else prevents
    /// its start.
    fn hopeless(&self, job: usize, could_start: bool) -> Option<Reason> {
        let spec = &self.jobs[job].spec;
        let due = spec.due()? + Span::TICK;
        let lapsed = self.now > due;
        let unreachable = self.now + self.least(job) > due;
        let drop = match self.settings.test {
            OracleDropRule::Never => false,
            OracleDropRule::Start => unreachable && could_start,
            OracleDropRule::Select => unreachable,
            OracleDropRule::Mixed => lapsed || (unreachable && could_start),
        };
        drop.then_some(if lapsed {
            Reason::DeadlinePassed
        } else {
            Reason::DeadlineUnreachable
        })
    }
}
