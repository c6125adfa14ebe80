//! The machine for which jobs are generated: its size, the widths of its jobs and its load.

use super::curve::pick;
use super::user::GeneratedJob;

/// Processors of the IBM SP2 at the San Diego Supercomputer Center.
const SP2_PROCS: u32 = 128;

/// The widths of the jobs on SDSC SP2 and their job counts, measured; rare widths are counted with a
/// neighbour.
const SP2_WIDTHS: [(u32, f64); 24] = [
    (1, 685.0),
    (2, 564.0),
    (3, 154.0),
    (4, 618.0),
    (5, 68.0),
    (6, 99.0),
    (7, 57.0),
    (8, 478.0),
    (9, 28.0),
    (10, 136.0),
    (11, 19.0),
    (12, 133.0),
    (14, 61.0),
    (16, 387.0),
    (20, 60.0),
    (24, 164.0),
    (25, 105.0),
    (28, 40.0),
    (30, 40.0),
    (32, 387.0),
    (37, 55.0),
    (50, 125.0),
    (64, 450.0),
    (128, 12.0),
];

/// Mean time between two submissions on SDSC SP2, from Yeo & Buyya 2008, §5.3.
const SP2_MEAN_INTERARRIVAL_S: f64 = 1969.0;

/// The machine for which jobs are generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GeneratedMachine {
    /// The IBM SP2 of the San Diego Supercomputer Center: 128 nodes, widths and arrivals as measured.
    SdscSp2,
    /// A machine of any size. The logarithms of the widths of its jobs are uniformly distributed.
    LogUniform {
        /// Number of nodes, at least 1.
        nodes: u32,
        /// The largest width that a job can have, 1 to `nodes`.
        max_width: u32,
        /// Work of all jobs over the capacity of the machine between the first and the last
        /// submission, above 0.
        load: f64,
    },
}

impl GeneratedMachine {
    pub(super) const fn nodes(self) -> u32 {
        match self {
            Self::SdscSp2 => SP2_PROCS,
            Self::LogUniform { nodes, .. } => nodes,
        }
    }

    /// Returns the width at `u` (0 to 1) of the distribution of widths.
    pub(super) fn width(self, u: f64) -> u32 {
        match self {
            Self::SdscSp2 => pick(&SP2_WIDTHS, u),
            // Width k has the probability that the logarithm is between those of k and k + 1.
            Self::LogUniform { max_width, .. } => {
                let width = libm::exp(u * libm::log(f64::from(max_width) + 1.0));
                (width as u32).clamp(1, max_width)
            }
        }
    }

    /// Returns whether jobs of this width may have a lower time limit: those of at least half of the
    /// largest width.
    pub(super) const fn limits_time(self, width: u32) -> bool {
        let max_width = match self {
            Self::SdscSp2 => SP2_PROCS,
            Self::LogUniform { max_width, .. } => max_width,
        };
        width >= max_width.div_ceil(2)
    }

    /// Returns the seconds in which the `count` jobs are submitted.
    pub(super) fn span_s<'a>(
        self,
        count: usize,
        jobs: impl Iterator<Item = &'a GeneratedJob>,
    ) -> f64 {
        match self {
            Self::SdscSp2 => SP2_MEAN_INTERARRIVAL_S * count as f64,
            Self::LogUniform { nodes, load, .. } => {
                let work =
                    jobs.map(|job| f64::from(job.request.procs) * job.runtime_s.max(0) as f64);
                work.sum::<f64>() / (f64::from(nodes) * load)
            }
        }
    }

    /// Stretches the submissions of a whole trace, ascending, until their load is that of the machine.
    /// A calendar alone cannot reach a load exactly: the last session goes on after its end.
    pub(super) fn stretch(self, jobs: &mut [GeneratedJob]) {
        let [first, .., last] = &*jobs else {
            return;
        };
        let (first_s, now_s) = (first.submit_s, last.submit_s - first.submit_s);
        if self == Self::SdscSp2 || now_s == 0 {
            return;
        }
        let factor = self.span_s(jobs.len(), jobs.iter()) / now_s as f64;
        for job in jobs {
            job.submit_s = first_s + ((job.submit_s - first_s) as f64 * factor).round() as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_uniform_widths_span_one_to_the_largest() {
        let machine = |max_width| GeneratedMachine::LogUniform {
            nodes: 100_000,
            max_width,
            load: 0.3,
        };
        // 8191 + 1 is 2^13: each thirteenth doubles the width.
        let at = |thirteenths: f64| machine(8191).width((thirteenths + 1e-6) / 13.0);
        assert_eq!([0.0, 1.0, 6.0, 12.0, 13.0].map(at), [1, 2, 64, 4096, 8191]);
        assert_eq!(machine(1).width(0.7), 1);
    }
}
