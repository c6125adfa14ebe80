//! The registry of all workers that ever registered: `workers.json` in the data directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_gate::WorkerId;
use tollgate_store::private_file;

/// A worker with its id in the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RegistryEntry {
    /// The worker's id in the gate; this host's own engine is 0.
    pub(crate) id: u32,
    /// The worker's unique identity.
    pub(crate) identity: String,
    /// The worker's name.
    pub(crate) name: String,
    /// Whether the worker's nodes are drained because it leaves, and not by an operator.
    #[serde(default)]
    pub(crate) leaving: bool,
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
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let entries: Vec<RegistryEntry> = match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path: Some(path.to_owned()),
            entries: entries.into_iter().map(|entry| (entry.id, entry)).collect(),
        })
    }

    pub(crate) fn get(&self, id: WorkerId) -> Option<&RegistryEntry> {
        self.entries.get(&id.0)
    }

    /// Returns the id of a worker: its own from earlier, else the id of a worker with the same name
    /// that `is_free`, else a new one. The id is on disk when this returns.
    pub(crate) fn register(
        &mut self,
        identity: &str,
        name: &str,
        is_free: impl Fn(WorkerId) -> bool,
    ) -> io::Result<WorkerId> {
        let known = self.entries.values();
        let same = known.clone().find(|entry| entry.identity == identity);
        let namesake = || {
            let mut namesakes = known.filter(|entry| entry.name == name);
            namesakes.find(|entry| is_free(WorkerId(entry.id)))
        };
        let last = self.entries.keys().next_back().copied().unwrap_or(0);
        let id = same.or_else(namesake).map_or(last + 1, |entry| entry.id);
        let entry = RegistryEntry {
            id,
            identity: identity.to_owned(),
            name: name.to_owned(),
            leaving: self.entries.get(&id).is_some_and(|entry| entry.leaving),
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
        private_file::replace(path, &serde_json::to_vec_pretty(&entries)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_keeps_its_number_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workers.json");
        let mut registry = WorkerRegistry::read(&path).unwrap();
        let mut enter =
            |identity, name, free| registry.register(identity, name, |_| free).unwrap().0;
        assert_eq!(enter("a", "blade", false), 1);
        assert_eq!(enter("b", "blade", false), 2, "two hosts of one name");
        assert_eq!(enter("a", "sword", false), 1);
        assert_eq!(enter("c", "blade", true), 2, "made anew");
        let read = WorkerRegistry::read(&path).unwrap();
        assert_eq!(read.entries, registry.entries);
        assert_eq!(read.get(WorkerId(1)).unwrap().name, "sword");
    }
}
