//! Tasks with deadlines, from a seed.

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, Instant, Span};
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

/// A task of the user: it needs one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotTask {
    /// The instant of its submission.
    pub submit: Instant,
    /// The time for which it runs; positive.
    pub runtime: Span,
    /// The user's estimate of that time; positive.
    pub estimate: Span,
    /// The distribution of that time, as far as is known.
    pub belief: Distribution,
    /// The time after its submission by which it should have finished. None if it has no deadline.
    pub deadline: Option<Span>,
}

/// A generator of tasks. They come in bursts: each is submitted with the one before, or after a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskStream {
    /// The number of tasks.
    pub tasks: u32,
    /// The instant of the first submission.
    pub begin: Instant,
    /// The time in which they are submitted, on average.
    pub within: Span,
    /// The mean number of tasks in a burst; at least 1.
    pub burst: f64,
    /// The shortest and the longest expected run time; the logarithm is uniformly distributed between them.
    pub run: (Span, Span),
    /// The largest factor between a run time and its median, in both directions; at least 1.
    pub spread: f64,
    /// The shortest and the longest deadline, by logarithm, too.
    pub deadline: (Span, Span),
    /// The seed.
    pub seed: u64,
}

impl TaskStream {
    /// Returns the tasks, in order of submission. The believed distribution of a run time is the one from which it is drawn,
    /// and the estimate is the longest that is possible, as for a time limit.
    pub fn tasks(&self) -> Vec<PilotTask> {
        let family = StreamFamily::new(self.seed, StreamPurpose::PilotTasks);
        let bursts = (f64::from(self.tasks) / self.burst).max(1.0);
        let pause_s = self.within.as_secs_f64() / bursts;
        let mut submit = self.begin;
        let mut tasks = Vec::with_capacity(self.tasks as usize);
        for number in 0..self.tasks {
            let mut draws = family.stream(u64::from(number));
            if number > 0 && draws.chance(1.0 / self.burst) {
                submit += Span::from_secs_f64(pause_s * draws.exponential());
            }
            let median_s = between(self.run, &mut draws);
            let at = |level: f64| {
                let factor = libm::pow(self.spread, 2.0 * level - 1.0);
                Span::from_secs_f64(median_s * factor)
            };
            tasks.push(PilotTask {
                submit,
                runtime: at(draws.uniform()),
                estimate: at(1.0),
                belief: Distribution::new(LEVELS.map(|level| at(level.as_f64()))),
                deadline: Some(Span::from_secs_f64(between(self.deadline, &mut draws))),
            });
        }
        tasks
    }
}

/// Draws a time between both, uniform by its logarithm; in seconds.
fn between((shortest, longest): (Span, Span), draws: &mut RandomStream) -> f64 {
    let (shortest, longest) = (shortest.as_secs_f64(), longest.as_secs_f64());
    shortest * libm::pow(longest / shortest, draws.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_follow_from_their_seed_and_stay_in_their_ranges() {
        let stream = TaskStream {
            tasks: 500,
            begin: Instant::from_secs(100),
            within: Span::from_secs(36_000),
            burst: 5.0,
            run: (Span::from_secs(60), Span::from_secs(600)),
            spread: 1.5,
            deadline: (Span::from_secs(3600), Span::from_secs(7200)),
            seed: 1,
        };
        let tasks = stream.tasks();
        assert_eq!(tasks, stream.tasks());
        assert_ne!(tasks, TaskStream { seed: 2, ..stream }.tasks());
        assert!(tasks.is_sorted_by_key(|task| task.submit));
        let bursts = tasks
            .windows(2)
            .filter(|pair| pair[0].submit < pair[1].submit);
        assert!((60..140).contains(&bursts.count()));
        for task in &tasks {
            let median = task.belief.median().as_secs_f64();
            assert!((59.9..600.1).contains(&median), "{median}");
            assert!(task.runtime <= task.estimate);
            let factor = task.runtime.as_secs_f64() / median;
            assert!((0.66..1.51).contains(&factor), "{factor}");
            let deadline = task.deadline.expect("each has one").as_secs_f64();
            assert!((3599.0..7201.0).contains(&deadline));
        }
        let below = |level: f64| {
            let within =
                |task: &&PilotTask| task.belief.probability_within(task.runtime).as_f64() <= level;
            tasks.iter().filter(within).count() as f64 / 500.0
        };
        assert!((below(0.5) - 0.5).abs() < 0.07 && (below(0.9) - 0.9).abs() < 0.05);
    }
}
