//! Pinned random streams: one for each seed, index and purpose, so that more draws for one purpose
//! do not change any other draw.
//!
//! A stream is SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) started at a hash of its key. Functions such as the logarithm come from the `libm`
//! crate, so that the bytes are the same on every platform. The values are part of tollgate's
//! output: tests pin them.

use crate::normal;

/// The step of SplitMix64: 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamPurpose {
    /// Whether a job is of high urgency.
    Urgency,
    /// The deadline factor of a job.
    Deadline,
    /// The budget factor of a job.
    Budget,
    /// The penalty factor of a job.
    Penalty,
    /// Whether the jobs of a user are of high urgency.
    UserUrgency,
    /// The class from which the deadline of a job is taken.
    DeadlineClass,
    /// Beginnings of the sessions of the embedded workload.
    Arrivals,
    /// Busyness of each day of the embedded workload.
    Days,
    /// Jobs in the sessions of the embedded workload.
    Sessions,
    /// Traits of the users of the embedded workload.
    Users,
    /// Size and popularity of the clusters of a campus.
    Clusters,
    /// Reboots of the computers of a campus.
    Reboots,
    /// Begin and duration of the log-ins at the computers of a campus.
    LogIns,
    /// The batches of tasks of a campus.
    Batches,
    /// The tasks of a campus that never end.
    BadTasks,
    /// The tasks of a campus that need longer than a day.
    LongTasks,
    /// Losses of allocations of a campus.
    Losses,
    /// Random choices of policies on a campus.
    Choices,
    /// Users of a grid, with their projects and programs.
    GridUsers,
    /// Jobs of the users of a grid.
    GridJobs,
    /// Users that a sample of a trace contains.
    SampledUsers,
    /// The clusters to which the users of several clusters belong.
    HomeClusters,
    /// The clusters of jobs that are spread at random.
    RandomClusters,
    /// The jobs that get no deadline.
    WithoutDeadline,
    /// The tasks of a user with pilots at several sites.
    PilotTasks,
}

impl StreamPurpose {
    /// Returns the number of the purpose. Never renumber: the numbers are part of the key.
    const fn code(self) -> u64 {
        match self {
            Self::Urgency => 1,
            Self::Deadline => 2,
            Self::Budget => 3,
            Self::Penalty => 4,
            Self::Arrivals => 5,
            Self::Days => 6,
            Self::Sessions => 7,
            Self::Users => 8,
            Self::UserUrgency => 9,
            Self::DeadlineClass => 10,
            Self::WithoutDeadline => 11,
            Self::Clusters => 20,
            Self::Reboots => 21,
            Self::LogIns => 22,
            Self::Batches => 23,
            Self::BadTasks => 24,
            Self::LongTasks => 25,
            Self::Losses => 26,
            Self::Choices => 27,
            Self::GridUsers => 30,
            Self::GridJobs => 31,
            Self::SampledUsers => 32,
            Self::HomeClusters => 40,
            Self::RandomClusters => 41,
            Self::PilotTasks => 50,
        }
    }
}

/// All streams of one seed and purpose: their common part is hashed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFamily(u64);

impl StreamFamily {
    /// Creates the streams of `seed` for `purpose`.
    pub const fn new(seed: u64, purpose: StreamPurpose) -> Self {
        Self(mix(
            mix(seed.wrapping_add(GOLDEN)) ^ purpose.code().wrapping_mul(GOLDEN)
        ))
    }

    /// Returns the stream at `index`.
    pub const fn stream(self, index: u64) -> RandomStream {
        RandomStream(mix(self.0 ^ mix(index.wrapping_mul(GOLDEN))))
    }
}

/// A sequence of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream(u64);

impl RandomStream {
    /// Returns the next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Draws from the uniform distribution on the open interval (0, 1): the middle of one of 2^53
    /// equal parts, rounded to an `f64` value, and never 1.
    pub fn uniform(&mut self) -> f64 {
        let part = (self.bits() >> 11) as f64 + 0.5;
        (part * (1.0 / (1u64 << 53) as f64)).min(1.0 - f64::EPSILON / 2.0)
    }

    /// Draws from the normal distribution with mean 0 and standard deviation 1. One uniform number
    /// gives one deviate, in the same order, so that sweeping a mean or a width moves each value
    /// smoothly.
    pub fn normal(&mut self) -> f64 {
        normal::quantile(self.uniform())
    }

    /// Draws from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Returns true with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

/// Applies the finaliser of SplitMix64 (Stafford's variant 13): a bijection in which every bit of
/// the input affects every bit of the output.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PINNED_BITS: [u64; 3] = [
        0x6391_84d8_98dc_7984,
        0x4591_7201_c36a_be8b,
        0x3059_6dfd_1676_0f4a,
    ];
    const PINNED_NORMAL: u64 = 0xbfe0_bbd3_2446_2aff;

    #[test]
    fn first_numbers_match_pinned_values() {
        let mut stream = StreamFamily::new(1, StreamPurpose::Deadline).stream(0);
        let bits: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        assert_eq!(bits, PINNED_BITS);
        let normal = StreamFamily::new(42, StreamPurpose::Budget)
            .stream(4999)
            .normal();
        assert_eq!(normal.to_bits(), PINNED_NORMAL, "{normal}");
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        let family = StreamFamily::new(7, StreamPurpose::Penalty);
        let n = 20_000;
        let pairs = (0..n).map(|job| {
            let (a, b) = (family.stream(job).normal(), family.stream(job + 1).normal());
            [a, a * a, a * b]
        });
        let sums = pairs.fold([0.0; 3], |sum, pair| {
            std::array::from_fn(|at| sum[at] + pair[at])
        });
        let [mean, square, product] = sums.map(|sum| sum / n as f64);
        // Four standard errors: 4/sqrt(20000) = 0.028, and 0.040 for the square.
        assert!(mean.abs() < 0.028, "{mean}");
        assert!((square - 1.0).abs() < 0.04, "{square}");
        assert!(product.abs() < 0.028, "{product}");
    }

    proptest! {
        #[test]
        fn uniform_numbers_stay_in_the_open_interval(seed: u64, index: u64) {
            let mut stream = StreamFamily::new(seed, StreamPurpose::Urgency).stream(index);
            let u = stream.uniform();
            prop_assert!(0.0 < u && u < 1.0);
            prop_assert!(stream.normal().is_finite());
        }
    }
}
