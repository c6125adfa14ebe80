//! The freezer of a slot: the control group whose processes the kernel stops all at once.
//!
//! Every group of version 2 can be frozen, and a frozen process in it can be killed. Version 1 has a hierarchy for it,
//! in which a killed process ends only when it is thawed. No thread of this process waits in a freezer, which would
//! freeze the thread with its task: children join by themselves.

use std::io;
use std::path::PathBuf;

use super::claim::{self, CgroupLock};
use super::control::ControlDir;
use super::group::SlotCgroup;

/// The file of version 2 that freezes a group, and that of version 1.
const FREEZE_V2: &str = "cgroup.freeze";
const FREEZE_V1: &str = "freezer.state";

/// Claims the first directory below which groups of version 2 can be made that have no controller.
pub(super) fn claim_unified(dirs: &[PathBuf], name: &str) -> Option<CgroupLock> {
    dirs.iter().find_map(|dir| {
        claim::remove_abandoned(dir);
        let claim = CgroupLock::acquire(dir.join(name)).ok()?;
        claim.dir.join(FREEZE_V2).exists().then_some(claim)
    })
}

impl SlotCgroup {
    /// Begins to freeze the processes of the group, which takes processor time of each. Returns false if no control
    /// group can.
    pub(crate) fn freeze(&self) -> io::Result<bool> {
        let Some(dir) = self.freezable() else {
            return Ok(false);
        };
        Ok(dir.write_if_present(FREEZE_V2, "1")? || dir.write_if_present(FREEZE_V1, "FROZEN")?)
    }

    /// Returns whether all processes of the group are frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        let Some(dir) = self.freezable() else {
            return false;
        };
        let v1 = || {
            dir.read(FREEZE_V1)
                .is_some_and(|state| state.trim() == "FROZEN")
        };
        dir.read_keyed("cgroup.events", "frozen") == Some(1) || v1()
    }

    /// Lets the processes of the group go on, if it is frozen.
    pub(crate) fn thaw(&self) {
        let Some(dir) = self.freezable() else {
            return;
        };
        let thawed = match dir.write_if_present(FREEZE_V2, "0") {
            Ok(false) => dir.write_if_present(FREEZE_V1, "THAWED"),
            done => done,
        };
        if let Err(error) = thawed {
            tracing::error!(group = %dir.path().display(), %error, "tasks cannot be thawed");
        }
    }

    /// Returns the name of the file by which a child joins the freezer. In version 1 the kernel moves a thread that
    /// moves itself without a wait for all other processes of the host.
    pub(super) fn freezer_members_file(dir: &ControlDir) -> &'static str {
        match dir.has(FREEZE_V2) {
            true => "cgroup.procs",
            false => "tasks",
        }
    }

    fn freezable(&self) -> Option<&ControlDir> {
        self.unified.as_ref().or(self.freezer.as_ref())
    }
}
