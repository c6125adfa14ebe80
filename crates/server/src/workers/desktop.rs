//! A worker on a computer that people work at: the monitor that watches the computer, and what the worker reports of it.

use std::time::Duration;

use tokio::sync::watch;
use tollgate_presence::{
    Presence, PresenceError, PresenceMonitor, PresenceSettings, PresenceState,
};
use tollgate_workers::agent::{DesktopSettings, HostPresence};

/// How a worker gives way to the users of its computer.
#[derive(Clone, Debug)]
pub struct DesktopWorkerConfig {
    /// Maximum time for which tasks are suspended before they are evicted.
    pub suspend_for: Duration,
    /// Maximum memory of a suspended task in bytes; a task with more is evicted at once. None for half of the free memory.
    pub suspend_memory: Option<u64>,
    /// Whether this process has a raised priority, so that it gives way in time beside busy programs.
    pub is_prompt: bool,
    /// How the use of the computer is observed; None if it is not.
    pub presence: Option<PresenceSettings>,
}

/// A watched computer.
pub(super) struct WatchedDesktop {
    pub(super) settings: DesktopSettings,
    /// The changes of its use; None if it is not watched.
    pub(super) changes: Option<watch::Receiver<HostPresence>>,
    /// Watches until it is dropped.
    pub(super) monitor: Option<PresenceMonitor>,
}

/// Begins to watch a computer.
///
/// # Errors
/// If no source would notice a person.
pub(super) fn watch(config: &DesktopWorkerConfig) -> Result<WatchedDesktop, PresenceError> {
    let Some(presence) = &config.presence else {
        return Ok(WatchedDesktop {
            settings: DesktopSettings {
                suspend_for: config.suspend_for,
                suspend_memory: config.suspend_memory,
                presence: HostPresence::default(),
                facts: vec!["does not watch its users: tasks never give way".to_owned()],
            },
            changes: None,
            monitor: None,
        });
    };
    let (to, changes) = watch::channel(HostPresence::default());
    let monitor = PresenceMonitor::start(
        presence,
        Box::new(move |presence| {
            // The worker that read it may have ended.
            let _ = to.send(of_host(presence));
        }),
    )?;
    let suspended_s = config.suspend_for.as_secs_f64();
    let mut facts = vec![format!(
        "gives way to its users: tasks are suspended for up to {suspended_s} s, and then evicted"
    )];
    if !config.is_prompt {
        let late = "may give way late beside busy programs: only root can raise its own priority";
        facts.push(late.to_owned());
    }
    for status in monitor.sources() {
        let source = status.source.key();
        match status.problem {
            None => facts.push(format!("watches {source}")),
            Some(problem) => {
                tracing::info!(source, problem, "a source of presence cannot be read");
                facts.push(format!("cannot watch {source}: {problem}"));
            }
        }
    }
    Ok(WatchedDesktop {
        settings: DesktopSettings {
            suspend_for: config.suspend_for,
            suspend_memory: config.suspend_memory,
            presence: of_host(monitor.current()),
            facts,
        },
        changes: Some(changes),
        monitor: Some(monitor),
    })
}

fn of_host(presence: Presence) -> HostPresence {
    HostPresence {
        in_use: match presence.state {
            PresenceState::Free { .. } => None,
            PresenceState::InUse { cause, .. } => Some(cause),
        },
        is_outside_hours: !presence.starts_tasks,
        closes: presence.closes,
        free_memory: tollgate_runner::available_memory().ok(),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_presence::PresenceSource;

    use super::*;

    #[test]
    fn worker_without_a_raised_priority_has_a_fact_about_it() {
        for is_prompt in [true, false] {
            let config = DesktopWorkerConfig {
                suspend_for: Duration::ZERO,
                suspend_memory: None,
                is_prompt,
                presence: Some(PresenceSettings {
                    command: Some("echo free; read line".to_owned()),
                    sources: [PresenceSource::Command].into(),
                    ..PresenceSettings::new()
                }),
            };
            let facts = watch(&config).unwrap().settings.facts;
            let has_fact = facts.iter().any(|fact| fact.contains("priority"));
            assert_ne!(has_fact, is_prompt, "{facts:?}");
        }
    }
}
