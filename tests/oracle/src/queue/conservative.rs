//! Conservative backfilling: every job has a reservation.

use tollgate_model::{Instant, Span};

use super::{FillRule, OracleCluster, ReplanRule};

/// Processors that are occupied during an interval.
struct OccupiedProcs {
    from: Instant,
    until: Instant,
    procs: u32,
}

impl OracleCluster<'_> {
    /// Gives every queued job its reservation, in order of submission, and starts the jobs whose
    /// reservation is now.
    pub(super) fn plan(&mut self, replan: ReplanRule) {
        let keep = match replan {
            ReplanRule::Never => true,
            ReplanRule::EarlyEnd => !self.ended_early,
            ReplanRule::EveryPass => false,
        };
        let mut taken = self.taken_by_running();
        for job in self.ordered() {
            let old = self.reserved[job].filter(|&from| keep && from >= self.now);
            let from = old
                .filter(|&from| self.has_hole(&taken, job, from))
                .unwrap_or_else(|| self.earliest_hole(&taken, job));
            let spec = &self.jobs[job].spec;
            taken.push(OccupiedProcs {
                from,
                until: from + spec.estimate,
                procs: spec.procs,
            });
            self.reserved[job] = Some(from);
            if from == self.now {
                self.start(job);
            }
        }
    }

    /// Returns the next instant at which a kept reservation falls due, because no other event may
    /// lead to a pass then. A reservation that waits for a job past its estimate is a microsecond
    /// away for as long as that job runs on; the job's end leads to the pass.
    pub(super) fn next_reservation(&self) -> Option<Instant> {
        match self.settings.fill {
            FillRule::Head
            | FillRule::Backfill { .. }
            | FillRule::Conservative {
                replan: ReplanRule::EveryPass,
            } => return None,
            FillRule::Conservative {
                replan: ReplanRule::Never | ReplanRule::EarlyEnd,
            } => {}
        }
        let overrun = self
            .running
            .iter()
            .any(|running| running.estimated_end <= self.now);
        let soonest = if overrun {
            self.now + Span::TICK
        } else {
            self.now
        };
        let reserved = self.queue.iter().filter_map(|&job| self.reserved[job]);
        reserved.filter(|&from| from > soonest).min()
    }

    fn taken_by_running(&self) -> Vec<OccupiedProcs> {
        let running = self.running.iter().map(|running| OccupiedProcs {
            from: self.now,
            until: running.estimated_end.max(self.now + Span::TICK),
            procs: self.jobs[running.job].spec.procs,
        });
        running.collect()
    }

    /// Returns the earliest hole; a hole opens now or where occupied processors become free.
    fn earliest_hole(&self, taken: &[OccupiedProcs], job: usize) -> Instant {
        let mut openings: Vec<Instant> = taken.iter().map(|taken| taken.until).collect();
        openings.push(self.now);
        openings.sort();
        let hole = openings
            .into_iter()
            .find(|&from| self.has_hole(taken, job, from));
        hole.expect("a job no wider than the machine fits once all have ended")
    }

    /// Returns true if `job` could run from `from` for its whole estimate. Occupation peaks where
    /// an interval begins, so checking these instants is enough.
    fn has_hole(&self, taken: &[OccupiedProcs], job: usize, from: Instant) -> bool {
        let spec = &self.jobs[job].spec;
        let until = from + spec.estimate;
        let begins = taken.iter().map(|taken| taken.from);
        let mut peaks = begins.filter(|&begin| begin > from && begin < until);
        let free_at = |instant: Instant| {
            let busy = taken
                .iter()
                .filter(|taken| taken.from <= instant && instant < taken.until);
            busy.map(|taken| taken.procs).sum::<u32>() + spec.procs <= self.nodes
        };
        free_at(from) && peaks.all(free_at)
    }
}
