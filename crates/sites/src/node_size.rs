//! The largest node that a pilot of a site can have, by the limits of its queues.

use tollgate_batch::QueueLimits;
use tollgate_model::{Bytes, Span};

use crate::control::SiteControl;
use crate::error::SiteError;
use crate::settings::SiteSettings;

/// The size of the largest node of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// The number of its cores.
    pub cores: u32,
    /// Its memory. None if the engine does not say.
    pub memory: Option<Bytes>,
}

impl SiteControl {
    /// Returns the size of the largest node in the queue of the pilots. None if the engine does not tell how many
    /// cores it has.
    ///
    /// # Errors
    /// If the engine cannot be asked.
    pub fn largest_node(&self) -> Result<Option<NodeSize>, SiteError> {
        let queues = self.queue_limits()?;
        let own = own_queues(self.settings(), &queues);
        let cores = own.iter().filter_map(|queue| queue.max_cores).max();
        let memory = own.iter().filter_map(|queue| queue.max_memory).max();
        Ok(cores.map(|cores| NodeSize { cores, memory }))
    }

    pub(crate) fn queue_limits(&self) -> Result<Vec<QueueLimits>, SiteError> {
        let limits = self.dialect().limits();
        self.query(&limits, |dialect, answer| dialect.parse_limits(answer))
    }
}

/// Returns the queue of a site's pilots: the one that its arguments name, else the default one, else all.
pub(crate) fn own_queues<'a>(
    settings: &SiteSettings,
    queues: &'a [QueueLimits],
) -> Vec<&'a QueueLimits> {
    let named = settings.arguments().ok().and_then(|found| found.queue);
    let is_own = |queue: &&QueueLimits| match &named {
        Some(name) => queue.name == *name,
        None => queue.is_default,
    };
    let own: Vec<&QueueLimits> = queues.iter().filter(is_own).collect();
    if own.is_empty() {
        return queues.iter().collect();
    }
    own
}

/// Returns what of a pilot is beyond the limits of a queue, and these limits. Empty if nothing is.
pub(crate) fn excess(settings: &SiteSettings, queue: &QueueLimits) -> String {
    let mut parts = Vec::new();
    if let Some(most) = queue.max_time.filter(|&most| settings.time() > most) {
        let [time, most] = [settings.time(), most].map(minutes);
        parts.push(format!("its time is {time} and not at most {most}"));
    }
    if let Some(most) = queue.max_cores.filter(|&most| settings.cores > most) {
        let cores = settings.cores;
        parts.push(format!("it has {cores} cores and not at most {most}"));
    }
    if let (Some(memory), Some(most)) = (settings.memory(), queue.max_memory)
        && memory > most
    {
        let [memory, most] = [memory, most].map(|size| size.as_u64() >> 20);
        parts.push(format!("it has {memory} MiB and not at most {most} MiB"));
    }
    parts.join(", ")
}

pub(crate) fn minutes(span: Span) -> String {
    format!("{} min", span.as_secs_f64() / 60.0)
}

pub(crate) fn describe(queues: &[QueueLimits]) -> String {
    let one = |queue: &QueueLimits| {
        let mut parts = vec![queue.name.clone()];
        if queue.is_default && queues.len() > 1 {
            parts.push("the default".to_owned());
        }
        parts.extend(
            queue
                .max_time
                .map(|most| format!("at most {}", minutes(most))),
        );
        parts.extend(queue.max_cores.map(|most| format!("{most} cores a node")));
        parts.extend(
            queue
                .max_memory
                .map(|most| format!("{} MiB a node", most.as_u64() >> 20)),
        );
        parts.join(", ")
    };
    let queues: Vec<String> = queues.iter().map(one).collect();
    queues.join("; ")
}
