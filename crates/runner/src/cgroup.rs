//! Control groups: found by probing, created before they are needed, and reused.
//!
//! A slot has one group in each writable hierarchy. In version 1 a slot's thread waits in its
//! groups, so that children are born there: moving a process between groups costs more than
//! starting one. In version 2 a thread cannot do so, and children join by themselves. So do they where tasks have the
//! lowest priority, which would be that of the thread, too.

pub(crate) mod allowance;
pub(crate) mod claim;
mod control;
mod freezer;
pub(crate) mod group;
pub(crate) mod memory;
pub(crate) mod meter;
mod mounts;
pub(crate) mod priority;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use claim::CgroupLock;
use control::ControlDir;
use group::{SlotCgroup, write};
use mounts::MountTable;

/// The parent directories of the slots' groups, one per controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct CgroupRoots {
    pub(crate) unified: Option<PathBuf>,
    pub(crate) cpu: Option<PathBuf>,
    pub(crate) cpuacct: Option<PathBuf>,
    pub(crate) cpuset: Option<PathBuf>,
    pub(crate) memory: Option<PathBuf>,
    pub(crate) pids: Option<PathBuf>,
    /// A hierarchy for the freezer alone: of version 2 without controllers, else of version 1.
    pub(crate) freezer: Option<PathBuf>,
    /// The locks on these directories, held for the lifetime of this runner.
    locks: Arc<Vec<CgroupLock>>,
}

impl CgroupRoots {
    /// Creates the directory `name` in each hierarchy where that is possible, and tests it. Removes
    /// the groups of earlier runners that have ended. With `freezes` there is a freezer: it costs each child the
    /// time of joining it.
    pub(crate) fn probe(name: &str, freezes: bool) -> Self {
        let mounts = MountTable::read();
        if let Some(claim) = mounts.unified().and_then(|dirs| probe_unified(&dirs, name)) {
            return Self {
                unified: Some(claim.dir.clone()),
                locks: Arc::new(vec![claim]),
                ..Self::default()
            };
        }
        let mut claims = Vec::new();
        let mut make = |controller, file| {
            let above = mounts.v1(controller)?;
            // Several controllers may share a hierarchy, and are claimed together.
            let dir = above.join(name);
            let known = claims.iter().any(|claim: &CgroupLock| claim.dir == dir);
            if !known {
                claim::remove_abandoned(&above);
                claims.push(CgroupLock::acquire(dir.clone()).ok()?);
            }
            probe_v1(dir, file)
        };
        let mut parents = Self {
            unified: None,
            cpu: make("cpu", "cpu.shares"),
            cpuacct: make("cpuacct", "cpuacct.usage"),
            cpuset: make("cpuset", "cpuset.cpus"),
            memory: make("memory", "memory.limit_in_bytes"),
            pids: make("pids", "pids.max"),
            freezer: None,
            locks: Arc::default(),
        };
        if freezes {
            let dirs = mounts.unified();
            let claim = dirs.and_then(|dirs| freezer::claim_unified(&dirs, name));
            parents.freezer = match &claim {
                Some(claim) => Some(claim.dir.clone()),
                None => make("freezer", "freezer.state"),
            };
            claims.extend(claim);
        }
        parents.locks = Arc::new(claims);
        parents
    }

    /// Returns the groups of the slot called `name`, and creates them if necessary.
    pub(crate) fn slot_cgroup(&self, name: &str) -> SlotCgroup {
        let make =
            |parent: &Option<PathBuf>| make(parent.as_ref()?, name).ok().map(ControlDir::from);
        let group = SlotCgroup {
            unified: make(&self.unified),
            cpu: make(&self.cpu),
            cpuacct: make(&self.cpuacct),
            cpuset: make(&self.cpuset).filter(|dir| inherit_cpuset(dir.path()).is_ok()),
            memory: make(&self.memory),
            pids: make(&self.pids),
            freezer: make(&self.freezer),
        };
        // A runner that was killed may have left it frozen.
        group.thaw();
        group
    }

