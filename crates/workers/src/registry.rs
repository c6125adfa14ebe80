//! The registry of all workers that ever registered: `workers.json` in the data directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_gate::WorkerId;
use tollgate_host::{StateFileError, read_state_file, replace_private};

use crate::protocol::WorkerHello;

/// A worker with its id in the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RegistryEntry {
    /// The worker's id in the gate; this host's own engine is 0.
    pub(crate) id: u32,
    /// The worker's unique identity.
    pub(crate) identity: String,
    /// The worker's name.
    pub(crate) name: String,
    /// The site of a pilot; None for other workers, and for pilots without a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pilot_of: Option<String>,
    /// Whether the worker's nodes are drained because it leaves, and not by an operator.
    #[serde(default)]
    pub(crate) leaving: bool,
}

/// Whether a worker that comes for the first time may take the id of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerVacancy {
    /// The earlier worker may still be there.
    None,
    /// It is gone, and its nodes are drained: only a worker of its name takes them, and stays drained.
    Drained,
    /// It is gone.
    Clean,
}

/// Checks the file of a registry, which may be missing.
///
/// # Errors
/// If a service could not use the file.
pub fn check_registry(path: &Path) -> Result<(), StateFileError> {
    WorkerRegistry::read(path).map(drop)
}

/// The registry of workers.
#[derive(Debug, Default)]
pub(crate) struct WorkerRegistry {
    /// None if the registry is not stored.
    path: Option<PathBuf>,
    entries: BTreeMap<u32, RegistryEntry>,
}

impl WorkerRegistry {
    /// Reads the file, which does not exist before the first worker has registered.
    pub(crate) fn read(path: &Path) -> Result<Self, StateFileError> {
        let read = read_state_file(path, |text| serde_json::from_str(text))?;
        let entries: Vec<RegistryEntry> = read.unwrap_or_default();
        Ok(Self {
            path: Some(path.to_owned()),
            entries: entries.into_iter().map(|entry| (entry.id, entry)).collect(),
        })
    }

    pub(crate) fn get(&self, id: WorkerId) -> Option<&RegistryEntry> {
        self.entries.get(&id.0)
    }

    /// Returns the id of a worker. It is its own from earlier, else the id of a worker with the same name
    /// whose vacancy is not [`WorkerVacancy::None`]. Else it is that of a pilot of the same site whose
    /// vacancy is [`WorkerVacancy::Clean`], else a new one. Pilots do not come again, and without this the
    /// nodes would grow with every pilot that ever came. The id is on disk when this returns.
    pub(crate) fn register(
        &mut self,
        newcomer: &WorkerHello,
        vacancy: impl Fn(WorkerId) -> WorkerVacancy,
    ) -> io::Result<WorkerId> {
        let (identity, name) = (&newcomer.identity, &newcomer.name);
        let pilot_of = newcomer.site.clone().filter(|_| newcomer.is_pilot);
        let known = self.entries.values();
        let same = known.clone().find(|entry| entry.identity == *identity);
        let namesake = || {
            let mut namesakes = known.clone().filter(|entry| entry.name == *name);
            namesakes.find(|entry| vacancy(WorkerId(entry.id)) != WorkerVacancy::None)
        };
        let predecessor = || {
            let mut gone = known
                .clone()
                .filter(|entry| entry.pilot_of.is_some() && entry.pilot_of == pilot_of);
            gone.find(|entry| vacancy(WorkerId(entry.id)) == WorkerVacancy::Clean)
        };
        let last = self.entries.keys().next_back().copied().unwrap_or(0);
        let known = same.or_else(namesake).or_else(predecessor);
        let id = known.map_or(last + 1, |entry| entry.id);
        let entry = RegistryEntry {
            id,
            identity: identity.clone(),
            name: name.clone(),
            leaving: known.is_some_and(|entry| entry.leaving),
            pilot_of,
        };
        if self.entries.get(&id) != Some(&entry) {
            let before = self.entries.insert(id, entry);
            if let Err(error) = self.write() {
                match before {
                    Some(before) => drop(self.entries.insert(id, before)),
                    None => drop(self.entries.remove(&id)),
                }
                return Err(error);
            }
        }
        Ok(WorkerId(id))
    }

    /// Records whether a worker's nodes are drained because it leaves. It is on disk when this
    /// returns.
    pub(crate) fn set_leaving(&mut self, worker: WorkerId, leaving: bool) -> io::Result<()> {
        let entry = self.entries.get_mut(&worker.0);
        let Some(entry) = entry.filter(|entry| entry.leaving != leaving) else {
            return Ok(());
        };
        entry.leaving = leaving;
        let written = self.write();
        if written.is_err()
            && let Some(entry) = self.entries.get_mut(&worker.0)
        {
            entry.leaving = !leaving;
        }
        written
    }

    fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let entries: Vec<&RegistryEntry> = self.entries.values().collect();
        replace_private(path, &serde_json::to_vec_pretty(&entries)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::VERSION;

    /// Returns a worker, or a pilot of a site.
    fn hello(identity: &str, name: &str, site: Option<&str>) -> WorkerHello {
        WorkerHello {
            version: VERSION,
            identity: identity.to_owned(),
            name: name.to_owned(),
            user: "ann".to_owned(),
            all_users: false,
            root_jobs: false,
            is_pilot: site.is_some(),
            site: site.map(str::to_owned),
            service: None,
            incarnation: 0,
        }
    }

    #[test]
    fn pilots_take_the_numbers_of_pilots_of_their_site_that_are_gone() {
        let mut registry = WorkerRegistry::default();
        let mut enter = |number: u32, site, vacancy: fn(WorkerId) -> WorkerVacancy| {
            let name = format!("pilot {number}");
            let hello = hello(&name, &name, site);
            registry.register(&hello, vacancy).unwrap().0
        };
        let north = Some("north");
        assert_eq!(enter(1, north, |_| WorkerVacancy::None), 1);
        assert_eq!(enter(2, north, |_| WorkerVacancy::None), 2);
        assert_eq!(enter(3, Some("south"), |_| WorkerVacancy::Clean), 3);
        assert_eq!(enter(4, None, |_| WorkerVacancy::Clean), 4, "no pilot");
        let first_is_drained = |worker| match worker {
            WorkerId(1) => WorkerVacancy::Drained,
            _ => WorkerVacancy::Clean,
        };
        assert_eq!(enter(5, north, first_is_drained), 2);
        assert_eq!(enter(6, north, |_| WorkerVacancy::None), 5);
        // The first one comes after all, as itself.
        assert_eq!(enter(1, north, |_| WorkerVacancy::None), 1);
        assert_eq!(
            enter(2, north, |_| WorkerVacancy::None),
            6,
            "its number is taken"
        );
    }

    #[test]
    fn worker_keeps_its_number_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workers.json");
        let mut registry = WorkerRegistry::read(&path).unwrap();
        let mut enter = |identity, name, vacancy| {
            let hello = hello(identity, name, None);
            registry.register(&hello, |_| vacancy).unwrap().0
        };
        let (none, drained) = (WorkerVacancy::None, WorkerVacancy::Drained);
        assert_eq!(enter("a", "blade", none), 1);
        assert_eq!(enter("b", "blade", none), 2, "two hosts of one name");
        assert_eq!(enter("a", "sword", none), 1);
        assert_eq!(enter("c", "blade", drained), 2, "made anew");
        let read = WorkerRegistry::read(&path).unwrap();
        assert_eq!(read.entries, registry.entries);
        assert_eq!(read.get(WorkerId(1)).unwrap().name, "sword");
    }
}