    /// Returns the names of all existing groups, whichever process created them.
    pub(crate) fn existing(&self) -> Vec<String> {
        let list = |parent: &PathBuf| fs::read_dir(parent).into_iter().flatten().flatten();
        let entries = self.all().flat_map(list);
        let dirs = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = dirs
            .filter_map(|dir| dir.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Removes empty groups, and the groups of earlier runners. Groups with processes stay for the
    /// next runner.
    pub(crate) fn remove(&self) {
        for claim in self.locks.iter() {
            claim::remove_tree(&claim.dir);
            claim
                .dir
                .parent()
                .into_iter()
                .for_each(claim::remove_abandoned);
        }
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        let v1 = [
            &self.cpu,
            &self.cpuacct,
            &self.cpuset,
            &self.memory,
            &self.pids,
            &self.freezer,
        ];
        self.unified.iter().chain(v1.into_iter().flatten())
    }
}

fn probe_v1(dir: PathBuf, file: &str) -> Option<PathBuf> {
    if file == "cpuset.cpus" {
        inherit_cpuset(&dir).ok()?;
    }
    let writable = fs::OpenOptions::new().write(true).open(dir.join(file));
    (writable.is_ok() && can_be_joined(&dir)).then_some(dir)
}

/// Returns whether a thread can wait in a group below this one. The thread that tests it ends
/// there.
fn can_be_joined(dir: &Path) -> bool {
    let Ok(probe) = make(dir, "probe") else {
        return false;
    };
    if probe.join("cpuset.cpus").exists() && inherit_cpuset(&probe).is_err() {
        return false;
    }
    let try_it = || write(&probe, "tasks", group::THIS_THREAD).is_ok();
    std::thread::scope(|scope| scope.spawn(try_it).join().unwrap_or(false))
}

/// Claims the first usable directory. The controllers have to be delegated into it from above,
/// which is possible where no process lives.
fn probe_unified(dirs: &[PathBuf], name: &str) -> Option<CgroupLock> {
    dirs.iter().find_map(|dir| {
        claim::remove_abandoned(dir);
        let claim = CgroupLock::acquire(dir.join(name)).ok()?;
        let parent = &claim.dir;
        for above in [dir, parent] {
            for controller in ["+cpu", "+memory", "+cpuset", "+pids"] {
                let _ = write(above, "cgroup.subtree_control", controller);
            }
        }
        let handed_down = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        let usable = handed_down
            .split_ascii_whitespace()
            .any(|word| word == "cpu");
        if !usable {
            let _ = fs::remove_dir(parent);
        }
        usable.then_some(claim)
    })
}

/// Initialises a new cpuset of version 1, which is empty, so that no process can run in it.
fn inherit_cpuset(dir: &Path) -> io::Result<()> {
    let above = dir.parent().unwrap_or(dir);
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if fs::read_to_string(dir.join(file))?.trim().is_empty() {
            write(dir, file, fs::read_to_string(above.join(file))?.trim())?;
        }
    }
    Ok(())
}

fn make(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let dir = parent.join(name);
    claim::create_dir(&dir)?;
    Ok(dir)
}

/// Returns the directories in which groups of version 2 may be created.
#[cfg(test)]
pub(crate) fn unified_dirs() -> Vec<PathBuf> {
    MountTable::read().unified().unwrap_or_default()
}

/// Queries about the position of this process in the hierarchies; see [`mounts`].
impl MountTable {
    fn unified(&self) -> Option<Vec<PathBuf>> {
        let own = self.find(&mounts::CgroupHierarchy::Unified)?;
        let above = own.dir.parent().map(Path::to_owned);
        let mut dirs = vec![own.dir.clone()];
        dirs.extend(above.filter(|dir| dir.starts_with(&own.mount)));
        dirs.push(own.mount);
        dirs.dedup();
        Some(dirs)
    }

    fn v1(&self, controller: &str) -> Option<PathBuf> {
        Some(
            self.find(&mounts::CgroupHierarchy::V1(controller.to_owned()))?
                .dir,
        )
    }
}
